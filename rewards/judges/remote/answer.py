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
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, Field, ValidationError
from pydantic_core import from_json

from spanreward.rewards.files.http_client import legible

PATIENT = (408, 425, 429, 502, 503, 504, 529)  # of the server's state, not of the question
SPENT = re.compile(
    r"(?i)insufficient.?(?:quota|credit|balance|fund)|exceeded.current.quota|payment.required"
    r"|billing.(?:hard|limit|not)|(?:\bno|out of|enough) credits"
)
PASSES = re.compile(
    r"(?i)busy|overload|capacity|unavailable|rate.?limit|too.many|timed?.?out"
    r"|again (?:later|in)|loading"
    r"|resource.?exhausted|(?P<fault>internal|server.?error)"
)
READ = 2000  # characters of a refusal; fewer are shown
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
COMMENTS = 4096  # bytes in which a JSON object must begin
JSON_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t\r]*(\{)", re.MULTILINE)
FIRST_WORDS = 120  # characters of an answer that is none, such as a page to sign in
DEEPEST = 8
Count = Annotated[
    int, BeforeValidator(lambda said: said if isinstance(said, int) and 0 <= said < 1 << 40 else 0)
]
_first = partial(AliasPath, "choices", 0)


class TopLogprob(BaseModel):
    token: str | None
    logprob: float | None


class ServerAnswer(BaseModel):
    """What judges read of a completion's or a chat's answer. likely: the first position's tokens in
    completions. listed: those in chats. token, logprob: the one that was chosen, which some servers
    leave out of that list. inner_error: of a provider behind the server.
    """

    choices: list[dict[str, Any]] = Field(min_length=1)
    said: Any = Field(
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
        listed = [(one.token, one.logprob) for one in self.listed or []]
        if listed and self.logprob is not None and self.token not in (token for token, _ in listed):
            listed.append((self.token, self.logprob))
        found = self.likely.items() if self.likely else listed
        return [(token or "", -math.inf if value is None else value) for token, value in found]

    @property
    def text(self) -> str | None:
        """The text; of a content in parts, their texts together."""
        parts = self.said if isinstance(self.said, list) else [{"text": self.said}]
        texts = [
            part["text"]
            for part in parts
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        ]
        return "".join(texts) if texts else None


@dataclass(frozen=True, slots=True)
class Refused:
    """The server would answer alike again. status: HTTP's or the body's. words: the server's, fit
    to be shown.
    """

    status: int
    words: str


@dataclass(frozen=True, slots=True)
class Busy:
    """Another attempt may be answered. patient: the server's state is to blame and not the
    question, so it may be asked until the deadline.
    """

    why: str
    patient: bool


@dataclass(frozen=True, slots=True)
class Served:
    """A model in a server's list. root: whose weights. max_model_len: tokens of a prompt and its
    answer, or None. digest: of the weights, "" where the server tells none.
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
    start = JSON_LINE.search(content, 0, COMMENTS)
    return content[start.start(1) :] if start else content


def _no_answer(content: bytes) -> Busy:
    """Says with its own first words what is not of the OpenAI form."""
    text = content[:COMMENTS].decode(errors="replace").lstrip("\ufeff")
    words = legible(TAG.sub(" ", text) if text.lstrip().startswith("<") else text, FIRST_WORDS)
    instead = f": {words}" if words else ", but empty"
    return Busy(f"its answer is cut short or not of the OpenAI form{instead}", patient=False)


def trouble(status: int, content: bytes) -> Refused | Busy | None:
    """Reads what is not the answer that was asked for; None for a success that speaks of no
    error.
    """
    good = 200 <= status < 300
    layers = list(_layers(_parsed(_json_part(content))))
    said = _words(layers) or ("" if good else TAG.sub(" ", content.decode(errors="replace")))
    words = legible(said, READ)
    codes = [one[key] for one in layers for key in CODES if key in one]
    code = next(filter(None, map(_status, codes)), 0) if good else status
    if not (words or code):
        return None
    about = f"{codes} {words}"
    passes = None if code else PASSES.search(about)
    if SPENT.search(about):
        return Refused(402, words)
    if code in PATIENT or code == 409 or code >= 500 or passes:
        patient = passes.lastgroup is None if passes else code in PATIENT
        return Busy(legible(f"it answers {code or status}: {words}".removesuffix(": ")), patient)
    return Refused(code or status, words)


def read_models(content: bytes) -> dict[str, Served]:
    """Returns a list's models by name.

    It is bare, or `data`, or `models`, of names or of entries; {} for no list.
    """
    said = _parsed(content)
    if isinstance(said, dict):
        said = next(
            (said[key] for key in ("data", "models") if isinstance(said.get(key), list)), None
        )
    models: dict[str, Served] = {}
    for entry in said if isinstance(said, list) else []:
        if isinstance(entry, str):
            entry = {"id": entry}
        if not isinstance(entry, dict):
            continue
        name = next(
            (entry[key] for key in ("id", "name", "model") if isinstance(entry.get(key), str)), ""
        )
        root = entry.get("root")
        longest = entry.get("max_model_len")
        digest = entry.get("digest")
        served = Served(
            name,
            legible(root) if isinstance(root, str) else None,
            longest if isinstance(longest, int) and longest > 0 else None,
            legible(digest) if isinstance(digest, str) else "",
        )
        models.setdefault(name, served)
    return {name: served for name, served in models.items() if name}


def _parsed(said: str | bytes) -> Any:
    """Returns the JSON, None for what is none."""
    try:
        return from_json(said)
    except ValueError:
        return None


def _layers(said: Any, depth: int = DEEPEST) -> Iterator[dict[str, Any]]:
    """Yields the objects that may speak of an error, the innermost first.

    Some servers write JSON into a string.
    """
    if isinstance(said, str) and said.lstrip()[:1] in ("{", "["):
        said = _parsed(said)
    if depth and isinstance(said, list):
        for one in said[:4]:
            yield from _layers(one, depth - 1)
    if depth and isinstance(said, dict):
        for key in INNER:
            yield from _layers(said.get(key), depth - 1)
        yield said


def _words(layers: list[dict[str, Any]]) -> str:
    """What the objects say, each sentence once, after the field that it is about."""
    found: dict[str, None] = {}
    for one in layers:
        place = one.get("loc") or one.get("param")
        about = str(place[-1] if isinstance(place, list) else place or "")
        for said in map(one.get, WORDS):
            if (
                isinstance(said, str)
                and said.strip()
                and not isinstance(_parsed(said), dict | list)
            ):
                found[said if about in said else f"{about}: {said}"] = None
    return "; ".join(found)


def _status(value: Any) -> int:
    """An HTTP status of an error, as a number or in digits; 0 for anything else."""
    number = int(value) if isinstance(value, str) and re.fullmatch("[0-9]{3}", value) else value
    return number if isinstance(number, int) and 400 <= number < 600 else 0
