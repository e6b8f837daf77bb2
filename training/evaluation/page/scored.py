"""One HTML file of a file's verdicts: the worst, the best or random ones first, with a search over
all of them.

    write_scored(Path("verdicts.html"), "posh with match: rows.jsonl", rows, verdicts)

Its own script, the only one that its content security policy runs, draws a few rows at a time, all
texts as texts.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any

from spanreward.rewards.base.coloured_text import legible, level, segments
from spanreward.rewards.base.unread import not_read
from spanreward.rewards.base.verdict import NotApplicable, Sample, Span, Unread, Verdict
from spanreward.rewards.rows.lines import InputRow
from spanreward.rewards.rows.pictures import opened
from spanreward.training.evaluation.page.render import data_uri, label, write_rendered

SHOWN = 12_000  # rows of a page: of more, the worst half and the best half
PICTURES = 300  # of these rows, chosen likewise
SCRIPT = Path(__file__).with_name("templates") / "scored.js.jinja"


def write_scored(
    path: Path, title: str, rows: Sequence[InputRow], verdicts: Sequence[Verdict]
) -> None:
    """Writes the page whole or not at all.

    Raises OSError, and ValueError for a span past its text.
    """
    scores = {
        number: verdict.score
        for number, verdict in enumerate(verdicts)
        if verdict.score is not None
    }
    order = sorted(scores, key=scores.__getitem__)
    order += [number for number in range(len(rows)) if number not in scores]
    completions = []
    for row, verdict in zip(rows, verdicts, strict=True):
        if isinstance(row.sample, Sample):
            completions.append((row.sample.completion, verdict.unread))
    pictured = set(ends(order, PICTURES))
    script = SCRIPT.read_text("utf-8")
    shown = [drawn(rows[n], verdicts[n], n in pictured) for n in ends(order, SHOWN)]
    write_rendered(
        path,
        "scored.html.jinja",
        title=title,
        rows=legible(json.dumps(shown, ensure_ascii=False)).replace("<", "\\u003c"),
        shown=len(shown),
        count=len(rows),
        scored=len(scores),
        mean=fmean(scores.values()) if scores else None,
        not_read=not_read(completions),
        script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def ends(order: list[int], most: int) -> list[int]:
    if len(order) <= most:
        return order
    return order[: most // 2] + order[-most // 2 :]


def drawn(row: InputRow, verdict: Verdict, pictured: bool) -> dict[str, Any]:
    """Returns what the script draws of a row: texts, and texts in pieces."""
    sample = Sample("", "") if isinstance(row.sample, str) else row.sample
    picture = None
    asked = [("Question", [sample.question or ""]), ("Prompt", [sample.prompt])]
    with suppress(NotApplicable):
        if pictured and sample.images:
            picture = data_uri(opened(sample.images[0]), 190)
    missed = []
    if verdict.left_out:
        missed = pieces(sample.references[verdict.reference], verdict.left_out)
    return {
        "score": verdict.score,
        "status": verdict.status.value.replace("_", " "),
        "note": verdict.note,
        "parts": [(label(part), value) for part, value in verdict.parts.items()],
        "told": [
            ("Row", [row.id]),
            *asked,
            ("Reference", sample.references),
            ("Answers", sample.answers),
        ],
        "text": pieces(sample.completion, verdict.spans, verdict.unread),
        "missed": missed,
        "picture": picture,
    }


def pieces(
    text: str, spans: Sequence[Span], unread: Sequence[Unread] = ()
) -> list[tuple[Any, ...]]:
    """Returns (text), or (text, level, score, notes) of what is judged; of what was not read also
    its kind, with None for the others where it is not judged.
    """
    cut: list[tuple[Any, ...]] = []
    for one in segments(text, spans, unread):
        piece: tuple[Any, ...] = (one.text,)
        if one.score is not None:
            piece = (one.text, level(one.score), one.score, one.notes)
        elif one.unread:
            piece = (one.text, None, None, ())
        if one.unread:
            piece += (one.unread,)
        cut.append(piece)
    return cut
