"""Scores the completions of a file, or of rows in memory. An interrupted run over a file can be
resumed.

    frame = pandas.DataFrame(score(PoshReward("match"), "rows.jsonl"))  # or Dataset.from_list(...)

    rows, verdicts = Path("rows.jsonl"), Path("verdicts.jsonl")
    summary = score_file(reward, rows, verdicts, settings={"reward": "posh"})
    summary.scored, summary.bad_lines, summary.pairs_per_second

The output has one line per row, in the rows' order: the row's verdict, its id and its fingerprint
(rows/fingerprint.py). A resumed run keeps a score if the output has a line with the row's
fingerprint, even if the row's id differs. All other rows are judged. If the judge failed on a row
in an earlier run, the row is asked in a separate batch, because the row may make a whole batch
fail. A row that cannot be read gets a verdict without a score, and its line number is reported.
files/outputs.py checks whether an existing output can be resumed.

In this module, the "mark" of a row is the number of its fingerprint (`mark_number`). The "place" of
a row is the index of its line in the output, from 0.
"""

import json
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from spanreward.rewards.base.lazy_sequences import View
from spanreward.rewards.base.marks import PlaceNumbers, UnsignedIntegers, as_numbers, mark_number
from spanreward.rewards.base.unread import NotRead
from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.files.earlier import Earlier
from spanreward.rewards.files.on_disk import Lines
from spanreward.rewards.files.outputs import OUTPUT_REMEDY, check_apart, resumed_lines, write_texts
from spanreward.rewards.metrics import METRICS
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.viewers import check_seen
from spanreward.rewards.rows.fingerprint import sample_fingerprint
from spanreward.rewards.rows.lines import InputRow, read_rows
from spanreward.rewards.rows.tables import Rows
from spanreward.rewards.text.no_answers import NoAnswer, no_answers

ROWS_AT_ONCE = 64
FAILED_STATUSES = frozenset(str(status) for status in Status if status.failed)
# If so many rows fail one after another, each asked alone, the judge is down and no row is at fault
DOWN_AFTER = 16
# the keys that each line of an output has, with the types of their values
LINE_KEYS = {"id": str, "score": int | float | None, "status": str, "fingerprint": str}
OutputLine = dict[str, Any]  # a line of the output: a verdict with the row's id and fingerprint
# a chunk: each row's index among all rows comes first
JudgedRows = list[tuple[int, InputRow, Verdict]]


