"""A text with its spans coloured, as one SVG: the picture at the top of README.md.

span_picture("docs/spans.svg", completion, verdict.spans, title="A red circle above a blue square")
"""

import re
import unicodedata
from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from spanreward.rewards.verdict import Span
from spanreward.training.evaluation.coloured_text import LEVELS, legible, level, segments


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
