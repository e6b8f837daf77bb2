"""Reads the body of a request, and checks a limit before each step that costs memory or time.

    body = ArrivingBody()
    body.add(b'{"rows": [{"completion": "A dog."}]}')  # raises TooMuch past a limit
    asked = read_request(body.content)  # Asked, or a ValueError of one sentence
    samples_of(asked.rows, reward)

The bytes and, roughly, the values are counted while they arrive. A key that a mapping has twice is
refused, because nobody knows which of the two values was meant. pydantic stops at the first wrong
value: the errors of 20 million wrong values alone would take 20 GB.
"""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from jiter import from_json
from pydantic import BaseModel, Field, ValidationError

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.files.http_client import safe_line
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.pictures import MOST_PICTURES
from spanreward.rewards.rows.sample import read_sample

BODY_BYTES = 1 << 26  # bytes
# The most numbers, texts, lists and mappings in a body. Each of these values takes about 60 bytes
# when it is read. The count is of COUNTED_SIGNS, which come before values but also occur in texts.
# The whole process waits while a body is parsed.
BODY_VALUES = 1 << 20
MOST_ROWS = 4096
MOST_KEYS = 256  # of one row
REQUEST_PICTURES = 256  # of all rows together
# of any text but a picture; judges read only 10,000 characters of a completion
MOST_CHARACTERS = 1 << 20
COUNTED_SIGNS = (b",", b"[", b"{")
OUTER_KEYS = ("rows", "tokenizer")

Text = str | Annotated[list[dict[str, Any]], Field(fail_fast=True)]
Id = Annotated[int, Field(ge=0, lt=1 << 32)]
# a picture is sent as a data: URI; paths and URLs are refused
Picture = Annotated[str, Field(pattern="^data:image/[a-z]+;base64,[A-Za-z0-9+/]+={0,2}$")]
SentPictures = Annotated[list[Picture], Field(max_length=MOST_PICTURES, fail_fast=True)]


class Row(BaseModel, extra="allow"):
    """A completion with the metric's columns, such as `reference`."""

    completion: Text
    prompt: Text = ""
    completion_ids: Annotated[list[Id], Field(fail_fast=True)] | None = None
    image: Picture | None = None
    images: SentPictures | None = None


class Asked(BaseModel, extra="forbid"):
    """Rows, and for the credit of their `completion_ids` one of the tokenizers that /health
    names.
    """

    rows: list[Row] = Field(min_length=1, max_length=MOST_ROWS, fail_fast=True)
    tokenizer: str | None = None


class TooMuch(ValueError):
    """A body has too many bytes or too many values."""


class ArrivingBody:
    """The part of a request's body that has arrived so far.

    Attributes:
        content: the bytes of this part.
        values: roughly the number of JSON values in `content`.
    """

    def __init__(self) -> None:
        self.content = bytearray()
        self.values = 0

    def add(self, part: bytes) -> None:
        """Adds the next bytes of the body. Raises TooMuch if the body now has more than BODY_BYTES
        bytes or about BODY_VALUES JSON values.

        The values are estimated by the signs "," and "[" and "{", before the body is parsed:
        parsing 64 MB of brackets would take gigabytes.
        """
        self.content += part
        for sign in COUNTED_SIGNS:
            self.values += part.count(sign)
        if len(self.content) > BODY_BYTES:
            raise TooMuch(f"a body has at most {BODY_BYTES:,} bytes: send fewer rows at a time")
        if self.values > BODY_VALUES:
            raise TooMuch(f"a body has at most {BODY_VALUES:,} values: send fewer rows at a time")


def read_request(content: bytes | bytearray) -> Asked:
    """Returns the rows and the tokenizer's name that a request asks for.

    content: the body, which must be JSON. Raises ValueError of one sentence for any other body, or
    for rows past a limit.
    """
    try:
        read = from_json(bytes(content), catch_duplicate_keys=True)
    except ValueError as error:
        raise ValueError(f"the body: Invalid JSON: {error}") from None
    # pydantic would list every extra key, so the check is here, with pydantic's words
    if not isinstance(read, Mapping):
        raise ValueError("the body: Input should be an object (see /openapi.json)")
    for key in read:
        if key not in OUTER_KEYS:
            raise ValueError(f"{key:.80}: Extra inputs are not permitted (see /openapi.json)")
    # pydantic refuses a longer list below
    rows = read.get("rows")
    if isinstance(rows, list) and len(rows) <= MOST_ROWS:
        check_size(rows)
    try:
        return Asked.model_validate(read)
    except ValidationError as error:
        raise ValueError(first_error(error)) from None


