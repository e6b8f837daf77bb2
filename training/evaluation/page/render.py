"""Fills the HTML templates of this folder: the report of a comparison, the spans of a training
step, and the scores of a file.

# all values escaped, with the functions of this file
render_page_template("report.html.jinja", **values)
"""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards.base.verdict import Span
from spanreward.rewards.base.verdict_html import template_environment
from spanreward.rewards.comparison.number_text import metric_label, number_text, typeset_number
from spanreward.rewards.files.outputs import check_place, write_whole
from spanreward.rewards.rows.pictures import opened_picture

MAX_EXACT_PIXELS = 128  # pixels of the longer side up to which a picture is kept exactly


def render_page_template(template: str, **values: Any) -> str:
    """Returns a template of this folder, filled with `values`, which are escaped.

    Characters that HTML cannot hold become U+FFFD.
    """
    environment = template_environment(Path(__file__).with_name("templates"))
    # the functions that the templates call
    environment.globals.update(
        advantage_spans=advantage_spans,
        label=metric_label,
        number=signed_number,
        data_uri=data_uri,
        opened=opened_picture,
    )
    return environment.get_template(template).render(values)


def write_rendered(path: Path, template: str, **values: Any) -> str:
    """Writes a filled template to `path`, whole or not at all, and returns the page. Raises
    OSError.
    """
    page = render_page_template(template, **values)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page)
    return page


def check_page(path: Path | None, overwrite: bool, command: str) -> None:
    """Raises ValueError if no file can be made at `path`, or the file there is no page of this
    command.

    Writing the page would destroy such a file. path: the value of --html; None if no page is
    wanted. overwrite: whether any file may be replaced. command: the name of the command, such as
    "score".
    """
    check_place(path)
    # every page of this command begins with these characters
    start = f"<!doctype html><!-- spanreward {command} -->".encode()
    if overwrite or path is None or not path.is_file():
        return
    if not path.read_bytes().startswith(start):
        raise ValueError(f"{path} exists, and is no page of this command: choose another file.")


def signed_number(value: float | None, digits: int, signed: bool = False) -> str:
    """Returns a number with `digits` decimals and a true minus sign.

    signed: whether a positive number has a plus sign.
    """
    sign = "+" if signed else ""
    return typeset_number(number_text(value, digits, sign))


def data_uri(image: Image.Image, largest: int = 320) -> str:
    """Returns a picture as a data: URI, shrunk to at most `largest` pixels a side.

    A picture of at most MAX_EXACT_PIXELS a side becomes a PNG, and a larger picture a JPEG.
    """
    small = image.convert("RGB")
    # `thumbnail` never enlarges a picture
    small.thumbnail((largest, largest))
    kind = "PNG" if max(small.size) <= MAX_EXACT_PIXELS else "JPEG"
    buffer = io.BytesIO()
    small.save(buffer, kind, optimize=True)
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f"data:image/{kind.lower()};base64,{encoded}"


def advantage_spans(tokens: Sequence[tuple[int, int, float]]) -> list[Span]:
    """Returns a span for each token of a completion, with a score by which the page colours it.

    An advantage of 0 gives the score 0.5. The largest advantage by size gives 1 if it is positive
    and 0 if it is negative. tokens: (start, end, advantage), with the characters [start, end) that
    the token wrote. A token that wrote no character gives no span.
    """
    sizes = [abs(advantage) for _, _, advantage in tokens]
    # 1 if all advantages are 0, because 0 cannot be divided by
    largest = max(sizes, default=0.0) or 1.0
    spans = []
    for number, (start, end, advantage) in enumerate(tokens):
        if start < end:
            # map [-largest, largest] to [0, 1]
            score = 0.5 + advantage / (2 * largest)
            note = f"advantage {advantage:+.2f}"
            span = Span(start, end, score, advantage, "token", note, number)
            spans.append(span)
    return spans
