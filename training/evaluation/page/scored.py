"""One HTML file of a file's verdicts: the worst, the best or random ones first, with a search over all of them.

    write_scored(Path("verdicts.html"), "posh with match: rows.jsonl", rows, verdicts)

The page needs no other file and no network. It draws a few rows at a time, by a script of its own, the only one that
its content security policy runs. Texts are escaped before they reach the script.
"""

import base64
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from PIL import Image

from spanreward.rewards.base.verdict import NotApplicable, Verdict
from spanreward.rewards.files.outputs import write_whole
from spanreward.rewards.files.pictures import opened
from spanreward.rewards.scoring import InputRow
from spanreward.training.evaluation.page.render import render

SHOWN = 12_000  # rows of a page: of more, the worst half and the best half
PICTURES = 300  # of these rows, chosen likewise
START = b"<!doctype html><!-- spanreward score -->"
SCRIPT = Path(__file__).with_name("templates") / "scored.js.jinja"


def write_scored(path: Path, title: str, rows: Sequence[InputRow], verdicts: Sequence[Verdict]) -> None:
    """Writes the page whole or not at all. Raises OSError."""
    scores = {number: verdict.score for number, verdict in enumerate(verdicts) if verdict.score is not None}
    order = sorted(scores, key=scores.__getitem__) + [n for n in range(len(rows)) if n not in scores]
    pictured = set(ends(order, PICTURES))
    script = SCRIPT.read_text("utf-8")
    page = render(
        "scored.html.jinja",
        title=title,
        rows=[(rows[n], verdicts[n], picture_of(rows[n]) if n in pictured else None) for n in ends(order, SHOWN)],
        count=len(rows),
        scored=len(scores),
        mean=fmean(scores.values()) if scores else None,
        script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page)


def ends(order: list[int], most: int) -> list[int]:
    return order if len(order) <= most else order[: most // 2] + order[-most // 2 :]


def picture_of(row: InputRow) -> Image.Image | None:
    with suppress(NotApplicable):
        return None if isinstance(row.sample, str) or not row.sample.images else opened(row.sample.images[0])
    return None


def check_page(path: Path | None, overwrite: bool) -> None:
    """Raises ValueError where --html names a file that is no page of this command."""
    if path and path.is_file() and not overwrite and not path.read_bytes().startswith(START):
        raise ValueError(f"{path} exists, and is no page of this command: choose another file.")
