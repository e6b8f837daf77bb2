r"""Turns a written text into the plain text that metrics and judges read: content is kept, and
markup is dropped.

    reading = read_text("A **red** kite<box>[[12, 30, 45, 60]]</box> flies.</s>")
    reading.plain                       # "A red kite flies."
    reading.written(2, 5)               # (4, 7): the offsets of "red" in the written text
    reading.unread    # ((2, 4, "Markdown"), (7, 9, "Markdown"), (14, 45, "boxes"), ...)

Dropped: Markdown, HTML tags, boxes, special tokens, reasoning, the syntax of JSON, and labels such
as "Caption:". Text that a reader is not shown is dropped, too: comments, struck-out text,
attributes, and targets of links. Kept: all text that a reader is shown. A title or a JSON key is
kept if it has content ("Not in the picture:").

Reading takes linear time. Removed markup may join the signs around it to new markup ("<<b>b>").
Spaces then replace the signs of the new markup, so that a second reading changes nothing.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from spanreward.rewards.text.answer_beside import without_answer
from spanreward.rewards.text.json_text import without_json
from spanreward.rewards.text.latex import without_latex
from spanreward.rewards.text.markers import MARKER_SIGN
from spanreward.rewards.text.markup import without_markup
from spanreward.rewards.text.pieces import INVISIBLE, MARKDOWN, QUOTES, Piece
from spanreward.rewards.text.shown import parts_of
from spanreward.rewards.text.token_marks import without_token_marks

_QUOTED_WHOLE = re.compile(
    r"""\s*["“”„«»「『](?P<content>[^"“”„«»「」『』]*)["”“»«」』](?P<stop>[.!]?)\s*"""
)
# Characters that show nothing and can be dropped: marks of byte order and direction, soft hyphens,
# places for a line break. Zero-width joiners are kept: emoji and some scripts need them.
_UNSEEN_RANGES = "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_INVISIBLE_RUN = re.compile(f"[{_UNSEEN_RANGES}]+")
_MAYBE_MARKED = re.compile(
    rf"[{_UNSEEN_RANGES}]|"
    r"[<*_`\[{}(【|~\\&$◁\u0120\u010a\u2581\u2500-\u257f]|^[^\S\n]*(?:[-+>=#\"“”„«»「『\u2460-\u2473]|\(?\d{1,2}[.)]|[=-]{3}"
    r"|\w[\w /&'\u2019!,.()\#-]{0,60}(?:[:\uff1a]|[^\S\n][\u2014\u2013-][^\S\n])"
    rf"|{MARKER_SIGN}[^\S\n]|(?:user|system|assistant)$)|assistantfinal",
    re.MULTILINE,
)
# a sign that could be part of new markup
_SIGN_LEFT_BEHIND = re.compile(r"[<>*_`\[\](){}|~\\#&◁$!]")


Stage = Callable[[str], Iterator[Piece]]
MAX_TRIALS = 2  # attempts to settle a text, before spaces replace all signs of markup


@dataclass(frozen=True, slots=True)
class Reading:
    """A plain text, and the offsets of its characters in the written text.

    Attributes:
        plain: the plain text.
        origin: for each plain character, the offset of the written character that it comes from.
        unread: the written characters that were dropped, as (start, end, kind), sorted and
            disjoint. Each range begins and ends with a visible character.
    """

    plain: str
    origin: Sequence[int]
    unread: tuple[tuple[int, int, str], ...] = ()

    def written(self, start: int, end: int) -> tuple[int, int]:
        """Returns the written characters [start, end) of the plain characters [start, end).

        The plain range must have at least one character.
        """
        return self.origin[start], self.origin[end - 1] + 1


def read_text(text: str, answers: bool = False) -> Reading:
    """Returns the plain text of a written text, with the origin of each character: "A **red** kite"
    gives "A red kite".

    answers: whether an answer in tags beside a description in tags is kept (answer_beside.py).
    """
    # a text without signs of markup is plain
    whole = Reading(text, range(len(text)))
    if not _MAYBE_MARKED.search(text):
        return whole
    kinds = [""] * len(text)  # the kind of each dropped character, "" for a kept character
    stages = WITH_ANSWERS if answers else READING_STAGES
    first_reading = _read_in_stages(whole, kinds, stages)
    if first_reading.plain == text:
        return whole
    reading = _stable_reading(first_reading, kinds, stages)
    # a dropped character with a visible replacement counts as read
    for character, place in zip(reading.plain, reading.origin, strict=True):
        if not character.isspace():
            kinds[place] = ""
    return Reading(reading.plain, reading.origin, tuple(_dropped_ranges(text, kinds)))


def _stable_reading(reading: Reading, kinds: list[str], stages: Sequence[Stage]) -> Reading:
    """Returns a reading that a further reading would not change.

    Dropped markup may leave signs that form new markup: "<<b>b>" leaves "<b>". Spaces replace such
    signs.

    reading: the text after a first reading. kinds: the kind of each dropped character, which this
    function completes.
    """
    for _ in range(MAX_TRIALS):
        new_markup = _kinds_of_new_markup(reading, len(kinds), stages)
        if new_markup is None:
            return reading
        without_signs = _without_signs_left_behind(reading, new_markup, kinds)
        reading = _read_in_stages(without_signs, kinds, stages)
    if _kinds_of_new_markup(reading, len(kinds), stages) is None:
        return reading
    # the text still has new markup: replace all signs that could be markup
    every_character = [MARKDOWN] * len(kinds)
    without_signs = _without_signs_left_behind(reading, every_character, kinds)
    return _read_in_stages(without_signs, kinds, stages)


