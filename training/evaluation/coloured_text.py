"""A text with the worth of its words made visible: cut into coloured pieces, and drawn as one SVG.

    segments("A red circle.", verdict.spans)      # [Segment(0, 2, "A ", None, ()), Segment(2, 5, "red", 0.0, ...), ...]
    span_picture("docs/spans.svg", completion, verdict.spans, title="A red circle above a blue square")

Offsets are code points, as everywhere in Python. Colours come with an underline style: no reader depends on hue.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from pathlib import Path

from rewards.verdict import Span


@dataclass(frozen=True, slots=True)
class Segment:
    """Characters [start, end) of a text, under the same spans throughout.

    score: the lowest of those spans, None where there are none. notes: theirs, in span order. marked: inside a mark.
    """

    start: int
    end: int
    text: str
    score: float | None
    notes: tuple[str, ...]
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Level:
    """How one of five steps of score looks, on white and on black. `line` is a CSS border style, `dash` the SVG's."""

    name: str
    fill: str
    edge: str
    dark_fill: str
    dark_edge: str
    line: str
    width: int
    dash: str


LEVELS = (  # vermilion to bluish green (Okabe and Ito), told apart by every common colour vision
    Level("wrong", "#ffc9ad", "#b8430b", "#6e2a0c", "#ff9460", "solid", 3, ""),
    Level("rather wrong", "#ffe6d8", "#d2733f", "#4a2716", "#e28a5e", "solid", 2, ""),
    Level("unsure", "#f6f0cf", "#9a8410", "#3d3712", "#d3bd4c", "dashed", 2, "5 3"),
    Level("rather right", "#e0f3ec", "#58a88c", "#15382d", "#5cb899", "dotted", 2, "1.5 2.5"),
    Level("right", "#bfe8d9", "#00795a", "#0c4d3b", "#3fd0a4", "dotted", 2, "1.5 2.5"),
)


def level(score: float) -> int:
    """The step of LEVELS a score in [0, 1] falls on: the nearest, so that ratings 1 to 5 are the steps themselves."""
    return int(score * (len(LEVELS) - 1) + 0.5)


def segments(text: str, spans: Sequence[Span], marks: Sequence[tuple[int, int]] = ()) -> list[Segment]:
    """`text` cut wherever a span or a mark [start, end) begins or ends; the pieces, joined, are `text` again.

    Spans may overlap and be nested: on each character the lowest score counts. Raises ValueError for a span or mark
    that is not inside the text.
    """
    ranges = [(span.start, span.end) for span in spans] + list(marks)
    for start, end in ranges:
        if not 0 <= start < end <= len(text):
            raise ValueError(f"got a span from {start} to {end}, text has {len(text)} characters")
    borders = sorted({0, len(text), *(border for pair in ranges for border in pair)})
    pieces = []
    for start, end in pairwise(borders):
        here = [span for span in spans if span.start <= start and end <= span.end]
        pieces.append(
            Segment(
                start=start,
                end=end,
                text=text[start:end],
                score=min((span.score for span in here), default=None),
                notes=tuple(span.note for span in here if span.note),
                marked=any(low <= start and end <= high for low, high in marks),
            )
        )
    return pieces


def span_picture(
    path: str | Path, text: str, spans: Sequence[Span], title: str = "", columns: int = 78, size: int = 16
) -> None:
    """Write `text` with its spans coloured as an SVG: lines of at most `columns` cells, letters of `size` pixels.

    `title` stands small above the text, the legend below it. Self-contained: no script, no font but the reader's
    monospaced one, a white ground for dark pages. Spans as in `segments`.
    """
    cell, line, top = 0.6 * size, 2.0 * size, (2.6 if title else 1.0) * size
    places = layout(text, columns)
    drawn = [f'<text x="{size}" y="{1.5 * size:.1f}" font-size="{0.8 * size:.1f}" fill="#57606a">{clean(title)}</text>']
    for segment in segments(text, spans):
        for row, run in groupby(range(segment.start, segment.end), key=lambda i: places[i][0]):
            indices = list(run)
            piece = text[indices[0] : indices[-1] + 1].rstrip("\n")
            width = sum(cells(character) for character in piece) * cell
            drawn.append(
                draw_piece(piece, segment.score, size + places[indices[0]][1] * cell, top + row * line, width, size)
            )
    bottom = top + (places[-1][0] + 1 if places else 1) * line
    x, y = 1.0 * size, bottom + 0.5 * size
    for i, look in enumerate(LEVELS):
        wide = 0.48 * size * len(look.name)
        drawn.append(draw_piece(look.name, i / (len(LEVELS) - 1), x, y, wide, 0.8 * size))
        x += wide + size
    width, height = columns * cell + 2 * size, bottom + 2.5 * size
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="ui-monospace, Menlo, Consolas, monospace" fill="#1f2328">'
        f"<title>{clean(title or text)}</title>"
        f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="8" fill="#fff" stroke="#d0d7de"/>'
        f"{''.join(drawn)}</svg>\n"
    )
    Path(path).write_text(svg, encoding="utf-8")


def layout(text: str, columns: int) -> list[tuple[int, int]]:
    """(row, column) of every character in lines of `columns` cells, broken at spaces; longer words are cut."""
    places = []
    row = column = 0
    for word in re.findall(r"\n|[^\S\n]+|\S+", text):
        if column + sum(cells(character) for character in word) > columns and not word.isspace():
            row, column = row + (column > 0), 0
        for character in word:
            if column + cells(character) > columns and not word.isspace():
                row, column = row + 1, 0
            places.append((row, column))
            column += cells(character)
        if word == "\n":
            row, column = row + 1, 0
    return places


def draw_piece(text: str, score: float | None, x: float, y: float, width: float, size: float) -> str:
    """One piece of a line as SVG: its ground and underline, and its letters stretched to exactly `width` pixels."""
    if not text.strip():
        return ""
    letters = (
        f'<text x="{x:.1f}" y="{y + size:.1f}" font-size="{size:.1f}" textLength="{max(width, 1):.1f}" '
        f'lengthAdjust="spacingAndGlyphs" xml:space="preserve">{clean(text)}</text>'
    )
    if score is None:
        return letters
    look, below = LEVELS[level(score)], y + 1.45 * size
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{1.45 * size:.1f}" fill="{look.fill}"/>'
        f'<line x1="{x:.1f}" y1="{below:.1f}" x2="{x + width:.1f}" y2="{below:.1f}" stroke="{look.edge}" '
        f'stroke-width="{look.width}" stroke-dasharray="{look.dash or "none"}"/>{letters}'
    )


def cells(character: str) -> int:
    """Terminal cells a character takes: 2 for wide ones (CJK, emoji), 0 for what combines with the one before."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clean(text: str) -> str:
    """`text` escaped for XML and legible."""
    return escape(legible(text))


def legible(text: str) -> str:
    """`text` with what neither XML nor HTML can hold (control characters, lone surrogates) as U+FFFD, each as one."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