@dataclass(frozen=True, slots=True)
class _OpenOutput:
    """An output that is open for writing, with the place of each row's line in the output.

    file: the output, open for appending. lines: the lines of the output, for reading. marks: a
    number for each row's fingerprint. places: the index of each row's line in the output, -1 for a
    row without a line.
    """

    file: TextIO
    lines: Lines
    marks: UnsignedIntegers
    places: PlaceNumbers


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a run of `score_file`.

    Args:
        rows: the number of rows of the input, the sum of `kept`, `asked_again` and `new`.
        kept: the number of rows whose score the output held before the run.
        asked_again: the number of judged rows whose id or fingerprint the output held before the
            run: the earlier judgment failed, or the row's text has changed.
        new: the number of judged rows that the output did not know.
        scored: the number of rows of the whole output that have a score.
        statuses: the number of rows of the whole output by status, such as {"ok": 98, "error": 2}.
        bad_lines: (line number, reason) of each row that this run could not score.
        mean_score: the mean over the scored rows of the whole output, None if no row has a score.
        seconds: the duration of the run.
        pairs_per_second: the number of rows judged per second.
        no_answers: completions that look like the failure of an API and not like an answer: an
            error message, or the same text for many rows. Their scores count like all scores.
        not_read: the number of characters of the completions that no judge was shown.
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
    """Scores the rows that have no score in the output yet, and returns the counts of the run.

    source, columns, limit: see `table_rows`. settings: everything that decides the verdicts
    (metric, judge, options), which must equal the settings of an existing output. progress: is
    called with (rows done, all rows) at the start and after every chunk. overwrite: removes the
    lines of an existing output first.

    Raises OSError for a missing file. Raises ValueError for a column that no row has, and for
    pictures that the judge cannot see. Also raises ValueError if the output is the input, has other
    settings, or holds scores of rows that are not in the input.
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
    """Scores rows that `read_rows` has read, as `score_file` does. The arguments are those of
    `score_file`; source: the name of the rows in error messages.

    Verdicts are appended chunk by chunk, so a killed process loses at most one chunk. At the end
    the output is replaced in one step by a file with the lines in the rows' order. If the metric
    compares rows (`by_batch`), either every row keeps its score or all rows are judged again. Lines
    of an earlier run may be damaged: a row is judged again if its line holds no verdict on it.
    """
    _check_columns(reward, rows, source)
    check_seen(reward, _readable_samples(rows))
    reads_all_columns = type(reward) not in METRICS.values()  # a user's own metric may read any
    # a number for each row's fingerprint (its mark), and a number for each row's id
    marks, ids = _marks_and_ids(rows, reads_all_columns)
    start = time.perf_counter()
    with resumed_lines(output, settings, LINE_KEYS, overwrite) as (file, lines):
        earlier = Earlier(lines, FAILED_STATUSES)
        # refuse an output with the scores of other rows
        unmatched = earlier.places_of_no_row(marks, ids)
        if unmatched:
            rows_in_words = f"the {len(rows)} rows taken of {source}"
            raise _error_of_other_rows(output, unmatched, lines, rows_in_words)
        # find each row's line in the output
        opened = _OpenOutput(file, lines, marks, earlier.places_of(marks))
        have_ids = _drop_wrong_places(opened.places, rows, lines)
        if reward.by_batch and (opened.places < 0).any():
            _drop_all_lines(opened)  # each score depends on all rows
        # judge the rows without a line, and append a line for each
        waiting = np.flatnonzero(opened.places < 0)  # the indices of the rows without a line
        bad = _judge_waiting(reward, rows, opened, waiting, earlier.failed, progress)
        tally = _tally_in_order(output, rows, opened, have_ids)
    seconds = time.perf_counter() - start
    # the judged rows of which the output has had a line, without a score or with another text
    was_known = earlier.knows(marks[waiting], ids[waiting])
    asked_again = int(was_known.sum())
    return Summary(
        rows=len(rows),
        kept=len(rows) - len(waiting),
        asked_again=asked_again,
        new=len(waiting) - asked_again,
        scored=tally.scored,
        statuses=dict(tally.statuses),
        bad_lines=bad,
        mean_score=tally.total / tally.scored if tally.scored else None,
        seconds=seconds,
        pairs_per_second=len(waiting) / seconds,
        no_answers=_no_answers(rows),
        not_read=NotRead.of(tally.characters, tally.unread),
    )


def _drop_all_lines(opened: _OpenOutput) -> None:
    """Removes all lines of the output, so that every row is judged again."""
    opened.places[:] = -1
    opened.file.truncate(0)
    opened.lines.forget()


def _judge_waiting(
    reward: Reward,
    rows: Sequence[InputRow],
    opened: _OpenOutput,
    waiting: PlaceNumbers,
    failed_marks: UnsignedIntegers,
    progress: Callable[[int, int], None],
) -> list[tuple[int, str]]:
    """Judges the waiting rows, and appends a line for each to the output.

    Returns the line number and the reason of each row without a score, sorted: `[(7, "line 7 is not
    JSON")]`.

    waiting: the indices of the rows without a line. failed_marks: the numbers of the fingerprints
    on which a judge failed in an earlier run. progress: is called with (rows done, all rows).
    """
    has_failed = np.zeros(len(waiting), dtype=bool)  # whether an earlier run has failed on the row
    if not reward.by_batch:
        has_failed = np.isin(opened.marks[waiting], failed_marks)
    bad: list[tuple[int, str]] = []
    done = len(rows) - len(waiting)
    progress(done, len(rows))
    for chunk in _in_chunks(reward, rows, waiting[~has_failed], waiting[has_failed]):
        _append_chunk(chunk, opened)
        for _, row, verdict in chunk:
            if verdict.score is None:
                bad.append((row.number, verdict.note))
        done += len(chunk)
        progress(done, len(rows))
    return sorted(bad)


def _tally_in_order(
    output: Path, rows: Sequence[InputRow], opened: _OpenOutput, have_ids: bool
) -> "_Tally":
    """Puts the lines of the output into the rows' order, and returns the sums over all lines.

    have_ids: whether every line has its row's id. If the lines also have the rows' order already,
    the output is not written again.
    """
    tally = _Tally()
    # an iterator over the lines, which adds each line to the tally when the line is taken
    counted_lines = tally.over(_in_rows_order(rows, opened.lines, opened.places))
    is_in_order = np.array_equal(opened.places, np.arange(len(opened.lines)))
    if have_ids and is_in_order:
        for _ in counted_lines:
            pass  # only the tally is needed
    else:
        write_texts(output, map(_json_line, counted_lines))
    return tally


def score(
    reward: Reward,
    rows: Rows,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> list[dict[str, Any]]:
    """Returns each row as a dict: the row's own keys, and the fields of its verdict.

    For PoSh, the fields of `Verdict.to_dict` have the keys `posh/score`, `posh/status`,
    `posh/spans` and so on. Each of the verdict's parts has its own key, such as `posh/precision`.
    rows: a file or `hub:NAME`, or mappings such as a `Dataset` or `frame.to_dict("records")`.
    columns, limit: see `table_rows`. A row that cannot be read has the status not_applicable.

    Raises ValueError if no row can be read, for a column that no row has, and for pictures that the
    judge cannot see.
    """
    if not isinstance(reward, Reward):
        raise ValueError(
            f"score takes a reward, such as PoshReward('match'), and then rows; got {reward!r:.80}."
        )
    read = read_rows(rows, columns, limit)
    # A pandas frame gives the names of its columns when it is iterated over, so no row is readable
    if not any(row.values for row in read):
        raise ValueError(
            f"no row can be read ({read[0].sample}): of a pandas frame, give "
            "frame.to_dict('records')."
        )
    _check_columns(reward, read, rows if isinstance(rows, str | Path) else "the table")
    check_seen(reward, _readable_samples(read))
    # judge the rows in chunks
    scored_rows = []
    for start in range(0, len(read), ROWS_AT_ONCE):
        chunk = read[start : start + ROWS_AT_ONCE]
        for row, verdict in zip(chunk, _judge_rows(reward, chunk), strict=True):
            scored_rows.append(_with_verdict(row.values, verdict, reward.__name__))
    return scored_rows


def _with_verdict(values: Mapping[str, Any], verdict: Verdict, metric: str) -> dict[str, Any]:
    """Returns a row with the fields of its verdict: `{"id": "a"}` becomes `{"id": "a",
    "posh/score": 0.8, ..., "posh/precision": 0.8}`.

    Each part of the verdict has a key of its own. values: the row. metric: the name before the
    slash, such as "posh".
    """
    fields_of_verdict = verdict.to_dict()
    parts = fields_of_verdict.pop("parts")
    with_verdict = dict(values)
    for key, value in {**fields_of_verdict, **parts}.items():
        with_verdict[f"{metric}/{key}"] = value
    return with_verdict


def _readable_samples(rows: Iterable[InputRow]) -> Iterator[Sample]:
    """Yields the samples of the rows that can be read."""
    for row in rows:
        if isinstance(row.sample, Sample):
            yield row.sample


def _marks_and_ids(
    rows: Iterable[InputRow], columns: bool
) -> tuple[UnsignedIntegers, UnsignedIntegers]:
    """Returns (marks, ids): a number of 8 bytes for each row's fingerprint, and one for its id.

    A row that cannot be read has the fingerprint "". columns: whether the fingerprint covers the
    row's other columns too, which only metrics of users read.
    """
    marks = array("Q")
    ids = array("Q")
    for row in rows:
        mark = ""
        if isinstance(row.sample, Sample):
            mark = sample_fingerprint(row.sample, columns)
        marks.append(mark_number(mark))
        ids.append(mark_number(row.id))
    return as_numbers(marks), as_numbers(ids)


def _error_of_other_rows(
    output: Path,
    unmatched: Sequence[int],
    lines: Sequence[OutputLine],
    rows_in_words: str,
) -> ValueError:
    """Returns the error for an output that holds scores of rows which are not in the input.

    lines: all lines of the output. unmatched: the indices of the lines with such scores.
    rows_in_words: the input in the message, such as "the 20 rows taken of rows.jsonl".
    """
    first_id = lines[unmatched[0]]["id"]
    reason = f"{len(unmatched)}, such as {first_id!r}, are not among {rows_in_words}"
    return ValueError(f"{output} holds the verdicts of other rows ({reason}): {OUTPUT_REMEDY}")


def _drop_wrong_places(
    places: PlaceNumbers, rows: Sequence[InputRow], lines: Sequence[OutputLine]
) -> bool:
    """Sets a row's entry in `places` to -1 if the line with this number holds no verdict on the
    row. Returns whether every other line has its row's id.

    places: the number of each row's line in `lines`, -1 for a row without a line.
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


