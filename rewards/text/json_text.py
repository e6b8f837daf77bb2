"""JSON in a text, read as a person reads it: what it says, without its syntax.

    {"bbox_2d": [4, 8, 90, 200], "label": "a heron"}      # a heron
    {"dog colour": "red"}                                 # dog colour: red

A key says something, unless it only names the field: an identifier that several objects of a list
have, or the only one with a text beside numbers. A key that denies something always stays. Numbers
and truth values beside a sentence are about the record, and not about what it describes. So are a
fraction ("score": 0.9) and a plain `true` beside a label, but "count": 3 and "present": false are
not.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spanreward.rewards.text.latex import is_command
from spanreward.rewards.text.markup import DENYING_WORD
from spanreward.rewards.text.pieces import BOXES, JSON, PLACE_NAME, Piece

_JSON_START = re.compile(
    r"""\{\s*(["'])(?:(?!\1)[^\\\n]|\\.)*+\1\s*:
    | \[\s*(?:\{\s*["'] | (["'])(?:(?!\2)[^\\\n]|\\.)*+\2\s*[,\]])""",
    re.X,
)
_JSON_TOKEN = re.compile(
    r"""\s*+(?: (?P<open>[\[{]) | (?P<close>[\]}]) | , | null | (?P<value>-?\d[\d.eE+-]*|true|false)
    | (["'])(?P<text>(?:(?!\4)[^\\]|\\(?:.|\Z)|\4(?!\s*(?:[,:}\]]|\Z)))*+)
        (?:\4(?P<key>\s*:)?|\Z))""",
    re.X | re.DOTALL | re.IGNORECASE,
)
_BREAK = re.compile(r"(?<!\\)\\([nrt])([a-zA-Z]*)")
_PLACE = re.compile(rf"_*+{PLACE_NAME}", re.IGNORECASE)
_NUMBERS_ALONE = re.compile(r"[\d\s.,;()\[\]-]*")
_IDENTIFIER = re.compile(r"[^\W\d_]\w*(?:-\w+)*")
_WORDS_OF_KEY = re.compile(r"(?<=[a-z])(?=[A-Z])|[_-]")
_OF_RECORD = re.compile(r"true|0?\.\d+|[01]\.\d+", re.IGNORECASE)
_SENTENCE_LIKE = re.compile(r"\s*(?:\S+\s+){3}\S|.*[.!?]\s*\Z", re.DOTALL)


@dataclass(slots=True)
class _Container:
    """An object or a list, and the key that it stands under.

    texts: the keys with a text. records: how many keys have a number, a truth value or a place.
    fields: in how many objects of this list each key has a text.
    """

    opened: str
    within: "_Container | None"
    key: "_JsonToken | None"
    texts: list[str] = field(default_factory=list)
    records: int = 0
    has_sentence: bool = False
    has_place: bool = False
    fields: Counter[str] = field(default_factory=Counter)

    def names_a_field(self, key: str) -> bool:
        """Returns whether the key of a text says nothing of its own."""
        # "notVisible" denies by a word within
        words = _WORDS_OF_KEY.sub(" ", key).lower()
        if not _IDENTIFIER.fullmatch(key) or DENYING_WORD.search(words):
            return False
        # several objects of a list have it
        if self.within and self.within.fields[key] > 1:
            return True
        # the only text beside numbers: "label" of a box
        return len(self.texts) == 1 and self.records > 0

    def is_about_the_record(self, value: str) -> bool:
        """Returns whether a number or truth value says nothing of what is described."""
        if self.has_sentence or self.has_place:
            return True
        return bool(self.texts and _OF_RECORD.fullmatch(value))


@dataclass(slots=True)
class _JsonToken:
    """A token [start, end) of JSON, with what it says at [begin, until).

    kind: open, close, key, text, value, or "" for a sign. content: what it says. container: the
        object or list that it stands in. key: the last one before it. of: for a key its value, None
        for null.
    """

    start: int
    end: int
    begin: int
    until: int
    kind: str
    content: str
    container: _Container | None
    key: "_JsonToken | None"
    of: "_JsonToken | None" = None


def without_json(text: str) -> Iterator[Piece]:
    """Yields the values of JSON after their keys: those of an object each on a line, short ones of
    a list in a row. Signs keep values apart: "a heron" and "two boats" are no one name.
    """
    at = 0
    while start := _JSON_START.search(text, at):
        yield at, start.start()
        # all of it before any is yielded: what a key says depends on what else its object has
        tokens = _json_tokens(text, start.start())
        yield from _without_syntax(text, tokens)
        at = tokens[-1].end
        # so that the text behind it begins a line
        yield "\n" if at < len(text) else "", at - 1
    yield at, len(text)


def _json_tokens(text: str, at: int) -> list[_JsonToken]:
    """Returns the tokens of the JSON that starts here, up to its end or to what is no JSON."""
    tokens: list[_JsonToken] = []
    container: _Container | None = None
    key: _JsonToken | None = None
    while (match := _JSON_TOKEN.match(text, at)) and (container or match["open"]):
        kind, begin, until = _kind_and_place(match)
        content = text[begin:until]
        token = _JsonToken(
            start=match.start(),
            end=match.end(),
            begin=begin,
            until=until,
            kind=kind,
            content=content,
            container=container,
            key=key,
        )
        tokens.append(token)
        at = match.end()
        if kind == "key":
            key = token
            if container and _PLACE.match(content):
                container.has_place = True
                container.records += 1
        elif kind in ("text", "value", "open"):
            # the first value behind a key of this object is its value
            if key and container and key.container is container and not key.of:
                key.of = token
                _note_value(container, key.content, token)
            if kind == "open":
                container = _Container(content, container, key)
        elif kind == "close":
            assert container
            # back to the key under which the object or list stands
            key = container.key
            container = container.within
            if container is None:
                break
    return tokens


def _kind_and_place(match: re.Match[str]) -> tuple[str, int, int]:
    """Returns a token's kind, and where what it says stands."""
    if match["value"]:
        return ("value", *match.span("value"))
    if match["text"] is not None:
        kind = "key" if match["key"] else "text"
        return (kind, *match.span("text"))
    if match["open"]:
        return ("open", *match.span("open"))
    end = match.end()
    return ("close" if match["close"] else "", end, end)


def _note_value(container: _Container, key: str, value: _JsonToken) -> None:
    """Keeps what an object has under a key."""
    if value.kind == "text":
        container.texts.append(key)
        if _SENTENCE_LIKE.match(value.content):
            container.has_sentence = True
        if container.within:
            container.within.fields[key] += 1
    elif value.kind == "value":
        container.records += 1


def _without_syntax(text: str, tokens: Sequence[_JsonToken]) -> Iterator[Piece]:
    """Yields what the tokens say, with signs and line breaks between, and drops the rest."""
    joint = "\n" if tokens[0].start else ""  # what stands before the next that says something
    at = tokens[0].start
    for token in tokens:
        key = token if token.kind == "key" else token.key
        is_place = key is not None and _PLACE.match(key.content) is not None
        # what closes the object of a box is no part of the box
        if key and token.kind == "close" and token.container is key.container:
            is_place = False
        kind = BOXES if is_place else JSON
        is_said = _says_something(token, is_place)
        if is_said:
            yield at, token.begin, kind
            yield joint, token.begin
            yield from _with_breaks(text, token.begin, token.until)
            joint = ""
            at = token.until
        if token.kind == "key" and is_said:
            yield ": ", token.until
        elif is_said:
            in_object = token.container is not None and token.container.opened == "{"
            # a text that ends with a sign needs no other
            if text[token.until - 1] in ".!?;:,":
                joint = "\n"
            elif in_object:
                joint = ";\n"
            else:
                joint = ", "
        elif token.kind == "close" and joint == ", ":
            joint = ";\n"
        yield at, token.end, kind
        at = token.end


def _with_breaks(text: str, start: int, end: int) -> Iterator[Piece]:
    r"""Yields a text's characters, with line breaks and blanks for "\n", "\r" and "\t". Models also
    write "\nabla" and "\times" here, which are no breaks.
    """
    at = start
    for escape in _BREAK.finditer(text, start, end):
        if is_command(escape[1] + escape[2]):
            continue
        begin = escape.start()
        yield at, begin
        yield begin, begin + 2, JSON
        yield " " if escape[1] == "t" else "\n", begin
        at = begin + 2
    yield at, end


def _says_something(token: _JsonToken, is_place: bool) -> bool:
    """Returns whether a key, a text or a value says something of what is described."""
    container = token.container
    if token.kind not in ("key", "text", "value"):
        return False
    if token.begin == token.until:
        return False
    # "box": "the left one" says something
    if is_place:
        return token.kind != "key" and not _NUMBERS_ALONE.fullmatch(token.content)
    if container is None or container.opened == "[":
        return True
    value = token.of if token.kind == "key" else token
    if value is None:
        return False
    if value.kind == "value":
        return not container.is_about_the_record(value.content)
    if token.kind == "key" and value.kind == "text":
        return not container.names_a_field(token.content)
    return True


def value_end(text: str, at: int) -> tuple[int, int]:
    """Returns the characters [start, end) of the value that starts here: a text without its
    quotation marks, an object or a list with its signs.
    """
    token = _JSON_TOKEN.match(text, at)
    if token is None:
        return at, at
    if token["text"] is not None:
        return token.span("text")
    if token["open"]:
        return at, _json_tokens(text, at)[-1].end
    return at, token.end()
