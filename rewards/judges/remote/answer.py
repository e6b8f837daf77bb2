"""Reads every answer of an OpenAI-compatible server: to completions and to chats, for `start`,
`rate` and `write`.

    read_server_answer(200, b'{"choices": [{"text": "4"}]}')  # a ServerAnswer
    read_server_answer(200, b'{"error": {"message": "no credits", "code": 402}}')
    # Refused(402, "no credits")
    read_server_answer(503, b"<html>Bad Gateway</html>")
    # Busy("it answers 503: Bad Gateway", True)

Any status and any bytes become a ServerAnswer, a Refused or a Busy, and nothing is raised. An error
code in the body of a 200 counts as the status. The statuses 408, 409, 425, 429 and 5xx are Busy. An
error without a code is Busy if its words show that the error passes. A spent quota and every other
error is Refused, because another attempt would get the same answer. A success that is not of the
OpenAI form is Busy for a few attempts, and its first words are quoted.
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

from spanreward.rewards.files.http_client import safe_line

V = TypeVar("V")
# Statuses whose cause is the server's state and not the question. The question may be asked again
# until the deadline.
RETRIED_STATUSES = (408, 425, 429, 502, 503, 504, 529)
# Words by which a spent quota is recognised, under any status.
QUOTA_WORDS = re.compile(
    r"(?i)insufficient.?(?:quota|credit|balance|fund)|exceeded.current.quota|payment.required"
    r"|billing.(?:hard|limit|not)|(?:\bno|out of|enough) credits"
)
# Words by which an error that passes is recognised. An error with the words of the group `fault`
# may also be caused by the question.
PASSING_WORDS = re.compile(
    r"(?i)busy|overload|capacity|unavailable|rate.?limit|too.many|timed?.?out"
    r"|again (?:later|in)|loading"
    r"|resource.?exhausted|(?P<fault>internal|server.?error)"
)
MAX_REFUSAL_CHARACTERS = 2000  # read from an error; fewer are shown
# The fields of an error's JSON: fields that may hold another object, fields that may describe the
# error in words, and fields that may hold an error code.
INNER_ERROR_FIELDS = (
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
ERROR_TEXT_FIELDS = (
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
ERROR_CODE_FIELDS = ("code", "status", "status_code", "statusCode", "type", "error_type")
# A tag of HTML. Of a style or a script, which no reader is shown, also the content.
HTML_TAG = re.compile(
    r"<(style|script)\b.*?(?:</\1\b[^<>]*>|\Z)|<[^<>]*>", re.DOTALL | re.IGNORECASE
)
MAX_COMMENT_BYTES = 4096  # the first bytes of a body, in which its JSON object must begin
JSON_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t\r]*(\{)", re.MULTILINE)
MAX_INSTEAD_CHARACTERS = 120  # quoted from an answer of another form, such as a page to sign in
MAX_DEPTH = 8  # how deep nested objects are searched for an error
MAX_ENTRIES = 4  # how many entries of a list are searched for an error
MAX_COUNT = 1 << 40  # tokens; a larger number is no real count


def _valid_count(value: Any) -> int:
    """Returns a count of tokens, or 0 if the value is no valid count."""
    return value if isinstance(value, int) and 0 <= value < MAX_COUNT else 0


TokenCount = Annotated[int, BeforeValidator(_valid_count)]
_first_choice = partial(AliasPath, "choices", 0)  # the path to a field of the first choice


class TopLogprob(BaseModel):
    """One of the likeliest tokens of a chat, and its natural log-probability."""

    token: str | None
    logprob: float | None


class ServerAnswer(BaseModel):
    """The fields of an answer to a completion or a chat that judges read.

    Attributes:
        content: the text of the answer, or a list of its parts.
        likely: of a completion: the log-probabilities at the first position, by token.
        listed: of a chat: the tokens and log-probabilities at the first position.
        token, logprob: of a chat: the chosen token at the first position, which some servers do not
            include in `listed`.
        prompt_tokens, generated_tokens, cached_tokens: 0 if the server does not report them.
        finish_reason: why the answer ended: "length" if its tokens were used up.
        reasoning: the thoughts of a thinking model, which are not part of the answer.
        error, inner_error: an error of the server, or of a provider behind the server.
    """

    choices: list[dict[str, Any]] = Field(min_length=1)
    content: Any = Field(
        None,
        validation_alias=AliasChoices(_first_choice("message", "content"), _first_choice("text")),
    )
    likely: dict[str, float | None] | None = Field(
        None, validation_alias=_first_choice("logprobs", "top_logprobs", 0)
    )
    listed: list[TopLogprob] | None = Field(
        None, validation_alias=_first_choice("logprobs", "content", 0, "top_logprobs")
    )
    token: str | None = Field(
        None, validation_alias=_first_choice("logprobs", "content", 0, "token")
    )
    logprob: float | None = Field(
        None, validation_alias=_first_choice("logprobs", "content", 0, "logprob")
    )
    prompt_tokens: TokenCount = Field(0, validation_alias=AliasPath("usage", "prompt_tokens"))
    generated_tokens: TokenCount = Field(
        0, validation_alias=AliasPath("usage", "completion_tokens")
    )
    cached_tokens: TokenCount = Field(
        0, validation_alias=AliasPath("usage", "prompt_tokens_details", "cached_tokens")
    )
    finish_reason: Any = Field(None, validation_alias=_first_choice("finish_reason"))
    # of a thinking model; it is not the answer
    reasoning: Any = Field(
        None,
        validation_alias=AliasChoices(
            _first_choice("message", "reasoning_content"), _first_choice("message", "reasoning")
        ),
    )
    error: Any = None
    inner_error: Any = Field(None, validation_alias=_first_choice("error"))

    @property
    def first(self) -> list[tuple[str, float]]:
        """The tokens and natural log-probabilities at the first position. null counts as minus
        infinity.

        The tokens "4" and "5" with e^-0.1 and no probability give [("4", -0.1), ("5", -inf)].
        """
        pairs: Iterable[tuple[str | None, float | None]] = self._listed_pairs()  # of a chat
        if self.likely:  # of a completion
            pairs = self.likely.items()
        first: list[tuple[str, float]] = []
        for token, logprob in pairs:
            if logprob is None:
                logprob = -math.inf
            first.append((token or "", logprob))
        return first

    def _listed_pairs(self) -> list[tuple[str | None, float | None]]:
        """Returns the tokens and log-probabilities of `listed`. Some servers leave the chosen token
        out of the list, so it is added here.
        """
        pairs: list[tuple[str | None, float | None]] = []
        for entry in self.listed or []:
            pairs.append((entry.token, entry.logprob))
        tokens = [token for token, _ in pairs]
        if pairs and self.logprob is not None and self.token not in tokens:
            pairs.append((self.token, self.logprob))
        return pairs

    @property
    def text(self) -> str | None:
        """The text of the answer, or the joined texts of its parts. The value is None if there is
        no text.
        """
        if isinstance(self.content, str):
            return self.content
        if not isinstance(self.content, list):
            return None
        texts: list[str] = []
        for part in self.content:
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str):
                texts.append(text)
        return "".join(texts) if texts else None


@dataclass(frozen=True, slots=True)
class Refused:
    """A server's refusal of a request. Another attempt would get the same answer.

    Attributes:
        status: the status of HTTP or of the body; 0 if the request was not sent at all.
        words: the server's words, made safe to print (`safe_line`).
    """

    status: int
    words: str


@dataclass(frozen=True, slots=True)
class Busy:
    """An error that may pass: another attempt may be answered.

    Attributes:
        why: the error in the server's words, made safe to print (`safe_line`).
        patient: True if the server's state is the cause, so that the request may be repeated until
            the deadline. False if the question may be the cause, so that attempts are limited
            (client.py).
    """

    why: str
    patient: bool


@dataclass(frozen=True, slots=True)
class Served:
    """A model in a server's list.

    Attributes:
        id: the server's name for the model.
        root: the origin of the weights, such as a hub id. None if the server does not give it.
        max_model_len: the most tokens of a prompt and its answer together, or None.
        digest: a hash of the weights, "" if the server does not give it.
    """

    id: str
    root: str | None = None
    max_model_len: int | None = None
    digest: str = ""


def read_server_answer(status: int, content: bytes) -> ServerAnswer | Refused | Busy:
    """Returns a server's answer as a ServerAnswer, a Refused for an error that another attempt
    would meet again, or a Busy for an error that may pass.

    status: the status of HTTP. content: the body.
    """
    answer = None
    if 200 <= status < 300:
        with suppress(ValidationError):
            answer = ServerAnswer.model_validate_json(_json_part(content))
        if answer is not None and not (answer.error or answer.inner_error):
            return answer
    error = error_in_answer(status, content)
    if error is not None:
        return error
    # Some servers write {"error": {"code": 0, "message": ""}} into an answer without an error.
    if answer is not None:
        return answer
    return _no_answer(content)


def _json_part(content: bytes) -> bytes:
    """Returns the body from its JSON object on.

    Some servers write a byte order mark first, or keep the connection open with lines of comments.
    """
    match = JSON_LINE.search(content, 0, MAX_COMMENT_BYTES)
    if match is None:
        return content
    return content[match.start(1) :]


def _no_answer(content: bytes) -> Busy:
    """Returns Busy for a body that is not of the OpenAI form. The message quotes the body's first
    words, for example of a page to sign in.
    """
    text = content[:MAX_COMMENT_BYTES].decode(errors="replace").lstrip("\ufeff")
    if text.lstrip().startswith("<"):
        text = HTML_TAG.sub(" ", text)
    words = safe_line(text, MAX_INSTEAD_CHARACTERS)
    instead = f": {words}" if words else ", but empty"
    return Busy(f"its answer is cut short or not of the OpenAI form{instead}", patient=False)


def error_in_answer(status: int, content: bytes) -> Refused | Busy | None:
    """Returns the error in an answer. None for a success (2xx) whose body mentions no error.

    A 200 with {"error": {"message": "no credits", "code": 402}} gives Refused(402, "no credits"). A
    503 gives a Busy.
    """
    good = 200 <= status < 300
    # All objects in the body that may describe an error.
    layers = list(_error_layers(_parsed_json(_json_part(content))))
    text = _words_of(layers)
    if not text and not good:  # the body of an error may also be plain text or a page
        text = HTML_TAG.sub(" ", content.decode(errors="replace"))
    words = safe_line(text, MAX_REFUSAL_CHARACTERS)
    # For a success the status is the error code in the body, or 0 if the body has no error code.
    codes = _error_codes(layers)
    code = _first_error_status(codes) if good else status
    if not words and not code:
        return None
    # The words of a spent quota are looked for first, because the status may be 429, which is Busy.
    about = f"{codes} {words}"
    if QUOTA_WORDS.search(about):
        return Refused(402, words)
    shown_status = code or status
    if not _may_pass(code, about):
        return Refused(shown_status, words)
    why = f"it answers {shown_status}: {words}".removesuffix(": ")
    return Busy(safe_line(why), patient=_is_servers_state(code, about))


def _may_pass(code: int, about: str) -> bool:
    """Returns whether another attempt may be answered after this error: True for 503 and 409, and
    for the words "try again later" without a code.

    code: the status of the error, 0 if the error has no code. about: the error's words, which
    decide if it has no code.
    """
    if code:
        return code in RETRIED_STATUSES or code == 409 or code >= 500
    return PASSING_WORDS.search(about) is not None


def _is_servers_state(code: int, about: str) -> bool:
    """Returns whether the server's state, and not the question, is the cause of an error that may
    pass: True for 503 and "overloaded". False for 500 and "internal error", which the question may
    have caused.

    code, about: as in `_may_pass`.
    """
    if code:
        return code in RETRIED_STATUSES
    match = PASSING_WORDS.search(about)
    return match is not None and match["fault"] is None


def _error_codes(layers: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Returns the values of all fields that may hold an error code: [402] for {"code": 402,
    "message": "no credits"}.

    layers: the objects of a body that may describe an error.
    """
    codes: list[Any] = []
    for layer in layers:
        codes += [layer[key] for key in ERROR_CODE_FIELDS if key in layer]
    return codes


