"""One reading of what an OpenAI-compatible server answers: by completions and chats, for start,
rate and write.

    read_server_answer(200, b'{"choices": [{"text": "4"}]}')  # a ServerAnswer
    read_server_answer(200, b'{"error": {"message": "no credits", "code": 402}}')
    # Refused(402, "no credits")
    read_server_answer(503, b"<html>Bad Gateway</html>")
    # Busy("it answers 503: Bad Gateway", True)

Any status and any bytes give one of the three, and nothing is raised. A code in the body of a 200
counts as the status. 408, 409, 425, 429 and 5xx are Busy, and so is an error without a code whose
words say that it passes. A spent quota and all else are Refused: another attempt would be answered
alike. An answer that says nothing is Busy for some attempts, and what it says instead is shown.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, Field, ValidationError
from pydantic_core import from_json

from spanreward.rewards.files.http_client import legible

V = TypeVar("V")
# statuses of the server's state, not of the question: it may be asked until the deadline
PATIENT = (408, 425, 429, 502, 503, 504, 529)
# words of a spent quota, whatever the status is
SPENT = re.compile(
    r"(?i)insufficient.?(?:quota|credit|balance|fund)|exceeded.current.quota|payment.required"
    r"|billing.(?:hard|limit|not)|(?:\bno|out of|enough) credits"
)
# words of an error that passes, of which those of `fault` may also be the question's fault
PASSES = re.compile(
    r"(?i)busy|overload|capacity|unavailable|rate.?limit|too.many|timed?.?out"
    r"|again (?:later|in)|loading"
    r"|resource.?exhausted|(?P<fault>internal|server.?error)"
)
MAX_REFUSAL_CHARACTERS = 2000  # that are read; fewer are shown
# The fields that may hold an error's object, and those that may say in words what is wrong.
INNER = (
    "error",
    "errors",
    "detail",
    "details",
    "message",
    "metadata",
    "raw",
    "choices",
    "base_resp",
)
WORDS = (
    "msg",
    "message",
    "detail",
    "error",
    "errorMessage",
    "error_description",
    "title",
    "raw",
    "status_msg",
)
CODES = ("code", "status", "status_code", "statusCode", "type", "error_type")
TAG = re.compile("<[^<>]*>")
MAX_COMMENT_BYTES = 4096  # in which a JSON object must begin
JSON_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t\r]*(\{)", re.MULTILINE)
MAX_INSTEAD_CHARACTERS = 120  # of an answer that is none, such as a page to sign in
MAX_DEPTH = 8  # of objects in objects that are searched for an error
MAX_ENTRIES = 4  # of a list that are searched for one
MAX_COUNT = 1 << 40  # tokens; what is beyond was not counted


def _valid_count(value: Any) -> int:
    """Returns a count of tokens, 0 for what is none."""
    return value if isinstance(value, int) and 0 <= value < MAX_COUNT else 0


Count = Annotated[int, BeforeValidator(_valid_count)]
_first = partial(AliasPath, "choices", 0)  # the path to a field of the first choice


class TopLogprob(BaseModel):
    token: str | None
    logprob: float | None


class ServerAnswer(BaseModel):
    """What judges read of a completion's or a chat's answer.

    Attributes:
        content: the text, of completions or of chats, or a list of parts.
        likely: the first position's tokens and their log-probabilities, in completions.
        listed: those in chats.
        token, logprob: the one that was chosen, which some servers leave out of that list.
        prompt_tokens, generated_tokens, cached_tokens: 0 where the server does not say.
        inner_error: of a provider behind the server.
    """

    choices: list[dict[str, Any]] = Field(min_length=1)
    content: Any = Field(
        None, validation_alias=AliasChoices(_first("message", "content"), _first("text"))
    )
    likely: dict[str, float | None] | None = Field(
        None, validation_alias=_first("logprobs", "top_logprobs", 0)
    )
    listed: list[TopLogprob] | None = Field(
        None, validation_alias=_first("logprobs", "content", 0, "top_logprobs")
    )
    token: str | None = Field(None, validation_alias=_first("logprobs", "content", 0, "token"))
    logprob: float | None = Field(
        None, validation_alias=_first("logprobs", "content", 0, "logprob")
    )
    prompt_tokens: Count = Field(0, validation_alias=AliasPath("usage", "prompt_tokens"))
    generated_tokens: Count = Field(0, validation_alias=AliasPath("usage", "completion_tokens"))
    cached_tokens: Count = Field(
        0, validation_alias=AliasPath("usage", "prompt_tokens_details", "cached_tokens")
    )
    finish_reason: Any = Field(None, validation_alias=_first("finish_reason"))
    # of a thinking model; it is not the answer
    reasoning: Any = Field(
        None,
        validation_alias=AliasChoices(
            _first("message", "reasoning_content"), _first("message", "reasoning")
        ),
    )
    error: Any = None
    inner_error: Any = Field(None, validation_alias=_first("error"))

    @property
    def first(self) -> list[tuple[str, float]]:
        """The first position's tokens and natural log-probabilities. null is minus infinity."""
        listed: list[tuple[str | None, float | None]] = []
        for entry in self.listed or []:
            listed.append((entry.token, entry.logprob))
        # the one that was chosen, if the list leaves it out
        tokens = [token for token, _ in listed]
        if listed and self.logprob is not None and self.token not in tokens:
            listed.append((self.token, self.logprob))
        pairs: Iterable[tuple[str | None, float | None]] = listed
        if self.likely:
            pairs = self.likely.items()
        first = []
        for token, logprob in pairs:
            if logprob is None:
                logprob = -math.inf
            first.append((token or "", logprob))
        return first

    @property
    def text(self) -> str | None:
        """The text; of a content in parts, their texts together. None if there is no text."""
        if isinstance(self.content, str):
            return self.content
        if not isinstance(self.content, list):
            return None
        texts = []
        for part in self.content:
            if not isinstance(part, dict):
                continue
            text = part.get("text")
            if isinstance(text, str):
                texts.append(text)
        return "".join(texts) if texts else None


