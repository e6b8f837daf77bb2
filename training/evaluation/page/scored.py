"""One HTML file of a file's verdicts: the worst, the best or random ones first, with a search over
all of them.

    write_scored(Path("verdicts.html"), "posh with match: rows.jsonl", rows, verdicts)

Its own script, the only one that its content security policy runs, draws a few rows at a time, all
texts as texts.
"""

import base64
import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from spanreward.rewards.base.unread import not_read
from spanreward.rewards.base.verdict import NotApplicable, Sample, Span, Unread, Verdict
from spanreward.rewards.base.verdict_html import legible, level, segments
from spanreward.rewards.rows.lines import InputRow
from spanreward.rewards.rows.pictures import opened
from spanreward.training.evaluation.page.render import data_uri, label, write_rendered

MAX_PAGE_ROWS = 12_000  # of more, the worst half and the best half
MAX_PAGE_PICTURES = 300  # of these rows, chosen likewise
SCRIPT_FILE = Path(__file__).with_name("templates") / "scored.js.jinja"


def write_scored(
    path: Path,
    title: str,
    rows: Sequence[InputRow],
    verdicts: Sequence[Verdict],
) -> None:
    """Writes the page whole or not at all. Only the rows that it shows are in memory.

    Raises OSError, and ValueError for a span past its text.
    """
    tally = Tally()
    # the tally fills while its completions are read, so its order comes after
    unread = not_read(tally.completions(rows, verdicts))
    order = tally.order()
    pictured = set(first_and_last(order, MAX_PAGE_PICTURES))
    # the page's policy runs the script with this hash, and none that a completion brings
    script = SCRIPT_FILE.read_text("utf-8")
    script_hash = hashlib.sha256(script.encode()).digest()
    page_rows = []
    for number in first_and_last(order, MAX_PAGE_ROWS):
        has_picture = number in pictured
        page_rows.append(drawn_row(rows[number], verdicts[number], has_picture))
    rows_json = legible(json.dumps(page_rows, ensure_ascii=False))
    write_rendered(
        path,
        "scored.html.jinja",
        title=title,
        rows=rows_json.replace("<", "\\u003c"),  # so that no text can end the script
        shown=len(page_rows),
        count=len(rows),
        scored=len(tally.scores),
        mean=fmean(tally.scores) if tally.scores else None,
        not_read=unread,
        script=script,
        digest=base64.b64encode(script_hash).decode(),
    )


class Tally:
    """The scores of all rows, 16 bytes a row. The rows and their verdicts are read one by one."""

    def __init__(self) -> None:
        self.scores = array("d")
        self.scored = array("Q")  # the numbers of their rows
        self.others = array("Q")

    def completions(
        self, rows: Iterable[InputRow], verdicts: Iterable[Verdict]
    ) -> Iterator[tuple[str, Sequence[Unread]]]:
        """Yields each completion with what of it was not read, and keeps the scores."""
        judged_rows = zip(rows, verdicts, strict=True)
        for number, (row, verdict) in enumerate(judged_rows):
            if verdict.score is None:
                self.others.append(number)
            else:
                self.scored.append(number)
                self.scores.append(verdict.score)
            if isinstance(row.sample, Sample):
                yield row.sample.completion, verdict.unread

    def order(self) -> Sequence[int]:
        """Returns the rows' numbers from the worst to the best, and then those without a score."""
        # stable: rows with equal scores stay in the file's order
        by_score = np.argsort(np.frombuffer(self.scores), kind="stable")
        ordered = np.asarray(self.scored)[by_score]
        return array("Q", ordered.tolist()) + self.others


def first_and_last(order: Sequence[int], most: int) -> Sequence[int]:
    """Returns the order, or the first and last of it, `most` together."""
    if len(order) <= most:
        return order
    first = most // 2
    last = most - first
    return [*order[:first], *order[-last:]]


def drawn_row(row: InputRow, verdict: Verdict, pictured: bool) -> dict[str, Any]:
    """Returns what the script draws of a row: texts, and texts in pieces. pictured: whether its
    picture is on the page, if it has one.
    """
    # a row that cannot be read is a sentence, and shows no texts of its own
    sample = Sample("", "") if isinstance(row.sample, str) else row.sample
    picture = None
    # a picture that cannot be opened is left out
    with suppress(NotApplicable):
        if pictured and sample.images:
            picture = data_uri(opened(sample.images[0]), 190)
    # what the completion lacks, on the reference that it was compared with
    missed = []
    if verdict.left_out:
        missed = pieces(sample.references[verdict.reference], verdict.left_out)
    parts = []
    for part, value in verdict.parts.items():
        parts.append((label(part), value))
    return {
        "score": verdict.score,
        "status": verdict.status.value.replace("_", " "),
        "note": verdict.note,
        "parts": parts,
        "told": [
            ("Row", [row.id]),
            ("Question", [sample.question or ""]),
            ("Prompt", [sample.prompt]),
            ("Reference", sample.references),
            ("Answers", sample.answers),
        ],
        "text": pieces(sample.completion, verdict.spans, verdict.unread),
        "missed": missed,
        "picture": picture,
    }


def pieces(
    text: str,
    spans: Sequence[Span],
    unread: Sequence[Unread] = (),
) -> list[tuple[Any, ...]]:
    """Returns the text cut where its judgment changes: (text) of what no span covers, (text, level,
    score, notes) of what is judged. What was not read has its kind as a fifth entry, with None for
    level and score where it is not judged.
    """
    cut: list[tuple[Any, ...]] = []
    for segment in segments(text, spans, unread):
        piece: list[Any] = [segment.text]
        if segment.score is not None:
            piece += [level(segment.score), segment.score, segment.notes]
        elif segment.unread:
            # the script finds the kind in fifth place
            piece += [None, None, ()]
        if segment.unread:
            piece.append(segment.unread)
        cut.append(tuple(piece))
    return cut