def _append_chunk(chunk: JudgedRows, opened: _OpenOutput) -> None:
    """Appends a line for each row of a judged chunk to the output, and sets the rows' places in
    `opened`.
    """
    texts: list[str] = []
    next_place = len(opened.lines)  # the index, in the output, of the line that is written next
    for number, row, verdict in chunk:
        fingerprint = int(opened.marks[number])
        texts.append(_json_line(_output_line(row, verdict, fingerprint)))
        opened.places[number] = next_place
        next_place += 1
    opened.file.write("".join(texts))
    opened.file.flush()
    opened.lines.grow()  # finds the new lines in the file


def _output_line(row: InputRow, verdict: Verdict, mark: int) -> OutputLine:
    """Returns the output's line for a row. mark: the number of the row's fingerprint."""
    written = ""
    if isinstance(row.sample, Sample):
        written = f"{mark:016x}"
    return {"id": row.id, **verdict.to_dict(), "fingerprint": written}


def _in_rows_order(
    rows: Sequence[InputRow], lines: Sequence[OutputLine], places: PlaceNumbers
) -> Iterator[tuple[InputRow, OutputLine]]:
    """Yields each row with its line. The line's id is replaced by the row's id, which may have
    changed since the line was written. places: the number of each row's line in `lines`.
    """
    for row, place in zip(rows, places, strict=True):
        yield row, {**lines[int(place)], "id": row.id}


