"""Reads JSON in a text as a person reads JSON: the content, without the syntax.

    {"bbox_2d": [4, 8, 90, 200], "label": "a heron"}      # a heron
    {"dog colour": "red"}                                 # dog colour: red

Keys. A key is kept, unless the key only names a field. An identifier names a field if several
objects of a list have it as a key. An identifier also names a field if its value is the object's
only text, beside numbers ("label" above). A key that denies, such as "notVisible", is always kept.

Values. Texts are kept. Numbers and truth values are dropped if they describe the record instead of
the picture. Beside a sentence or a box, all numbers and truth values are dropped. Beside a label,
only fractions ("score": 0.9) and `true` are dropped: "count": 3 and "present": false are kept.
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
_ESCAPED_BREAK = re.compile(r"(?<!\\)\\([nrt])([a-zA-Z]*)")
_PLACE_KEY = re.compile(rf"_*+{PLACE_NAME}", re.IGNORECASE)
_NUMBERS_ALONE = re.compile(r"[\d\s.,;()\[\]-]*")
_KEY_WORD = re.compile(r"[^\W\d_]\w*(?:-\w+)*")
_WORDS_OF_KEY = re.compile(r"(?<=[a-z])(?=[A-Z])|[_-]")
_OF_RECORD = re.compile(r"true|0?\.\d+|[01]\.\d+", re.IGNORECASE)
_SENTENCE_LIKE = re.compile(r"\s*(?:\S+\s+){3}\S|.*[.!?]\s*\Z", re.DOTALL)


@dataclass(slots=True)
class _Container:
    """A JSON object or list.

    Attributes:
        opened: "{" or "[".
        within: the object or list around this container, if any.
        key: the last key before this container, if any.
        texts: the keys of this object whose value is a text.
        other_values: the number of keys with a number, a truth value or a place (box).
        has_sentence: whether a text of this object is a sentence.
        has_place: whether a key names a place, such as "bbox_2d".
        objects_with_text: for each key, how many objects of this list have a text under the key.
    """

    opened: str
    within: "_Container | None"
    key: "_JsonToken | None"
    texts: list[str] = field(default_factory=list)
    other_values: int = 0
    has_sentence: bool = False
    has_place: bool = False
    objects_with_text: Counter[str] = field(default_factory=Counter)

    def names_a_field(self, key: str) -> bool:
        """Returns whether the key of a text only names a field, such as "label".

        Such a key is dropped from the plain text, and its text is kept.
        """
        # split "notVisible" into words to find a word that denies
        words = _WORDS_OF_KEY.sub(" ", key).lower()
        if not _KEY_WORD.fullmatch(key) or DENYING_WORD.search(words):
            return False
        # several objects of the list around this object have the key
        if self.within and self.within.objects_with_text[key] > 1:
            return True
        # the key has the object's only text, and other keys have numbers, truth values or a place:
        # "label" of a box
        return len(self.texts) == 1 and self.other_values > 0

    def is_about_the_record(self, value: str) -> bool:
        """Returns whether a number or truth value describes the record, not the picture.

        `0.9` of `{"label": "a heron", "score": 0.9}` is about the record.
        """
        # beside a sentence or a box, every number is about the record
        if self.has_sentence or self.has_place:
            return True
        # beside another text, only `true` and a share such as 0.9 are
        return bool(self.texts and _OF_RECORD.fullmatch(value))


@dataclass(slots=True)
class _JsonToken:
    """A token of JSON: in `"label": "a heron"` the key "label" and the text "a heron".

    Attributes:
        start, end: the characters [start, end) of the whole token, with its signs.
        content_start, content_end: the characters of the content, without quotation marks.
        kind: "open", "close", "key", "text", "value" (a number or truth value), or "" for a comma
            or null.
        content: the characters of the content.
        container: the object or list that contains the token.
        key: the last key before the token.
        value_of_key: the value behind this token if the token is a key. None for other tokens, and
            for a key whose value is null.
    """

    start: int
    end: int
    content_start: int
    content_end: int
    kind: str
    content: str
    container: _Container | None
    key: "_JsonToken | None"
    value_of_key: "_JsonToken | None" = None


def without_json(text: str) -> Iterator[Piece]:
    """Yields the pieces of the text, in which only the content of JSON is kept.

    Each value of an object is put on a line of its own, after its key. The values of a list are put
    in a row, with commas between. Without these signs, "a heron" and "two boats" would be read as a
    single name.
    """
    at = 0  # the offset up to which the text is yielded
    while start := _JSON_START.search(text, at):
        yield at, start.start()
        # read the whole JSON first: whether a key is kept depends on the rest of its object
        tokens = _json_tokens(text, start.start())
        yield from _without_syntax(text, tokens)
        at = tokens[-1].end
        has_text_behind = at < len(text)
        if has_text_behind:
            yield "\n", at - 1  # the text behind the JSON begins a line
    yield at, len(text)


def _json_tokens(text: str, at: int) -> list[_JsonToken]:
    """Returns the tokens of the JSON that starts at the character `at`.

    The tokens end where the JSON ends, or before the first sign that JSON does not allow.
    """
    tokens: list[_JsonToken] = []
    container: _Container | None = None  # the object or list around the next token
    key: _JsonToken | None = None  # the last key before the next token
    while (match := _JSON_TOKEN.match(text, at)) and (container or match["open"]):
        token = _token_of_match(match, container, key)
        tokens.append(token)
        at = match.end()
        if token.kind == "key":
            key = token
            _note_key(token)
        elif token.kind in ("text", "value", "open"):
            _note_value(token)
        if token.kind == "open":
            container = _Container(token.content, container, key)
        elif token.kind == "close":
            assert container
            # go back to the outer container, and to the key before the closed container
            key = container.key
            container = container.within
            if container is None:
                break
    return tokens


def _token_of_match(
    match: re.Match[str], container: _Container | None, key: _JsonToken | None
) -> _JsonToken:
    """Returns the token of a match of `_JSON_TOKEN`.

    container: the object or list around the token. key: the last key before the token.
    """
    kind, content_start, content_end = _kind_and_place(match)
    return _JsonToken(
        start=match.start(),
        end=match.end(),
        content_start=content_start,
        content_end=content_end,
        kind=kind,
        content=match.string[content_start:content_end],
        container=container,
        key=key,
    )


def _kind_and_place(match: re.Match[str]) -> tuple[str, int, int]:
    """Returns the kind of a token, and the start and end of the token's content. A closing bracket,
    and a sign such as a comma, have no content: their range is empty.
    """
    if match["value"]:
        return ("value", *match.span("value"))
    if match["text"] is not None:
        kind = "key" if match["key"] else "text"
        return (kind, *match.span("text"))
    if match["open"]:
        return ("open", *match.span("open"))
    kind = "close" if match["close"] else ""
    end = match.end()
    return (kind, end, end)


def _note_key(key: _JsonToken) -> None:
    """Counts a key such as "bbox_2d" in its object: an object with a place keeps no numbers."""
    if key.container and _PLACE_KEY.match(key.content):
        key.container.has_place = True
        key.container.other_values += 1


def _note_value(value: _JsonToken) -> None:
    """Makes a text, number, object or list the value of its key, and counts it in the object around
    both: `"label": "a heron"` adds "label" to the keys with a text. The counts say later which keys
    are dropped.
    """
    key = value.key
    container = value.container
    # an entry of a list has no key in its own container
    if key is None or container is None or key.container is not container:
        return
    # only the first value behind a key is its value
    if key.value_of_key:
        return
    key.value_of_key = value
    if value.kind == "text":
        container.texts.append(key.content)
        if _SENTENCE_LIKE.match(value.content):
            container.has_sentence = True
        # the list around this object counts how many of its objects have the key
        if container.within:
            container.within.objects_with_text[key.content] += 1
    elif value.kind == "value":
        container.other_values += 1


def _without_syntax(text: str, tokens: Sequence[_JsonToken]) -> Iterator[Piece]:
    """Yields the content of JSON tokens as pieces, and drops the syntax around the content.

    A separator is put between two contents: `{"colour": "red", "animals": ["a heron", "a boat"]}`
    gives "colour: red;\\nanimals: a heron, a boat".

    A Piece is (start, end) for kept characters, (start, end, kind) for dropped ones, and (text,
    offset) for a text that is put there.
    """
    separator = "\n" if tokens[0].start else ""  # the text to put before the next content
    at = tokens[0].start  # the offset up to which the JSON is yielded
    for token in tokens:
        is_place = _is_of_place(token)
        dropped_as = BOXES if is_place else JSON
        is_kept = _is_kept(token, is_place)
        if is_kept:
            yield at, token.content_start, dropped_as  # the syntax before the content
            yield separator, token.content_start
            yield from _with_breaks(text, token.content_start, token.content_end)
            separator = ""
            at = token.content_end
        # choose the separator before the next content
        if is_kept and token.kind == "key":
            yield ": ", token.content_end
        elif is_kept:
            separator = _separator_after(token)
        elif token.kind == "close" and separator == ", ":
            separator = ";\n"  # the last value of a list is read
        # the syntax behind the content, or the whole token if it is not kept
        yield at, token.end, dropped_as
        at = token.end


def _is_of_place(token: _JsonToken) -> bool:
    """Returns whether a token is part of a box or another place: every token of
    `"bbox_2d": [4, 8, 90, 200]`.
    """
    key = token if token.kind == "key" else token.key
    if key is None or not _PLACE_KEY.match(key.content):
        return False
    # The last "}" of `{"box": [4, 8, 90, 200]}` follows the key "box", too. This bracket closes the
    # object that has the key, and is no part of the box.
    closes_object = token.kind == "close" and token.container is key.container
    return not closes_object


def _separator_after(value: _JsonToken) -> str:
    """Returns the text to put between a value and the next content: ", " in a list, and ";" with a
    line break in an object.
    """
    # a text that ends with a sign of punctuation needs no further sign
    if value.content[-1] in ".!?;:,":
        return "\n"
    in_object = value.container is not None and value.container.opened == "{"
    return ";\n" if in_object else ", "


def _with_breaks(text: str, start: int, end: int) -> Iterator[Piece]:
    r"""Yields the characters [start, end) of the text, with the escapes of breaks replaced.

    A line break replaces "\n" and "\r", and a space replaces "\t". Models also write LaTeX such as
    "\nabla" and "\times" in JSON. A command of LaTeX is kept.

    A Piece is (start, end) for kept characters, (start, end, kind) for dropped ones, and (put,
    offset) for characters that the reader is shown in their place.
    """
    at = start
    for escape in _ESCAPED_BREAK.finditer(text, start, end):
        if is_command(escape[1] + escape[2]):
            continue
        begin = escape.start()
        yield at, begin
        yield begin, begin + 2, JSON
        yield " " if escape[1] == "t" else "\n", begin
        at = begin + 2
    yield at, end


def _is_kept(token: _JsonToken, is_place: bool) -> bool:
    """Returns whether a token is a key, text or value about the picture, which stays in the text.

    `{"label": "a heron", "score": 0.9}` keeps only "a heron". The key "label" only names a field.
    The number 0.9 is no count of things in the picture, but describes the record. So "score" is
    dropped with its number.

    is_place: whether the token belongs to a box or another place.
    """
    has_content = token.kind in ("key", "text", "value") and token.content_start < token.content_end
    if not has_content:
        return False
    # the numbers of a box are dropped, but "the left one" of "box": "the left one" is kept
    if is_place:
        return token.kind != "key" and not _NUMBERS_ALONE.fullmatch(token.content)
    # the entries of a list are kept
    container = token.container
    if container is None or container.opened == "[":
        return True
    # within an object, the value decides about itself and about its key
    value = token.value_of_key if token.kind == "key" else token
    if value is None:
        return False
    # a number or truth value stays or goes together with its key
    if value.kind == "value":
        return not container.is_about_the_record(value.content)
    if token.kind == "key" and value.kind == "text":
        return not container.names_a_field(token.content)
    return True


def value_end(text: str, at: int) -> tuple[int, int]:
    """Returns the characters [start, end) of the JSON value that starts at the character `at`.

    The range of a text excludes the quotation marks. The range of an object or a list includes the
    brackets. Without a value at `at`, the range is empty.
    """
    token = _JSON_TOKEN.match(text, at)
    if token is None:
        return at, at
    if token["text"] is not None:
        return token.span("text")
    if token["open"]:
        return at, _json_tokens(text, at)[-1].end
    return at, token.end()