@dataclass(frozen=True, slots=True)
class Refused:
    """The server would answer alike again.

    Attributes:
        status: HTTP's or the body's; 0 if the server was not asked at all.
        words: the server's, fit to be shown.
    """

    status: int
    words: str


@dataclass(frozen=True, slots=True)
class Busy:
    """Another attempt may be answered.

    Attributes:
        why: in the server's words, fit to be shown.
        patient: whether the server's state is to blame and not the question, so that it may be
            asked until the deadline.
    """

    why: str
    patient: bool


@dataclass(frozen=True, slots=True)
class Served:
    """A model in a server's list.

    Attributes:
        id: the server's name for it.
        root: whose weights.
        max_model_len: tokens of a prompt and its answer, or None.
        digest: of the weights, "" where the server tells none.
    """

    id: str
    root: str | None = None
    max_model_len: int | None = None
    digest: str = ""


def read_server_answer(status: int, content: bytes) -> ServerAnswer | Refused | Busy:
    """Reads an answer as this file's beginning says."""
    answer = None
    if 200 <= status < 300:
        with suppress(ValidationError):
            answer = ServerAnswer.model_validate_json(_json_part(content))
        if answer is not None and not (answer.error or answer.inner_error):
            return answer
    return trouble(status, content) or answer or _no_answer(content)


def _json_part(content: bytes) -> bytes:
    """Returns the body from the line on that begins a JSON object.

    Some servers write a byte order mark, or keep the connection with lines of comment.
    """
    match = JSON_LINE.search(content, 0, MAX_COMMENT_BYTES)
    if match is None:
        return content
    return content[match.start(1) :]


def _no_answer(content: bytes) -> Busy:
    """Returns Busy for what is not of the OpenAI form, with its own first words: of a page to sign
    in, say.
    """
    text = content[:MAX_COMMENT_BYTES].decode(errors="replace").lstrip("\ufeff")
    if text.lstrip().startswith("<"):
        text = TAG.sub(" ", text)
    words = legible(text, MAX_INSTEAD_CHARACTERS)
    instead = f": {words}" if words else ", but empty"
    return Busy(f"its answer is cut short or not of the OpenAI form{instead}", patient=False)


