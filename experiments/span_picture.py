"""A text with its spans coloured, as one SVG: the picture at the top of README.md.

span_picture("spans.svg", completion, verdict.spans, (reference, verdict.left_out))
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

from spanreward.rewards.base.verdict import Span
from spanreward.rewards.base.verdict_html import (
    COLOURS_OF_VALUES,
    legible_in_html,
    shade_of_score,
    text_segments,
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A piece of SVG with its size in pixels."""

    width: int
    height: int
    svg: str


def span_picture(
    path: str | Path,
    text: str,
    spans: Sequence[Span],
    reference: tuple[str, Sequence[Span]] = ("", ()),
    drawing: Drawing | None = None,
    columns: int = 78,
    size: int = 16,
) -> None:
    """Write `text` with its spans coloured as an SVG: lines of at most `columns` cells, letters of
    `size` pixels.

    reference: what `text` is compared with and what is missed there, smaller below it. drawing:
    what they describe, left of them. Self-contained: no script, no font but the reader's monospaced
    one, a white ground for dark pages. Spans as in `text_segments`.
    """
    left = size + (drawing.width + size if drawing else 0)
    y, drawn = 0.9 * size, []
    other, missed = reference
    small = 0.8 * size
    for heading, written, marked, letters in (
        ("completion", text, spans, size),
        ("reference", other, missed, small),
    ):
        if written:
            drawn.append(heading_of(heading, left, y + small, small))
            y += 1.5 * small
            pieces, lines = draw_text(
                written, marked, left, y, int(columns * size / letters), letters
            )
            drawn += pieces
            y += (2.0 * lines + 0.4) * letters
    bottom = max(y, drawing.height + 1.5 * size if drawing else 0.0)
    x = 1.0 * size
    for i, look in enumerate(COLOURS_OF_VALUES):
        wide = 0.48 * size * len(look.name)
        drawn.append(
            draw_piece(
                look.name, i / (len(COLOURS_OF_VALUES) - 1), x, bottom + 0.4 * size, wide, small
            )
        )
        x += wide + size
    if drawing:
        drawn.append(f'<g transform="translate({size} {size})">{drawing.svg}</g>')
    width, height = max(left + columns * 0.6 * size + size, x), bottom + 2.4 * size
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="ui-monospace, Menlo, Consolas, monospace" fill="#1f2328">'
        f"<title>{clean(text)}</title>"
        f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="8" fill="#fff" stroke="#d0d7de"/>'
        f"{''.join(drawn)}</svg>\n"
    )
    Path(path).write_text(svg, encoding="utf-8")


def heading_of(text: str, x: float, y: float, size: float) -> str:
    return f'<text x="{x}" y="{y:.1f}" font-size="{size:.1f}" fill="#57606a">{clean(text)}</text>'


def draw_text(
    text: str, spans: Sequence[Span], x: float, y: float, columns: int, size: float
) -> tuple[list[str], int]:
    """Returns the pieces of SVG, and the number of lines."""
    places = layout(text, columns)
    drawn = []
    for segment in text_segments(text, spans):
        for row, run in groupby(range(segment.start, segment.end), key=lambda i: places[i][0]):
            indices = list(run)
            piece = text[indices[0] : indices[-1] + 1].rstrip()
            width = sum(cells(character) for character in piece) * 0.6 * size
            left = x + places[indices[0]][1] * 0.6 * size
            drawn.append(draw_piece(piece, segment.score, left, y + row * 2.0 * size, width, size))
    return drawn, places[-1][0] + 1 if places else 1


def layout(text: str, columns: int) -> list[tuple[int, int]]:
    """(row, column) of every character in lines of `columns` cells, broken at spaces; longer words
    are cut.
    """
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


def draw_piece(
    text: str, score: float | None, x: float, y: float, width: float, size: float
) -> str:
    """One piece of a line as SVG: its ground and underline, and its letters stretched to exactly
    `width` pixels.
    """
    if not text.strip():
        return ""
    letters = (
        f'<text x="{x:.1f}" y="{y + size:.1f}" font-size="{size:.1f}" '
        f'textLength="{max(width, 1):.1f}" lengthAdjust="spacingAndGlyphs" '
        f'xml:space="preserve">{clean(text)}</text>'
    )
    if score is None:
        return letters
    look, below = COLOURS_OF_VALUES[shade_of_score(score)], y + 1.45 * size
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{1.45 * size:.1f}" '
        f'fill="{look.fill}"/><line x1="{x:.1f}" y1="{below:.1f}" x2="{x + width:.1f}" '
        f'y2="{below:.1f}" stroke="{look.edge}" stroke-width="{look.width}" '
        f'stroke-dasharray="{look.dash or "none"}"/>{letters}'
    )


def cells(character: str) -> int:
    """Terminal cells a character takes: 2 for wide ones (CJK, emoji), 0 for what combines with the
    one before.
    """
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clean(text: str) -> str:
    """`text` escaped for XML and legible."""
    return escape(legible_in_html(text))