def _first_error_status(codes: Iterable[Any]) -> int:
    """Returns the first of these codes that is the status of an error, or 0 if none is."""
    for code in codes:
        status = _error_status(code)
        if status:
            return status
    return 0


def read_models(content: bytes) -> dict[str, Served]:
    """Returns the models of a server's list, by name. The result is empty if the body is no list.

    The body is a JSON list of names or of objects, or an object with that list under `data` or
    `models`.
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
        served = _served_model(entry) if isinstance(entry, dict) else None
        if served is not None:
            models.setdefault(served.id, served)  # of two entries with one name the first counts
    return models


def _served_model(entry: Mapping[str, Any]) -> Served | None:
    """Returns an entry of a server's list as a Served, or None if the entry has no name.

    {"id": "m", "max_model_len": "many"} gives Served("m"): a value of a wrong type is treated as
    missing.
    """
    name = _first_value(entry, ("id", "name", "model"), str)
    if not name:
        return None
    root = entry.get("root")
    longest = entry.get("max_model_len")
    has_length = isinstance(longest, int) and longest > 0
    digest = entry.get("digest")
    return Served(
        id=name,
        root=safe_line(root) if isinstance(root, str) else None,
        max_model_len=longest if has_length else None,
        digest=safe_line(digest) if isinstance(digest, str) else "",
    )


def _first_value(entry: Mapping[str, Any], keys: Sequence[str], kind: type[V]) -> V | None:
    """Returns the value of the first of the keys whose value is of this type, or None."""
    for key in keys:
        value = entry.get(key)
        if isinstance(value, kind):
            return value
    return None


def _parsed_json(text: str | bytes) -> Any:
    """Returns the value of a JSON text, or None if the text is no JSON."""
    try:
        return from_json(text)
    except ValueError:
        return None


def _error_layers(value: Any, depth: int = MAX_DEPTH) -> Iterator[dict[str, Any]]:
    """Yields all objects in a JSON value that may describe an error, the innermost first.

    JSON inside a string is parsed too, because some servers wrap an error in a string. {"error":
    {"message": "x"}} gives {"message": "x"} and then the whole object.

    depth: how many levels of nesting are searched.
    """
    if isinstance(value, str):
        is_json = value.lstrip().startswith(("{", "["))
        value = _parsed_json(value) if is_json else None
    if depth and isinstance(value, list):
        for entry in value[:MAX_ENTRIES]:
            yield from _error_layers(entry, depth - 1)
    if depth and isinstance(value, dict):
        for key in INNER_ERROR_FIELDS:
            yield from _error_layers(value.get(key), depth - 1)
        yield value


def _words_of(layers: Sequence[Mapping[str, Any]]) -> str:
    """Returns the descriptions of an error, joined by "; ". Each sentence occurs once. If a
    sentence does not name its field, the field's name is put before it: "temperature: not
    supported".

    layers: the objects of a body that may describe an error.
    """
    sentences: dict[str, None] = {}  # a set that keeps the order
    for layer in layers:
        field = _field_at_fault(layer)
        for value in map(layer.get, ERROR_TEXT_FIELDS):
            sentence = _sentence_in(value)
            if sentence and field not in sentence:
                sentence = f"{field}: {sentence}"
            if sentence:
                sentences[sentence] = None
    return "; ".join(sentences)


def _field_at_fault(layer: Mapping[str, Any]) -> str:
    """Returns the request's field that an error is about, or "" if the error names none.
    `better_form` needs the name, to know what to change in the request.

    {"loc": ["body", "n"], "msg": "odd"}, an error of pydantic, gives "n".
    """
    place = layer.get("loc") or layer.get("param") or ""
    if isinstance(place, list):
        place = place[-1]
    return str(place)


def _sentence_in(value: Any) -> str:
    """Returns a value that is a text about an error, and "" for any other value.

    A text that is itself JSON gives "" too: `_error_layers` has read the JSON, and yields its
    object apart.
    """
    if not isinstance(value, str) or not value.strip():
        return ""
    is_json = isinstance(_parsed_json(value), dict | list)
    return "" if is_json else value


def _error_status(value: Any) -> int:
    """Returns the HTTP status of an error, from a number or its digits. 0 for any other value."""
    if isinstance(value, str) and re.fullmatch("[0-9]{3}", value):
        value = int(value)
    return value if isinstance(value, int) and 400 <= value < 600 else 0