def _kinds_of_new_markup(
    reading: Reading, length: int, stages: Sequence[Stage]
) -> list[str] | None:
    """Returns, for each written character, the kind with which a further reading would drop the
    character, "" for other characters. Returns None if a further reading changes nothing.

    length: the number of characters of the written text.
    """
    kinds = [""] * length
    further_reading = _read_in_stages(reading, kinds, stages)
    return None if further_reading.plain == reading.plain else kinds


def _without_signs_left_behind(
    reading: Reading, new_markup: Sequence[str], kinds: list[str]
) -> Reading:
    """Returns the reading with spaces in place of the signs that are new markup: the signs of
    "<b>", which dropped markup has left.

    new_markup: for each written character, the kind of new markup that it is part of, or "". Each
    replaced sign gets its kind in `kinds`, too.
    """
    characters = list(reading.plain)
    for sign in _SIGN_LEFT_BEHIND.finditer(reading.plain):
        place = reading.origin[sign.start()]
        if new_markup[place]:
            characters[sign.start()] = " "
            kinds[place] = kinds[place] or new_markup[place]
    return Reading("".join(characters), reading.origin)


def _read_in_stages(reading: Reading, kinds: list[str], stages: Sequence[Stage]) -> Reading:
    """Returns the reading after all stages.

    White space before markup at the end of the text is dropped with the markup. Each dropped
    character without a kind gets its kind in `kinds`.
    """
    last = list(reading.origin[-1:])
    for stage in stages:
        reading = _after_stage(reading, stage, kinds)
    keeps_end = list(reading.origin[-1:]) == last
    end = len(reading.plain)
    # if the last character was dropped, drop the white space before the last character, too
    if not keeps_end:
        end = len(reading.plain.rstrip())
    return Reading(reading.plain[:end], reading.origin[:end])


def _after_stage(reading: Reading, stage: Stage, kinds: list[str]) -> Reading:
    """Returns the reading after one stage, and writes the kind of each dropped character into
    `kinds`.

    stage: a function that divides a text into pieces: (start, end) for kept characters, (start,
    end, kind) for dropped characters, and (text, place) for a new text that comes from the
    character at `place`. kinds: by the character's offset in the text as written.
    """
    text = reading.plain
    origin = reading.origin
    pieces = list(stage(text))
    # most stages change nothing in most texts
    if pieces == [(0, len(text))]:
        return reading
    parts: list[str] = []
    places: list[int] = []
    for piece in pieces:
        if len(piece) == 3:
            # dropped characters: the kind of the first stage counts
            start, end, kind = piece
            for place in origin[start:end]:
                kinds[place] = kinds[place] or kind
        elif isinstance(piece[0], str):
            # a new text: all its characters have the same origin
            put, place = piece
            parts.append(put)
            places += [origin[place]] * len(put)
        else:
            # kept characters
            start, end = piece
            parts.append(text[start:end])
            places += origin[start:end]
    return Reading("".join(parts), places)


def _dropped_ranges(text: str, kinds: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yields (start, end, kind) for each run of dropped characters of one kind.

    The ranges have no white space at their ends.
    """
    start = 0
    for kind, run in groupby(kinds):
        end = start + sum(1 for _ in run)
        inner = text[start:end].strip()
        if kind and inner:
            # `inner` begins at the run's first character that is no white space
            begin = text.index(inner[0], start)
            yield begin, begin + len(inner), kind
        start = end


def _without_other_parts(text: str) -> Iterator[Piece]:
    """Yields the pieces of the text, without reasoning, turns of other speakers and text after the
    answer's end.
    """
    for start, end, kind in parts_of(text):
        if kind:
            yield start, end, kind
        else:
            yield start, end


def _without_invisible(text: str) -> Iterator[Piece]:
    """Yields the pieces of the text, without invisible characters such as the soft hyphen."""
    at = 0
    for run in _INVISIBLE_RUN.finditer(text):
        yield at, run.start()
        yield run.start(), run.end(), INVISIBLE
        at = run.end()
    yield at, len(text)


def _without_quotes(text: str) -> Iterator[Piece]:
    """Yields the pieces of the text, without quotation marks around the whole text: '"A dog."'
    gives "A dog.", and '"A dog".' gives "A dog." too.
    """
    whole = _QUOTED_WHOLE.fullmatch(text)
    if whole is None:
        yield 0, len(text)
        return
    yield 0, whole.start("content"), QUOTES
    yield whole.span("content")
    yield whole.end("content"), whole.start("stop"), QUOTES
    yield whole.span("stop")  # the full stop behind the quotation marks


WITH_ANSWERS: tuple[Stage, ...] = (
    _without_invisible,
    without_token_marks,
    _without_other_parts,
    without_json,
    without_latex,
    without_markup,
    _without_quotes,
)
# answers are dropped before JSON and LaTeX are read, and after the parts that no reader is shown
READING_STAGES = (*WITH_ANSWERS[:3], without_answer, *WITH_ANSWERS[3:])