class _Tally:
    """Sums over the lines of an output that `over` has yielded so far."""

    def __init__(self) -> None:
        self.scored = 0
        self.total = 0.0  # the sum of the scores
        self.statuses = Counter[str]()
        self.characters = 0  # characters of the completions
        self.unread = Counter[str]()  # characters that no judge was shown, by kind

    def over(self, lines: Iterable[tuple[InputRow, OutputLine]]) -> Iterator[OutputLine]:
        """Yields each line after adding it to the sums. lines: each row with its line."""
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
    """Returns the completions that look like the failure of an API and not like an answer, such as
    "litellm.RateLimitError: Error code: 429", or the same text for many rows.
    """
    readable = array("Q")  # the indices of the rows that can be read, 8 bytes each
    for number, row in enumerate(rows):
        if isinstance(row.sample, Sample):
            readable.append(number)
    samples = View(rows, readable, lambda row: row.sample)
    ids = View(rows, readable, lambda row: row.id)
    return no_answers(samples, ids)


def _json_line(line: OutputLine) -> str:
    """Returns the line as JSON, with a line break at the end."""
    return json.dumps(line) + "\n"


def read_verdicts(output: Path) -> Sequence[Verdict]:
    """Returns the verdicts that `score_file` wrote, in the rows' order. The verdicts stay in the
    file: `verdicts[7]` reads the eighth line.

    Raises OSError if the file cannot be read. `verdicts[7]` raises ValueError if the eighth line is
    no verdict.
    """
    lines = Lines(output)
    return View(lines, range(len(lines)), _verdict_in)