def check_size(rows: Sequence[Any]) -> None:
    """Raises ValueError for a row with too many keys, a text that is too long, or too many pictures
    in all.

    Other faults of rows are found later. rows: the rows as JSON values, before pydantic reads them.
    """
    pictures = 0
    for number, row in enumerate(rows):
        if isinstance(row, Mapping):  # pydantic refuses any other row
            check_row_size(number, row)
            pictures += picture_count(row)
    if pictures > REQUEST_PICTURES:
        raise ValueError(f"a request has at most {REQUEST_PICTURES} pictures, got {pictures:,}")


def check_row_size(number: int, row: Mapping[str, Any]) -> None:
    """Raises ValueError for a row with too many keys, or with a text that is too long. Pictures may
    be longer than texts, and `completion_ids` has no texts.

    number: the number of the row in the request, from 0, for the message.
    """
    if len(row) > MOST_KEYS:
        raise ValueError(f"row {number}: {len(row):,} keys, and a row has at most {MOST_KEYS}")
    for key, value in row.items():
        has_pictures = key == "image" or (key == "images" and isinstance(value, list))
        if has_pictures or key == "completion_ids":
            continue
        # the client also chose the text of the key, so `longest_text` looks at it too
        if longest_text({key: value}) > MOST_CHARACTERS:
            raise ValueError(
                f"row {number}: {key:.80} holds more than {MOST_CHARACTERS:,} characters"
            )


def picture_count(row: Mapping[str, Any]) -> int:
    """Returns the number of pictures in a row: {"image": ..., "images": [..., ...]} has 3."""
    count = 0
    if "image" in row:
        count += 1
    if isinstance(row.get("images"), list):
        count += len(row["images"])
    return count


def longest_text(value: Any) -> int:
    """Returns the number of characters of the longest text in a JSON value, keys included."""
    longest = 0
    to_visit = [value]  # no recursion: deep nesting could exhaust the stack
    while to_visit:
        inner = to_visit.pop()
        if isinstance(inner, str):
            longest = max(longest, len(inner))
        elif isinstance(inner, list):
            to_visit += inner
        elif isinstance(inner, Mapping):
            to_visit += inner.keys()
            to_visit += inner.values()
    return longest


def first_error(error: ValidationError) -> str:
    """Returns the place and the reason of the first error in a sentence.

    An example is "rows.0.completion: Field required (see /openapi.json)".
    """
    errors = error.errors(include_url=False, include_input=False)
    first = errors[0]
    place = ".".join(map(str, first["loc"])) or "the body"
    # the place may contain a key that the client chose
    return safe_line(f"{place}: {first['msg']} (see /openapi.json)")


def samples_of(rows: Sequence[Row], reward: Reward) -> list[Sample]:
    """Returns the sample of each row. Raises ValueError, naming the row, for a row that the reward
    cannot read.
    """
    samples = []
    for number, row in enumerate(rows):
        try:
            samples.append(sent_sample(row, reward))
        except ValueError as error:
            raise ValueError(f"row {number}: {error}") from None
    return samples


def sent_sample(row: Row, reward: Reward) -> Sample:
    """Returns the sample of one row, with its pictures undecoded.

    Raises ValueError for a row that lacks a column of the reward, or that cannot be read.
    """
    # the keys that are no fields of Row, such as "reference"
    columns = row.model_extra or {}
    present = {*columns, *row.model_fields_set}
    missing = reward.missing_column(present)
    if missing:
        raise ValueError(f"{reward.__name__} needs the key {missing}")
    pictures = []
    for picture in (row.image, *(row.images or ())):
        if picture:
            # data:image/png;base64,...
            _, _, encoded = picture.partition(",")
            pictures.append({"bytes": b64decode(encoded)})
    values = {**columns, "images": pictures}
    return read_sample(values, row.completion, row.prompt)
