"""Fills the HTML templates of this folder: the comparison's report, a step's table of spans, and a
file's scores.

render("report.html.jinja", **values)             # escaped, with the functions of this file
"""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards.base.verdict import Span
from spanreward.rewards.base.verdict_html import templates
from spanreward.rewards.comparison import figures
from spanreward.rewards.comparison.figures import label, typeset
from spanreward.rewards.files.outputs import write_whole
from spanreward.rewards.rows.pictures import opened

MAX_EXACT_PIXELS = 128  # of a side: a picture up to this size is kept exactly


def render(template: str, **values: Any) -> str:
    """Returns a template of this folder, filled in and escaped; what HTML cannot hold becomes
    U+FFFD.
    """
    environment = templates(Path(__file__).with_name("templates"))
    # the functions that the templates call
    environment.globals.update(
        received=received, label=label, number=number, data_uri=data_uri, opened=opened
    )
    return environment.get_template(template).render(values)


def write_rendered(path: Path, template: str, **values: Any) -> str:
    """Writes the page whole or not at all, and returns it. Raises OSError."""
    page = render(template, **values)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page)
    return page


def check_page(path: Path | None, overwrite: bool, command: str) -> None:
    """Raises ValueError where --html names a file that is no page of this command, which writing
    would destroy. overwrite: whether that is wanted. command: such as "score".
    """
    # what the command's own template begins with
    start = f"<!doctype html><!-- spanreward {command} -->".encode()
    if overwrite or path is None or not path.is_file():
        return
    if not path.read_bytes().startswith(start):
        raise ValueError(f"{path} exists, and is no page of this command: choose another file.")


def number(value: float | None, digits: int, signed: bool = False) -> str:
    """Returns a figure with its digits, typeset; signed: with a plus sign where it is positive."""
    sign = "+" if signed else ""
    return typeset(figures.number(value, digits, sign))


def data_uri(image: Image.Image, largest: int = 320) -> str:
    """Returns `image` as a data: URI, at most `largest` pixels a side: a small one as PNG, a larger
    as JPEG.
    """
    small = image.convert("RGB")
    # it shrinks a picture, and never enlarges one
    small.thumbnail((largest, largest))
    kind = "PNG" if max(small.size) <= MAX_EXACT_PIXELS else "JPEG"
    buffer = io.BytesIO()
    small.save(buffer, kind, optimize=True)
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f"data:image/{kind.lower()};base64,{encoded}"


def received(tokens: Sequence[tuple[int, int, float]]) -> list[Span]:
    """Returns a completion's token advantages as spans to colour: score 0.5 for an advantage of 0,
    0 or 1 for that of the largest size in the text. tokens: (start, end, advantage); one that wrote
    no character gives no span.
    """
    sizes = [abs(advantage) for _, _, advantage in tokens]
    # 1 where all advantages are 0, and nothing is to be divided by
    largest = max(sizes, default=0.0) or 1.0
    spans = []
    for place, (start, end, advantage) in enumerate(tokens):
        if start < end:
            # from [-largest, largest] to [0, 1]
            score = 0.5 + advantage / (2 * largest)
            note = f"advantage {advantage:+.2f}"
            span = Span(start, end, score, advantage, "token", note, place)
            spans.append(span)
    return spans
