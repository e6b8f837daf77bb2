"""Scores the completions of a file, or of rows in memory. A run over a file can be resumed where it
was interrupted.

    frame = pandas.DataFrame(score(PoshReward("match"), "rows.jsonl"))  # or Dataset.from_list(...)

    rows, verdicts = Path("rows.jsonl"), Path("verdicts.jsonl")
    summary = score_file(reward, rows, verdicts, settings={"reward": "posh"})
    summary.scored, summary.bad_lines, summary.pairs_per_second

The output has one verdict per row, in the rows' order, with the row's fingerprint. A run keeps the
scores of the rows whose fingerprint is there, whatever their id, and judges the others. Rows whose
judge failed are asked apart, so that one that stops a whole batch fails alone. A row that
cannot be read gets a verdict without a score, and its line number is reported. files/outputs.py
says which outputs are refused.
"""

import json
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from spanreward.rewards.base.marks import Numbers, PlaceNumbers, as_numbers, mark_number
from spanreward.rewards.base.unread import NotRead
from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.base.views import View
from spanreward.rewards.files.earlier import Earlier
from spanreward.rewards.files.on_disk import Lines
from spanreward.rewards.files.outputs import REMEDY, check_apart, resumed_lines, write_texts
from spanreward.rewards.metrics import METRICS
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.viewers import check_seen
from spanreward.rewards.rows.fingerprint import fingerprint
from spanreward.rewards.rows.lines import InputRow, read_rows
from spanreward.rewards.rows.tables import Rows
from spanreward.rewards.text.no_answers import NoAnswer, no_answers

