"""Draws a text as HTML in which each word has the colour of its score.

    text_segments("A red circle.", verdict.spans)
    # [Segment(0, 2, "A ", None, ()), Segment(2, 5, "red", 0.0, ...), ...]
    # the page, with all texts escaped
    render_template("verdict.html.jinja", verdict=verdict, text="A red circle.", reference=None)

Offsets count code points, like the indices of Python's texts. Each colour comes with an underline
style of its own, so readers who cannot see the colours can tell the scores apart.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATE_FOLDER = Path(__file__).with_name("templates")


@dataclass(frozen=True, slots=True)
class Segment:
    """Characters [start, end) of a text that are all covered by the same spans.

    Args:
        start: the offset of the first character.
        end: the offset behind the last character.
        text: the characters.
        score: the lowest score of the covering spans, None if no span covers the characters.
        notes: the notes of the covering spans.
        unread: the kind of `Unread`, such as "reasoning", if no judge was shown the characters;
            otherwise "".
    """

    start: int
    end: int
    text: str
    score: float | None
    notes: tuple[str, ...]
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """The look of words with a score near one of five steps (0, 0.25, 0.5, 0.75, 1).

    Args:
        name: the step in words.
        fill: the colour behind the words, on a white page.
        edge: the colour of the line under the words, on a white page.
        dark_fill: the colour behind the words, on a black page.
        dark_edge: the colour of the line, on a black page.
        line: the line's style, a value of CSS `border-style`.
        width: the line's width in pixels.
        dash: the line's SVG `stroke-dasharray`, "" for a solid line.
    """

    name: str
    fill: str
    edge: str
    dark_fill: str
    dark_edge: str
    line: str
    width: int
    dash: str


# From vermilion to bluish green (Okabe and Ito), which people with any common colour vision can
# tell apart
COLOURS_OF_VALUES = (
    Level("wrong", "#ffc9ad", "#b8430b", "#6e2a0c", "#ff9460", "solid", 3, ""),
    Level("rather wrong", "#ffe6d8", "#d2733f", "#4a2716", "#e28a5e", "solid", 2, ""),
    Level("unsure", "#f6f0cf", "#9a8410", "#3d3712", "#d3bd4c", "dashed", 2, "5 3"),
    Level("rather right", "#e0f3ec", "#58a88c", "#15382d", "#5cb899", "dotted", 2, "1.5 2.5"),
    Level("right", "#bfe8d9", "#00795a", "#0c4d3b", "#3fd0a4", "dotted", 2, "1.5 2.5"),
)


def shade_of_score(score: float) -> int:
    """Returns the index in COLOURS_OF_VALUES of the step nearest to a score in [0, 1]: 0.7 gives 3.
    A judge's ratings 1 to 5 give the five steps.
    """
    return int(score * (len(COLOURS_OF_VALUES) - 1) + 0.5)


def text_segments(text: str, spans: Sequence[Any], unread: Sequence[Any] = ()) -> list[Segment]:
    """Returns the pieces of `text`, cut at each start and end of a span or an unread part. The
    joined pieces are `text` again: "A red hat" with the span (2, 5) gives "A ", "red" and " hat".

    spans: may overlap; then the lowest score counts for a piece. unread: the `unread` of a verdict,
    sorted and disjoint. Raises ValueError for a span or an unread part outside the text.
    """
    offsets = _cut_offsets(text, [*spans, *unread])
    unread_by_start = {part.start: part for part in unread}
    hidden = None  # the last unread part that began at or before the piece
    pieces = []
    for start, end in pairwise(offsets):
        hidden = unread_by_start.get(start, hidden)
        kind = ""
        if hidden and start < hidden.end:
            kind = hidden.kind
        # no span begins or ends inside the piece, so each span covers all of the piece or nothing
        covering = [span for span in spans if span.start <= start and end <= span.end]
        pieces.append(
            Segment(
                start=start,
                end=end,
                text=text[start:end],
                score=min((span.score for span in covering), default=None),
                notes=tuple(span.note for span in covering if span.note),
                unread=kind,
            )
        )
    return pieces


def _cut_offsets(text: str, parts: Sequence[Any]) -> list[int]:
    """Returns the offsets at which the text is cut, sorted: its start, its end, and the start and
    end of each part. "A red hat" with the part (2, 5) gives [0, 2, 5, 9].

    parts: spans or unread parts. Raises ValueError for a part outside the text.
    """
    borders = {0, len(text)}
    for part in parts:
        if not 0 <= part.start < part.end <= len(text):
            raise ValueError(
                f"got a span from {part.start} to {part.end}, text has {len(text)} characters"
            )
        borders.update((part.start, part.end))
    return sorted(borders)


def legible_in_html(text: str) -> str:
    """Returns `text` with U+FFFD in place of every character that XML and HTML cannot hold: control
    characters and lone surrogates. "a\\x07b" gives "a\\ufffdb".
    """
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


class Html(str):
    """A text of HTML, which a notebook draws."""

    _repr_html_ = str.__str__


def render_template(template: str, **values: Any) -> Html:
    """Returns the HTML of a template of this package. template: its file name. values: the
    variables of the template, which are escaped.
    """
    return Html(template_environment().get_template(template).render(values))


def _legible_value(value: Any) -> Any:
    """Returns the value that a template writes for a variable: a text becomes `legible_in_html`,
    and any other value, including Html, stays as it is.
    """
    if type(value) is str:
        return legible_in_html(value)
    return value


@cache
def template_environment(folder: Path = TEMPLATE_FOLDER) -> Environment:
    """Returns jinja's environment with the templates of the folder and of this package. If the
    folder and this package have a template of the same name, the folder's template is used.

    The environment writes U+FFFD for characters that HTML cannot hold.
    """
    environment = Environment(
        loader=FileSystemLoader([folder, TEMPLATE_FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_legible_value,
    )
    environment.globals.update(
        levels=COLOURS_OF_VALUES, level=shade_of_score, segments=text_segments
    )
    return environment
