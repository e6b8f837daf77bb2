r"""The plain text that every metric and every judge reads of what was written: content stays, and
markup goes.

    reading = read_text("A **red** kite<box>[[12, 30, 45, 60]]</box> flies.</s>")
    reading.plain                       # "A red kite flies."
    reading.written(2, 5)               # (4, 7): where "red" was written

Markup earns and costs nothing: Markdown, HTML tags, grounding, special tokens, reasoning, the
syntax of JSON, labels such as "Caption:". What a reader is not shown reaches no judge: comments,
struck-out text, attributes, targets of links. What a reader is shown stays, also a title or a JSON
key that says more than which part of a description follows ("Not in the picture:"). Texts are read
in one pass, in linear time. Where removed markup leaves new markup behind ("<<b>b>"), spaces
replace its signs. So a second reading changes nothing. What was not read is known:

    reading.unread    # ((2, 4, "Markdown"), (7, 9, "Markdown"), (14, 45, "boxes"), ...)
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from spanreward.rewards.text.answer_beside import without_answer
from spanreward.rewards.text.json_text import without_json
from spanreward.rewards.text.latex import without_latex
from spanreward.rewards.text.markers import SIGN
from spanreward.rewards.text.markup import without_markup
from spanreward.rewards.text.pieces import INVISIBLE, MARKDOWN, QUOTES, Piece
from spanreward.rewards.text.shown import parts_of
from spanreward.rewards.text.token_marks import without_token_marks

_QUOTED_WHOLE = re.compile(r"""\s*["“”„«»「『]([^"“”„«»「」『』]*)["”“»«」』]([.!]?)\s*""")
# Characters without a width that join nothing: marks of the byte order and of the direction, soft
# hyphens, breaks of lines. Joiners belong to emoji and to letters of some scripts.
_UNSEEN = "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_INVISIBLE = re.compile(f"[{_UNSEEN}]+")
_MAYBE_MARKED = re.compile(
    rf"[{_UNSEEN}]|"
    r"[<*_`\[{}(【|~\\&$◁\u0120\u010a\u2581\u2500-\u257f]|^[^\S\n]*(?:[-+>=#\"“”„«»「『\u2460-\u2473]|\(?\d{1,2}[.)]|[=-]{3}"
    r"|\w[\w /&'\u2019!,.()\#-]{0,60}(?:[:\uff1a]|[^\S\n][\u2014\u2013-][^\S\n])"
    rf"|{SIGN}[^\S\n]|(?:user|system|assistant)$)|assistantfinal",
    re.MULTILINE,
)
_SIGN_LEFT_BEHIND = re.compile(r"[<>*_`\[\](){}|~\\#&◁$!]")


Stage = Callable[[str], Iterator[Piece]]
TRIALS = 2  # readings of what a reading left, before all signs of markup go


@dataclass(frozen=True, slots=True)
class Reading:
    """A plain text, and where it was written.

    Attributes:
        plain: the plain text.
        origin: for each of its characters the place of the written one that it comes from, in
            order.
        unread: the written characters [start, end) that are not in it, and their kind, sorted and
            disjoint. Each begins and ends with a visible character.
    """

    plain: str
    origin: Sequence[int]
    unread: tuple[tuple[int, int, str], ...] = ()

    def written(self, start: int, end: int) -> tuple[int, int]:
        """Returns where the plain characters [start, end), at least one, were written."""
        return self.origin[start], self.origin[end - 1] + 1


def read_text(text: str, answers: bool = False) -> Reading:
    """Returns the plain text of any text, with the origin of its characters.

    A plain text is returned itself. answers: whether an answer beside a description is read too.
    """
    whole = Reading(text, range(len(text)))
    if not _MAYBE_MARKED.search(text):
        return whole
    kinds = [""] * len(text)  # of the written characters, "" for those that are read
    stages = WITH_ANSWERS if answers else STAGES
    once = _read_in_stages(whole, kinds, stages)
    if once.plain == text:
        return whole
    once = _settled(once, kinds, stages)
    # what is put for a dropped character has its place, which counts as read
    for character, place in zip(once.plain, once.origin, strict=True):
        if not character.isspace():
            kinds[place] = ""
    return Reading(once.plain, once.origin, tuple(_ranges(text, kinds)))


