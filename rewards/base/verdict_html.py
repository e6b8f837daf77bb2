"""A text with the scores of its words made visible: cut into coloured pieces, and drawn by
templates of HTML.

    segments("A red circle.", verdict.spans)
    # [Segment(0, 2, "A ", None, ()), Segment(2, 5, "red", 0.0, ...), ...]
    render("verdict.html.jinja", verdict=verdict, text="A red circle.", reference=None)  # escaped

Offsets are code points, as everywhere in Python. Every colour has an underline style too, so no
reader needs the hue.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True, slots=True)
class Segment:
    """Characters [start, end) of a text under the same spans.

    Args:
        start: the first character's offset.
        end: the offset behind the last character.
        text: the characters.
        score: the lowest of the spans' scores, None without a span.
        notes: those of the spans.
        unread: of what kind the characters are where no judge was shown them, else "".
    """

    start: int
    end: int
    text: str
    score: float | None
    notes: tuple[str, ...]
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """How one of five steps of score looks.

    Args:
        name: the step in words.
        fill: the colour behind the words, on white.
        edge: the colour of the line under them, on white.
        dark_fill: the colour behind the words, on black.
        dark_edge: the colour of the line, on black.
        line: the line's style, as in a CSS border.
        width: the line's width in pixels.
        dash: the line's SVG stroke-dasharray, "" for a solid one.
    """

    name: str
    fill: str
    edge: str
    dark_fill: str
    dark_edge: str
    line: str
    width: int
    dash: str


SHADES = (  # vermilion to bluish green (Okabe and Ito), told apart by every common colour vision
    Level("wrong", "#ffc9ad", "#b8430b", "#6e2a0c", "#ff9460", "solid", 3, ""),
    Level("rather wrong", "#ffe6d8", "#d2733f", "#4a2716", "#e28a5e", "solid", 2, ""),
    Level("unsure", "#f6f0cf", "#9a8410", "#3d3712", "#d3bd4c", "dashed", 2, "5 3"),
    Level("rather right", "#e0f3ec", "#58a88c", "#15382d", "#5cb899", "dotted", 2, "1.5 2.5"),
    Level("right", "#bfe8d9", "#00795a", "#0c4d3b", "#3fd0a4", "dotted", 2, "1.5 2.5"),
)


def level(score: float) -> int:
    """Returns the nearest step of SHADES for a score in [0, 1]; the ratings 1 to 5 are the five
    steps.
    """
    return int(score * (len(SHADES) - 1) + 0.5)


def segments(text: str, spans: Sequence[Any], unread: Sequence[Any] = ()) -> list[Segment]:
    """Cuts `text` wherever a Span or what was not read begins or ends; the joined pieces are `text`
    again.

    Spans may overlap; on each character the lowest score counts. unread: sorted and disjoint, as in
    a verdict. Raises ValueError for a span outside the text.
    """
    borders = {0, len(text)}
    for part in (*spans, *unread):
        if not 0 <= part.start < part.end <= len(text):
            raise ValueError(
                f"got a span from {part.start} to {part.end}, text has {len(text)} characters"
            )
        borders.update((part.start, part.end))
    unread_by_start = {part.start: part for part in unread}
    hidden = None  # the last unread part that began at or before the piece
    pieces = []
    for start, end in pairwise(sorted(borders)):
        hidden = unread_by_start.get(start, hidden)
        kind = ""
        if hidden and start < hidden.end:
            kind = hidden.kind
        # no span begins or ends within the piece, so it covers all of it or nothing
        covering = [span for span in spans if span.start <= start and end <= span.end]
        scores = [span.score for span in covering]
        pieces.append(
            Segment(
                start=start,
                end=end,
                text=text[start:end],
                score=min(scores, default=None),
                notes=tuple(span.note for span in covering if span.note),
                unread=kind,
            )
        )
    return pieces


def legible(text: str) -> str:
    """Returns `text` with every character that XML and HTML cannot hold (control, lone surrogate)
    as U+FFFD.
    """
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


class Html(str):
    """A piece of HTML that a notebook draws."""

    _repr_html_ = str.__str__


def render(template: str, **values: Any) -> Html:
    """Returns one of our templates, filled with the values, which are escaped."""
    return Html(templates().get_template(template).render(values))


def _legible_value(value: Any) -> Any:
    """Returns what a template writes for a value. Html, a subclass of str, stays as it is."""
    if type(value) is str:
        return legible(value)
    return value


@cache
def templates(folder: Path = TEMPLATES) -> Environment:
    """Returns jinja's environment of the folder's templates and ours.

    What HTML cannot hold becomes U+FFFD.
    """
    environment = Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_legible_value,
    )
    environment.globals.update(levels=SHADES, level=level, segments=segments)
    return environment