def _verdict_in(line: OutputLine) -> Verdict:
    """Returns a line's verdict. Raises ValueError if the line holds no verdict."""
    names = {field.name for field in fields(Verdict)}
    return Verdict.from_dict({key: line[key] for key in names & line.keys()})


def _is_verdict_on(sample: Sample | str, line: OutputLine) -> bool:
    """Whether the line holds a verdict whose spans all end within the sample's completion."""
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
    keys_of_rows = set[str]()
    for row in rows:
        keys_of_rows.update(row.values)
    keys = sorted(keys_of_rows)
    missing = reward.missing_column(keys)
    if keys and missing:
        raise ValueError(
            f"{reward.__name__} needs the key {missing} in the rows of {source}, which have "
            f"{keys}: rename the key that holds it to {missing} (on a command line --columns "
            "OURS=THEIRS)."
        )


def _in_chunks(
    reward: Reward, rows: Sequence[InputRow], fresh: PlaceNumbers, again: PlaceNumbers
) -> Iterator[JudgedRows]:
    """Judges rows, and yields the rows with their verdicts, chunk by chunk.

    fresh: the indices of rows that no earlier run has judged. again: the indices of rows whose
    judge failed in an earlier run. The rows of `again` come last, in chunks without fresh rows.
    """
    for begin in range(0, len(fresh), ROWS_AT_ONCE):
        yield _judged_chunk(reward, rows, fresh[begin : begin + ROWS_AT_ONCE])
    yield from _chunks_asked_again(reward, rows, again)


def _chunks_asked_again(
    reward: Reward, rows: Sequence[InputRow], again: PlaceNumbers
) -> Iterator[JudgedRows]:
    """Judges rows whose judge failed in an earlier run, and yields the rows with their verdicts,
    chunk by chunk.

    A single bad row may make its whole chunk fail. So the first chunk is one row, and each chunk
    with an answer is followed by a chunk of twice the size. Of a chunk that fails as a whole, the
    first half is asked again as a chunk, until the bad row is alone.

    again: the indices of the rows.
    """
    size = 1
    failed_alone = 0  # the number of rows in succession that failed in a chunk of one row
    begin = 0
    while begin < len(again):
        chunk = _judged_chunk(reward, rows, again[begin : begin + size])
        is_failed = all(verdict.status.failed for _, _, verdict in chunk)
        is_judge_down = failed_alone >= DOWN_AFTER
        if is_failed and len(chunk) > 1 and not is_judge_down:
            # ask the first half of these rows, without the others
            size = len(chunk) // 2
            continue
        yield chunk
        begin += len(chunk)
        # the size of the next chunk
        if not is_failed:
            failed_alone = 0
            size = min(2 * size, ROWS_AT_ONCE)
        elif len(chunk) == 1:
            failed_alone += 1
            size = 1
        if failed_alone >= DOWN_AFTER:
            size = ROWS_AT_ONCE  # the judge is down, so let the other rows fail in few calls


def _judged_chunk(reward: Reward, rows: Sequence[InputRow], numbers: PlaceNumbers) -> JudgedRows:
    """Judges the rows with these indices, and returns each row with its index and verdict."""
    places = numbers.tolist()
    chunk = [rows[place] for place in places]
    verdicts = _judge_rows(reward, chunk)
    return list(zip(places, chunk, verdicts, strict=True))


def _judge_rows(reward: Reward, rows: Sequence[InputRow]) -> Iterator[Verdict]:
    """Yields each row's verdict, in the order of the rows. All rows that can be read are judged in
    one batch, and each other row gets the status not_applicable with its fault as the note, such as
    "line 2 is not JSON".
    """
    samples = list(_readable_samples(rows))
    verdicts = iter(reward.judge_samples(samples))
    for row in rows:
        if isinstance(row.sample, str):
            yield Verdict(None, Status.NOT_APPLICABLE, note=row.sample)
        else:
            yield next(verdicts)