def _settled(once: Reading, kinds: list[str], stages: Sequence[Stage]) -> Reading:
    """Returns the reading that a further reading does not change. Signs that would now be markup
    become spaces.
    """
    for _ in range(TRIALS):
        trial = [""] * len(kinds)
        if _read_in_stages(once, trial, stages).plain == once.plain:
            return once
        blanked = _blanked(once, trial, kinds)
        once = _read_in_stages(blanked, kinds, stages)
    trial = [""] * len(kinds)
    if _read_in_stages(once, trial, stages).plain == once.plain:
        return once
    # a text that goes on making new markup loses all signs that could
    all_signs = [MARKDOWN] * len(kinds)
    blanked = _blanked(once, all_signs, kinds)
    return _read_in_stages(blanked, kinds, stages)


def _blanked(reading: Reading, trial: Sequence[str], kinds: list[str]) -> Reading:
    """Returns the reading with spaces for the signs of markup that have a kind in this trial."""
    characters = list(reading.plain)
    for sign in _SIGN_LEFT_BEHIND.finditer(reading.plain):
        place = reading.origin[sign.start()]
        if trial[place]:
            characters[sign.start()] = " "
            kinds[place] = kinds[place] or trial[place]
    return Reading("".join(characters), reading.origin)


def _read_in_stages(reading: Reading, kinds: list[str], stages: Sequence[Stage]) -> Reading:
    """Returns the reading of a plain text, without white space before what is dropped at its end.

    What is dropped gets its kind, where it has none.
    """
    last = list(reading.origin[-1:])
    for stage in stages:
        reading = _after_stage(reading, stage, kinds)
    keeps_end = list(reading.origin[-1:]) == last
    end = len(reading.plain)
    # white space at the end that the text itself had stays
    if not keeps_end:
        end = len(reading.plain.rstrip())
    return Reading(reading.plain[:end], reading.origin[:end])


def _after_stage(reading: Reading, stage: Stage, kinds: list[str]) -> Reading:
    """Returns what a stage keeps and puts. Gives what it drops its kind in `kinds`."""
    text = reading.plain
    origin = reading.origin
    pieces = list(stage(text))
    # most stages leave most texts as they are
    if pieces == [(0, len(text))]:
        return reading
    parts: list[str] = []
    places: list[int] = []
    for piece in pieces:
        if len(piece) == 3:
            # what goes: the first stage that drops a character says why
            start, end, kind = piece
            for place in origin[start:end]:
                kinds[place] = kinds[place] or kind
        elif isinstance(piece[0], str):
            # what is put: all of it comes from one place
            put, place = piece
            parts.append(put)
            places += [origin[place]] * len(put)
        else:
            # what stays
            start, end = piece
            parts.append(text[start:end])
            places += origin[start:end]
    return Reading("".join(parts), places)


def _ranges(text: str, kinds: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yields each run of characters of a kind, without white space at its ends."""
    start = 0
    for kind, run in groupby(kinds):
        end = start + sum(1 for _ in run)
        inner = text[start:end].strip()
        if kind and inner:
            begin = text.index(inner[0], start)
            yield begin, begin + len(inner), kind
        start = end


def _without_other_parts(text: str) -> Iterator[Piece]:
    """Yields the text without reasoning, turns of others and what stands after its end."""
    for start, end, kind in parts_of(text):
        if kind:
            yield start, end, kind
        else:
            yield start, end


def _without_invisible(text: str) -> Iterator[Piece]:
    """Yields the text without characters that no reader sees."""
    at = 0
    for run in _INVISIBLE.finditer(text):
        yield at, run.start()
        yield run.start(), run.end(), INVISIBLE
        at = run.end()
    yield at, len(text)


def _without_quotes(text: str) -> Iterator[Piece]:
    """Yields the text without the quotation marks around all of it."""
    whole = _QUOTED_WHOLE.fullmatch(text)
    if whole is None:
        yield 0, len(text)
        return
    yield 0, whole.start(1), QUOTES
    yield whole.span(1)
    yield whole.end(1), whole.start(2), QUOTES
    yield whole.span(2)


WITH_ANSWERS: tuple[Stage, ...] = (
    _without_invisible,
    without_token_marks,
    _without_other_parts,
    without_json,
    without_latex,
    without_markup,
    _without_quotes,
)
# answers go before JSON and LaTeX are read, and after the parts that no reader is shown
STAGES = (*WITH_ANSWERS[:3], without_answer, *WITH_ANSWERS[3:])