CHUNK = 64
FAILED = frozenset(str(status) for status in Status if status.failed)
DOWN = 16  # rows that fail in succession, each by itself: no row is to blame, but the judge
KEYS = {"id": str, "score": int | float | None, "status": str, "fingerprint": str}
Line = dict[str, Any]  # of the output: a verdict with the row's id and fingerprint


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run of `score_file` did.

    Args:
        rows: how many rows the input has.
        kept: the rows whose score was there.
        asked_again: those whose id or text was there, without a score or with another text.
        new: the others.
        scored: the rows of the whole output that have a score.
        statuses: counts of every row of the output.
        bad_lines: (line number, reason) of the rows that this run could not score.
        mean_score: over the scored rows of the whole output, None if there are none.
        seconds: how long the run took.
        pairs_per_second: rows that were judged in a second.
        no_answers: completions that look like a failure of whoever was asked, and are scored like
            any other.
        not_read: characters of the completions that no judge was shown.
    """

    rows: int
    kept: int
    asked_again: int
    new: int
    scored: int
    statuses: dict[str, int]
    bad_lines: list[tuple[int, str]]
    mean_score: float | None
    seconds: float
    pairs_per_second: float
    no_answers: list[NoAnswer]
    not_read: NotRead


def score_file(
    reward: Reward,
    source: Path | str,
    output: Path,
    settings: dict[str, Any],
    progress: Callable[[int, int], None] = lambda done, total: None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    overwrite: bool = False,
) -> Summary:
    """Scores the rows without a score. `progress(done, total)` is called at the start and after
    every chunk.

    source, columns, limit: see `table_rows`. settings: what decides the verdicts (metric, judge,
    options). They must equal those of an existing output. overwrite: an existing output is begun
    anew. Raises OSError for a missing file, and ValueError for a column that no row has, for
    pictures that the judge cannot see, and for an output that is the input, has other settings, or
    holds scores of rows that the input has not.
    """
    check_apart([output], [Path(source)])
    rows = read_rows(source, columns, limit)
    return score_rows(reward, rows, source, output, settings, progress, overwrite)


def score_rows(
    reward: Reward,
    rows: Sequence[InputRow],
    source: Path | str,
    output: Path,
    settings: dict[str, Any],
    progress: Callable[[int, int], None],
    overwrite: bool,
) -> Summary:
    """Does what `score_file` does, for rows that were read: the file may change meanwhile.

    Verdicts are appended chunk by chunk. At the end the file is put into the rows' order, whole or
    not at all. So whatever ends the process costs one chunk at most. A metric that compares rows
    keeps all of its scores or none. Kept lines are read as a stranger's: one that is no verdict on
    its row is asked again.
    """
    _check_columns(reward, rows, source)
    check_seen(reward, _samples(rows))
    reads_all_columns = type(reward) not in METRICS.values()  # a metric of one's own may
    marks, ids = _known_by(rows, reads_all_columns)
    bad: list[tuple[int, str]] = []
    start = time.perf_counter()
    with resumed_lines(output, settings, KEYS, overwrite) as (file, lines):
        # which line of the output is each row's, -1 for none
        earlier = Earlier(lines, FAILED)
        strangers = earlier.strangers(marks, ids)
        if strangers:
            raise _other_rows(output, strangers, lines, f"the {len(rows)} rows taken of {source}")
        places = earlier.places_of(marks)
        in_order = _drop_others(places, rows, lines)
        if reward.by_batch and (places < 0).any():
            # its scores depend on all rows: with one that is new they are all out of date
            places[:] = -1
            file.truncate(0)
            lines.forget()
        # the rows without a line are judged, and a line is appended for each
        waiting = np.flatnonzero(places < 0)
        failed = np.zeros(len(waiting), dtype=bool)
        if not reward.by_batch:
            failed = np.isin(marks[waiting], earlier.failed)
        done = len(rows) - len(waiting)
        progress(done, len(rows))
        for chunk in _in_chunks(reward, rows, waiting[~failed], waiting[failed]):
            texts: list[str] = []
            for number, row, verdict in chunk:
                if verdict.score is None:
                    bad.append((row.number, verdict.note))
                places[number] = len(lines) + len(texts)
                line = _line(row, verdict, int(marks[number]))
                texts.append(_text(line))
            file.write("".join(texts))
            file.flush()
            lines.grow()
            done += len(texts)
            progress(done, len(rows))
        bad.sort()
        # at the end all lines are counted, and written anew unless they are in the rows' order
        tally = _Tally()
        counted = tally.over(_in_rows_order(rows, lines, places))
        if in_order and np.array_equal(places, np.arange(len(lines))):
            deque(counted, maxlen=0)  # takes them all, and holds none
        else:
            write_texts(output, map(_text, counted))
    seconds = time.perf_counter() - start
    again = int(earlier.knows(marks[waiting], ids[waiting]).sum())
    return Summary(
        rows=len(rows),
        kept=len(rows) - len(waiting),
        asked_again=again,
        new=len(waiting) - again,
        scored=tally.scored,
        statuses=dict(tally.statuses),
        bad_lines=bad,
        mean_score=tally.total / tally.scored if tally.scored else None,
        seconds=seconds,
        pairs_per_second=len(waiting) / seconds,
        no_answers=_no_answers(rows),
        not_read=NotRead.of(tally.characters, tally.unread),
    )


def score(
    reward: Reward,
    rows: Rows,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> list[dict[str, Any]]:
    """Returns each row with its verdict beside its own keys: `posh/score`, `posh/status`,
    `posh/spans` and so on, as in `Verdict.to_dict`, and each part by name, such as
    `posh/precision`.

    rows: a file or `hub:NAME`, or mappings such as a `Dataset` or `frame.to_dict("records")`. A row
    that cannot be read has the status not_applicable. Raises ValueError for what is no rows, for a
    column that no row has, and for pictures that the judge cannot see.
    """
    if not isinstance(reward, Reward):
        raise ValueError(
            f"score takes a reward, such as PoshReward('match'), and then rows; got {reward!r:.80}."
        )
    read = read_rows(rows, columns, limit)
    # iterating over a frame gives the names of its columns, and no rows
    if not any(row.held for row in read):
        raise ValueError(
            f"no row can be read ({read[0].sample}): of a pandas frame, give "
            "frame.to_dict('records')."
        )
    _check_columns(reward, read, rows if isinstance(rows, str | Path) else "the table")
    check_seen(reward, _samples(read))
    scored_rows = []
    for start in range(0, len(read), CHUNK):
        chunk = read[start : start + CHUNK]
        for row, verdict in zip(chunk, _judge_rows(reward, chunk), strict=True):
            scored_row = dict(row.held)
            for key, value in _flat(verdict).items():
                scored_row[f"{reward.__name__}/{key}"] = value
            scored_rows.append(scored_row)
    return scored_rows


def _flat(verdict: Verdict) -> dict[str, Any]:
    """Returns the verdict as plain data, with its parts beside its other fields."""
    data = verdict.to_dict()
    parts = data.pop("parts")
    data.update(parts)
    return data


def _samples(rows: Iterable[InputRow]) -> Iterator[Sample]:
    """Yields the samples of the rows that can be read."""
    for row in rows:
        if isinstance(row.sample, Sample):
            yield row.sample


def _known_by(rows: Iterable[InputRow], columns: bool) -> tuple[Numbers, Numbers]:
    """Returns the rows' fingerprints and ids as numbers, 16 bytes a row. A row that cannot be read
    has the fingerprint "". columns: see `fingerprint`.
    """
    marks = array("Q")
    ids = array("Q")
    for row in rows:
        mark = ""
        if isinstance(row.sample, Sample):
            mark = fingerprint(row.sample, columns)
        marks.append(mark_number(mark))
        ids.append(mark_number(row.id))
    return as_numbers(marks), as_numbers(ids)


def _other_rows(
    output: Path,
    strangers: Sequence[int],
    lines: Sequence[Line],
    input_rows: str,
) -> ValueError:
    """Returns the error for an output with scores of rows that the input has not.

    strangers: the places of their lines. input_rows: the input in words.
    """
    first_id = lines[strangers[0]]["id"]
    reason = f"{len(strangers)}, such as {first_id!r}, are not among {input_rows}"
    return ValueError(f"{output} holds the verdicts of other rows ({reason}): {REMEDY}")


def _drop_others(places: PlaceNumbers, rows: Sequence[InputRow], lines: Sequence[Line]) -> bool:
    """Writes -1 for the place of a line that is no verdict on its row. Returns whether all others
    have their rows' ids.
    """
    have_ids = True
    for number in np.flatnonzero(places >= 0):
        row = rows[number]
        line = lines[int(places[number])]
        if not _is_verdict_on(row.sample, line):
            places[number] = -1
        elif line["id"] != row.id:  # a row that was moved, or renamed
            have_ids = False
    return have_ids


def _line(row: InputRow, verdict: Verdict, mark: int) -> Line:
    """Returns the output's line of a row. mark: the number of the row's fingerprint."""
    written = ""
    if isinstance(row.sample, Sample):
        written = f"{mark:016x}"
    return {"id": row.id, **verdict.to_dict(), "fingerprint": written}


def _in_rows_order(
    rows: Sequence[InputRow], lines: Sequence[Line], places: PlaceNumbers
) -> Iterator[tuple[InputRow, Line]]:
    """Yields each row with its line, which gets the row's id. places: of each row's line."""
    for row, place in zip(rows, places, strict=True):
        yield row, {**lines[int(place)], "id": row.id}


class _Tally:
    """What the lines of an output say together, as far as they were counted."""

    def __init__(self) -> None:
        self.scored = 0
        self.total = 0.0  # of the scores
        self.statuses = Counter[str]()
        self.characters = 0  # of the completions
        self.unread = Counter[str]()  # of them, by kind

    def over(self, lines: Iterable[tuple[InputRow, Line]]) -> Iterator[Line]:
        """Yields the lines, and counts each."""
        for row, line in lines:
            if line["score"] is not None:
                self.scored += 1
                self.total += line["score"]
            self.statuses[line["status"]] += 1
            if isinstance(row.sample, Sample):
                self.characters += len(row.sample.completion)
            for part in line.get("unread", ()):
                self.unread[part["kind"]] += part["end"] - part["start"]
            yield line


def _no_answers(rows: Sequence[InputRow]) -> list[NoAnswer]:
    """Returns the completions that look like a failure of whoever was asked."""
    readable = array("Q")  # numbers of rows, 8 bytes each
    for number, row in enumerate(rows):
        if isinstance(row.sample, Sample):
            readable.append(number)
    samples = View(rows, readable, lambda row: row.sample)
    ids = View(rows, readable, lambda row: row.id)
    return no_answers(samples, ids)


def _text(line: Line) -> str:
    """Returns the line as it is written, with its end."""
    return json.dumps(line) + "\n"


def read_verdicts(output: Path) -> Sequence[Verdict]:
    """Returns the verdicts that `score_file` wrote, in the rows' order. They stay in the file, and
    are read when they are asked for.

    Raises OSError, and ValueError for others when one is asked for.
    """
    lines = Lines(output)
    return View(lines, range(len(lines)), _verdict_in)


def _verdict_in(line: Line) -> Verdict:
    """Returns a line's verdict. Raises ValueError for what is none."""
    names = {field.name for field in fields(Verdict)}
    return Verdict.from_dict({key: line[key] for key in names & line.keys()})


