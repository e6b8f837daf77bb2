"""Fills the HTML templates of this folder: the comparison's report, and a step's table of spans.

render("report.html.jinja", **values)             # escaped, with the functions of this file
"""

import base64
import io
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from PIL import Image

from spanreward.rewards.base.verdict import Status, Verdict
from spanreward.rewards.comparison import figures
from spanreward.rewards.comparison.figures import label, typeset
from spanreward.rewards.files.pictures import opened
from spanreward.training.evaluation.page.coloured_text import LEVELS, Segment, legible, level, received, segments

PIXELS = 128  # a picture with no larger side is kept exactly


def render(template: str, **values: Any) -> str:
    """Returns a template of this folder, filled in and escaped; what HTML cannot hold becomes U+FFFD."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: legible(value) if type(value) is str else value,
    )
    shared = (level, segments, received, tooltip, label, number, judged, data_uri, opened)
    environment.globals.update({function.__name__: function for function in shared}, levels=LEVELS)
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


def judged(verdict: Verdict) -> str:
    """Returns the verdict in words: a score, or why there is none. A failure is never shown as 0."""
    if verdict.score is None:
        return f"{verdict.status.value.replace('_', ' ')}: not counted"
    empty = " (empty: nothing to judge)" if verdict.status is Status.EMPTY else ""
    return f"{verdict.score:.2f}{empty}"


def tooltip(segment: Segment) -> str:
    """Returns a segment's tooltip: its score, then each note on a line."""
    score = [] if segment.score is None else [f"{segment.score:.2f} {LEVELS[level(segment.score)].name}"]
    return "\n".join([*score, *segment.notes, *(["wrong, says a metric that asks no judge"] if segment.marked else [])])
