"""Fills the HTML templates of this folder: the comparison's report, a step's table of spans, and a file's scores.

render("report.html.jinja", **values)             # escaped, with the functions of this file
"""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards.base.coloured_text import templates
from spanreward.rewards.base.verdict import Span
from spanreward.rewards.comparison import figures
from spanreward.rewards.comparison.figures import label, typeset

PIXELS = 128  # a picture with no larger side is kept exactly


def render(template: str, **values: Any) -> str:
    """Returns a template of this folder, filled in and escaped; what HTML cannot hold becomes U+FFFD."""
    environment = templates(Path(__file__).with_name("templates"))
    environment.globals.update(received=received, label=label, number=number, data_uri=data_uri)
    return environment.get_template(template).render(values)


def number(value: float | None, digits: int, signed: bool = False) -> str:
    return typeset(figures.number(value, digits, "+" if signed else ""))


def data_uri(image: Image.Image, largest: int = 320) -> str:
    """Returns `image` as a data: URI, shrunk to at most `largest` pixels a side. Small pictures (drawings) are a PNG,
    larger ones (mostly photographs) a JPEG.
    """
    small = image.convert("RGB")
    small.thumbnail((largest, largest))
    kind = "PNG" if max(small.size) <= PIXELS else "JPEG"
    buffer = io.BytesIO()
    small.save(buffer, kind, optimize=True)
    return f"data:image/{kind.lower()};base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def received(tokens: Sequence[tuple[int, int, float]]) -> list[Span]:
    """Returns a completion's token advantages as spans to colour: score 0.5 for an advantage of 0, 0 or 1 for that of
    the largest size in the text. tokens: (start, end, advantage); one that wrote no character gives no span.
    """
    largest = max((abs(value) for _, _, value in tokens), default=0.0) or 1.0
    return [
        Span(start, end, 0.5 + value / (2 * largest), value, "token", f"advantage {value:+.2f}", number)
        for number, (start, end, value) in enumerate(tokens)
        if start < end
    ]