def _is_verdict_on(sample: Sample | str, line: Line) -> bool:
    """Whether a line holds a verdict whose spans lie on the sample's text."""
    if isinstance(sample, str):
        return False
    try:
        verdict = _verdict_in(line)
    except ValueError:
        return False
    ends = [span.end for span in verdict.spans]
    ends += [part.end for part in verdict.unread]
    return max(ends, default=0) <= len(sample.completion)


def _check_columns(reward: Reward, rows: Sequence[InputRow], source: object) -> None:
    """Raises ValueError if the reward needs a column that no row has."""
    held = set[str]()
    for row in rows:
        held.update(row.held)
    keys = sorted(held)
    missing = reward.missing_column(keys)
    if keys and missing:
        raise ValueError(
            f"{reward.__name__} needs the key {missing} in the rows of {source}, which have "
            f"{keys}: rename the key that holds it to {missing} (on a command line --columns "
            "OURS=THEIRS)."
        )


Judged = list[tuple[int, InputRow, Verdict]]  # a chunk: each row with its place among all rows


def _in_chunks(
    reward: Reward, rows: Sequence[InputRow], fresh: PlaceNumbers, again: PlaceNumbers
) -> Iterator[Judged]:
    """Yields rows with their verdicts, chunk by chunk. again: rows whose judge failed in an earlier
    run. They come last, in chunks without other rows.
    """
    for begin in range(0, len(fresh), CHUNK):
        yield _judged(reward, rows, fresh[begin : begin + CHUNK])
    # The others begin with one row a chunk. A chunk that was judged doubles the next one, and of
    # one that failed as a whole a half is asked again.
    size = 1
    alone = 0  # rows in succession that failed by themselves
    begin = 0
    while begin < len(again):
        chunk = _judged(reward, rows, again[begin : begin + size])
        if all(verdict.status.failed for _, _, verdict in chunk):
            if len(chunk) == 1:
                alone += 1
            if len(chunk) > 1 and alone < DOWN:
                size = len(chunk) // 2
                continue
            # where the judge is down, the rest fails in few calls
            size = 1 if alone < DOWN else CHUNK
        else:
            alone = 0
            size = min(2 * size, CHUNK)
        begin += len(chunk)
        yield chunk


def _judged(reward: Reward, rows: Sequence[InputRow], numbers: PlaceNumbers) -> Judged:
    """Returns the rows of these numbers with their verdicts."""
    places = numbers.tolist()
    chunk = [rows[place] for place in places]
    verdicts = _judge_rows(reward, chunk)
    return list(zip(places, chunk, verdicts, strict=True))


def _judge_rows(reward: Reward, rows: Sequence[InputRow]) -> Iterator[Verdict]:
    """Yields each row's verdict, in order. All readable rows are judged in one batch."""
    samples = list(_samples(rows))
    verdicts = iter(reward.judge_samples(samples))
    for row in rows:
        if isinstance(row.sample, str):
            yield Verdict(None, Status.NOT_APPLICABLE, note=row.sample)
        else:
            yield next(verdicts)
