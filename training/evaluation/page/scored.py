"""Writes one HTML file about a file's verdicts: the worst, the best or random rows first, with a
search over all rows.

    write_scored(Path("verdicts.html"), "posh with match: rows.jsonl", rows, verdicts)

The page has one script of its own, and its content security policy allows no other script. The
script draws a few rows at a time, and inserts all texts as plain text.
"""

import base64
import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from spanreward.rewards.base.unread import not_read
from spanreward.rewards.base.verdict import NotApplicable, Sample, Span, Unread, Verdict
from spanreward.rewards.base.verdict_html import legible_in_html, shade_of_score, text_segments
from spanreward.rewards.rows.lines import InputRow
from spanreward.rewards.rows.pictures import opened_picture
from spanreward.training.evaluation.page.render import data_uri, metric_label, write_rendered

MAX_PAGE_ROWS = 12_000  # a page of more rows shows the worst 6,000 and the best 6,000
MAX_PAGE_PICTURES = 300  # the page has pictures of its worst 150 and its best 150 rows
MAX_PICTURE_PIXELS = 190  # of a side of a picture on the page
SCRIPT_FILE = Path(__file__).with_name("templates") / "scored.js.jinja"


def write_scored(
    path: Path,
    title: str,
    rows: Sequence[InputRow],
    verdicts: Sequence[Verdict],
) -> None:
    """Writes the page to `path`, whole or not at all.

    title: the title of the page. rows, verdicts: all rows of the file with their verdicts. Both
    read an entry when it is used, so only the rows of the page are in memory. Raises OSError, and
    ValueError for a span outside its text.
    """
    tally = Tally()
    # `not_read` reads every row once, and the tally records each row's score on the way
    unread = not_read(tally.completions(rows, verdicts))
    order = tally.order()
    pictured = set(first_and_last(order, MAX_PAGE_PICTURES))  # the numbers of rows with a picture
    page_rows = []
    for number in first_and_last(order, MAX_PAGE_ROWS):
        page_rows.append(drawn_row(rows[number], verdicts[number], number in pictured))
    rows_json = legible_in_html(json.dumps(page_rows, ensure_ascii=False))
    script = SCRIPT_FILE.read_text("utf-8")
    # the page's security policy allows the script with this hash, and no script in a completion
    script_hash = hashlib.sha256(script.encode()).digest()
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
    """The scores of all rows, in 16 bytes a row.

    The rows and verdicts are read one by one, because a large file would not fit into memory.
    """

    def __init__(self) -> None:
        self.scores = array("d")
        self.scored = array("Q")  # the row's number of each score
        self.others = array("Q")  # the numbers of the rows without a score

    def completions(
        self, rows: Iterable[InputRow], verdicts: Iterable[Verdict]
    ) -> Iterator[tuple[str, Sequence[Unread]]]:
        """Yields each completion with its parts that the judge did not read. On the way, the method
        records the score of each row, so that rows and verdicts are read only once.

        A row whose verdict has no score is only recorded by its number. A row that could not be
        read has no completion, and yields nothing.
        """
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
        """Returns the numbers of the rows from the worst to the best, then of the rows without a
        score.
        """
        # stable: rows with equal scores stay in the file's order
        by_score = np.argsort(np.frombuffer(self.scores), kind="stable")
        ordered = np.asarray(self.scored)[by_score]
        return array("Q", ordered.tolist()) + self.others


def first_and_last(order: Sequence[int], most: int) -> Sequence[int]:
    """Returns `order`; if it has more than `most` entries, only its first and its last entries.

    `most` is the number of entries that are returned: [1, 2, 3, 4, 5] and 4 give [1, 2, 4, 5].
    """
    if len(order) <= most:
        return order
    first = most // 2
    last = most - first
    return [*order[:first], *order[-last:]]


def drawn_row(row: InputRow, verdict: Verdict, pictured: bool) -> dict[str, Any]:
    """Returns the data from which the script draws one row: texts, and texts cut into pieces
    (`judged_pieces`).

    pictured: whether the page has the row's picture, if the row has one.
    """
    # the sample of an unreadable row is a sentence, so the row has no texts to show
    sample = Sample("", "") if isinstance(row.sample, str) else row.sample
    # the reference that the completion was compared with, and its spans that the completion lacks
    missed = []
    if verdict.left_out:
        missed = judged_pieces(sample.references[verdict.reference], verdict.left_out)
    return {
        "score": verdict.score,
        "status": verdict.status.value.replace("_", " "),
        "note": verdict.note,
        "parts": [(metric_label(part), value) for part, value in verdict.parts.items()],
        "told": [
            ("Row", [row.id]),
            ("Question", [sample.question or ""]),
            ("Prompt", [sample.prompt]),
            ("Reference", sample.references),
            ("Answers", sample.answers),
        ],
        "text": judged_pieces(sample.completion, verdict.spans, verdict.unread),
        "missed": missed,
        "picture": picture_uri(sample) if pictured else None,
    }


def picture_uri(sample: Sample) -> str | None:
    """Returns the row's picture as a data: URI; None for a row without a picture, and for a picture
    that cannot be opened.
    """
    if not sample.images:
        return None
    try:
        return data_uri(opened_picture(sample.images[0]), MAX_PICTURE_PIXELS)
    except NotApplicable:
        return None


def judged_pieces(
    text: str,
    spans: Sequence[Span],
    unread: Sequence[Unread] = (),
) -> list[tuple[Any, ...]]:
    """Returns the text cut into pieces wherever its judgment changes, each piece as a tuple that
    the page's script draws.

    Example: [("A ",), ("red", 0, 0.1, ("not in the picture",)), (" cup.",)]. A piece that no span
    covers is (text,). A judged piece is (text, level, score, notes), where `level` is the step of
    its colour. A piece that the metric did not read has a fifth entry, such as "reasoning". The
    level and the score of an unread piece are None if no span covers the piece.
    """
    cut: list[tuple[Any, ...]] = []
    for segment in text_segments(text, spans, unread):
        piece: list[Any] = [segment.text]
        if segment.score is not None:
            piece += [shade_of_score(segment.score), segment.score, segment.notes]
        elif segment.unread:
            # the kind must be the fifth entry
            piece += [None, None, ()]
        if segment.unread:
            piece.append(segment.unread)
        cut.append(tuple(piece))
    return cut