def trouble(status: int, content: bytes) -> Refused | Busy | None:
    """Reads what is not the answer that was asked for; None for a success that speaks of no
    error.
    """
    good = 200 <= status < 300
    # What the body says, by all of its objects that may speak of an error.
    body = _parsed_json(_json_part(content))
    layers = list(_error_layers(body))
    text = _words_of(layers)
    if not text and not good:
        text = TAG.sub(" ", content.decode(errors="replace"))
    words = legible(text, MAX_REFUSAL_CHARACTERS)
    # The status, or under a success the body's own code: 0 where it has none.
    codes: list[Any] = []
    for layer in layers:
        codes += [layer[key] for key in CODES if key in layer]
    code = _first_error_status(codes) if good else status
    if not words and not code:
        return None
    # A spent quota may come as 429, so its words go before the status.
    about = f"{codes} {words}"
    if SPENT.search(about):
        return Refused(402, words)
    # Without a code the words say whether it passes.
    passes = None
    if not code:
        passes = PASSES.search(about)
    if code in PATIENT or code == 409 or code >= 500 or passes:
        patient = code in PATIENT
        if passes:
            patient = passes.lastgroup is None  # not `fault`
        why = f"it answers {code or status}: {words}".removesuffix(": ")
        return Busy(legible(why), patient)
    return Refused(code or status, words)


def _first_error_status(codes: Iterable[Any]) -> int:
    """Returns the first of these codes that is an error's status, 0 for none."""
    for code in codes:
        status = _error_status(code)
        if status:
            return status
    return 0


def read_models(content: bytes) -> dict[str, Served]:
    """Returns a list's models by name.

    It is bare, or `data`, or `models`, of names or of entries; {} for no list.
    """
    entries = _parsed_json(content)
    if isinstance(entries, dict):
        entries = _first_value(entries, ("data", "models"), list)
    if not isinstance(entries, list):
        return {}
    models: dict[str, Served] = {}
    for entry in entries:
        if isinstance(entry, str):
            entry = {"id": entry}
        if not isinstance(entry, dict):
            continue
        name = _first_value(entry, ("id", "name", "model"), str)
        if not name:
            continue
        # a value of another kind than it should be counts as not there
        root = entry.get("root")
        longest = entry.get("max_model_len")
        has_length = isinstance(longest, int) and longest > 0
        digest = entry.get("digest")
        served = Served(
            id=name,
            root=legible(root) if isinstance(root, str) else None,
            max_model_len=longest if has_length else None,
            digest=legible(digest) if isinstance(digest, str) else "",
        )
        models.setdefault(name, served)  # the first of a name that comes twice
    return models


def _first_value(entry: Mapping[str, Any], keys: Sequence[str], kind: type[V]) -> V | None:
    """Returns the value of the first of the keys that has one of this kind."""
    for key in keys:
        value = entry.get(key)
        if isinstance(value, kind):
            return value
    return None


def _parsed_json(text: str | bytes) -> Any:
    """Returns the JSON, None for what is none."""
    try:
        return from_json(text)
    except ValueError:
        return None


def _error_layers(value: Any, depth: int = MAX_DEPTH) -> Iterator[dict[str, Any]]:
    """Yields the objects that may speak of an error, the innermost first.

    Some servers write JSON into a string.
    """
    if isinstance(value, str):
        is_json = value.lstrip().startswith(("{", "["))
        value = _parsed_json(value) if is_json else None
    if depth and isinstance(value, list):
        for entry in value[:MAX_ENTRIES]:
            yield from _error_layers(entry, depth - 1)
    if depth and isinstance(value, dict):
        for key in INNER:
            yield from _error_layers(value.get(key), depth - 1)
        yield value


def _words_of(layers: Sequence[Mapping[str, Any]]) -> str:
    """Returns what the objects say, each sentence once, after the field that it is about."""
    sentences: dict[str, None] = {}  # a set that keeps the order
    for layer in layers:
        # "loc" of pydantic's errors, whose last entry is the field: ["body", "temperature"]
        place = layer.get("loc") or layer.get("param") or ""
        if isinstance(place, list):
            place = place[-1]
        # A sentence often leaves out its field, by which `better_form` knows what to change.
        field = str(place)
        for sentence in map(layer.get, WORDS):
            if not isinstance(sentence, str) or not sentence.strip():
                continue
            if isinstance(_parsed_json(sentence), dict | list):
                continue  # a layer of its own
            if field not in sentence:
                sentence = f"{field}: {sentence}"
            sentences[sentence] = None
    return "; ".join(sentences)


def _error_status(value: Any) -> int:
    """Returns an HTTP status of an error, as a number or in digits; 0 for anything else."""
    if isinstance(value, str) and re.fullmatch("[0-9]{3}", value):
        value = int(value)
    return value if isinstance(value, int) and 400 <= value < 600 else 0
