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
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from spanreward.rewards.base.unread import NotRead, not_read
from spanreward.rewards.base.verdict import Sample, Status, Unread, Verdict
from spanreward.rewards.files.outputs import (
    REMEDY,
    by_fingerprint,
    check_apart,
    resumed_lines,
    write_whole,
)
from spanreward.rewards.metrics import METRICS
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.viewers import check_seen
from spanreward.rewards.rows.fingerprint import fingerprint
from spanreward.rewards.rows.lines import InputRow, read_rows
from spanreward.rewards.rows.tables import Rows, read_table
from spanreward.rewards.text.no_answers import NoAnswer, no_answers

CHUNK = 64
FAILED = frozenset(str(status) for status in Status if status.failed)
DOWN = 16  # rows that fail in succession, each by itself: no row is to blame, but the judge
KEYS = {"id": str, "score": int | float | None, "status": str, "fingerprint": str}
Line = dict[str, Any]  # of the output: a verdict with the row's id and fingerprint


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run of `score_file` did.

    kept: the rows whose score was there. asked_again: those whose id or text was there, without a
    score or with another text. new: the others. mean_score: over the scored rows of the whole
    output, None if there are none. statuses: counts of every row of the output. bad_lines: (line
    number, reason) of the rows that this run could not score. no_answers: completions that look
    like a failure of whoever was asked, and are scored like any other. not_read: characters of the
    completions that no judge was shown.
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
    check_seen(reward, [row.sample for row in rows if isinstance(row.sample, Sample)])
    own = type(reward) not in METRICS.values()
    marks = [fingerprint(row.sample, own) if isinstance(row.sample, Sample) else "" for row in rows]
    bad: list[tuple[int, str]] = []
    start = time.perf_counter()
    with resumed_lines(output, settings, KEYS, overwrite) as (file, lines):
        scored = [line for line in lines if line["score"] is not None]
        known = {row.id for row in rows} | set(marks)
        gone = [line["id"] for line in scored if not known & {line["id"], line["fingerprint"]}]
        if gone:
            raise _other_rows(output, gone, f"the {len(rows)} rows taken of {source}")
        found = by_fingerprint(scored, marks)
        for number in list(found):
            if not _is_verdict_on(rows[number].sample, found[number]):
                del found[number]
        if reward.by_batch and len(found) < len(rows):
            found = {}
            file.truncate(0)
        kept, waiting = len(found), [number for number in range(len(rows)) if number not in found]
        failed: set[str] = set()
        if not reward.by_batch:
            failed = {line["fingerprint"] for line in lines if line["status"] in FAILED}
        progress(kept, len(rows))
        appended: list[int] = []
        for chunk, verdicts in _in_chunks(reward, rows, waiting, failed, marks):
            for number, verdict in zip(chunk, verdicts, strict=True):
                if verdict.score is None:
                    bad.append((rows[number].number, verdict.note))
                line = {"id": rows[number].id, **verdict.to_dict()}
                found[number] = {**line, "fingerprint": marks[number]}
            file.write(_text(found[number] for number in chunk))
            file.flush()
            appended += chunk
            progress(kept + len(appended), len(rows))
        bad.sort()
        written = [{**found[number], "id": row.id} for number, row in enumerate(rows)]
        if written != lines + [found[number] for number in appended]:
            write_whole(output, _text(written))
    seconds = time.perf_counter() - start
    earlier = {line[key] for line in lines for key in ("id", "fingerprint")}
    again = sum(rows[number].id in earlier or marks[number] in earlier for number in waiting)
    scores = [line["score"] for line in written if line["score"] is not None]
    return Summary(
        rows=len(rows),
        kept=kept,
        asked_again=again,
        new=len(waiting) - again,
        scored=len(scores),
        statuses=dict(Counter(line["status"] for line in written)),
        bad_lines=bad,
        mean_score=sum(scores) / len(scores) if scores else None,
        seconds=seconds,
        pairs_per_second=len(waiting) / seconds,
        no_answers=_no_answers(rows),
        not_read=_not_read(rows, written),
    )


def score(
    reward: Reward, rows: Rows, columns: Mapping[str, str] | None = None, limit: int | None = None
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
    if not any(row.held for row in read):
        raise ValueError(
            f"no row can be read ({read[0].sample}): of a pandas frame, give "
            "frame.to_dict('records')."
        )
    _check_columns(reward, read, rows if isinstance(rows, str | Path) else "the table")
    check_seen(reward, [row.sample for row in read if isinstance(row.sample, Sample)])
    verdicts = [
        one
        for start in range(0, len(read), CHUNK)
        for one in _judge_rows(reward, read[start : start + CHUNK])
    ]
    found = []
    for row, verdict in zip(read, verdicts, strict=True):
        said = verdict.to_dict()
        said |= said.pop("parts")
        found.append(
            {**row.held, **{f"{reward.__name__}/{key}": value for key, value in said.items()}}
        )
    return found


def _other_rows(output: Path, gone: Sequence[str], taken: str) -> ValueError:
    """Returns the error for an output with scores of rows that the input has not. gone: their
    ids.
    """
    others = f"{len(gone)}, such as {gone[0]!r}, are not among {taken}"
    return ValueError(f"{output} holds the verdicts of other rows ({others}): {REMEDY}")


def _no_answers(rows: Sequence[InputRow]) -> list[NoAnswer]:
    samples = []
    ids = []
    for row in rows:
        if isinstance(row.sample, Sample):
            samples.append(row.sample)
            ids.append(row.id)
    return no_answers(samples, ids)


def _not_read(rows: Sequence[InputRow], lines: Sequence[Line]) -> NotRead:
    completions = []
    for row, line in zip(rows, lines, strict=True):
        if isinstance(row.sample, Sample):
            unread = [Unread(**part) for part in line.get("unread", ())]
            completions.append((row.sample.completion, unread))
    return not_read(completions)


def _text(lines: Iterable[Line]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def read_verdicts(output: Path) -> list[Verdict]:
    """Returns the verdicts that `score_file` wrote, in the rows' order.

    Raises ValueError for others.
    """
    return [_verdict_in(line) for _, line in read_table(output)]


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
    keys = sorted(frozenset().union(*(row.held for row in rows)))
    missing = reward.missing_column(keys)
    if keys and missing:
        needed = (
            f"{reward.__name__} needs the key {missing} in the rows of {source}, which have {keys}"
        )
        raise ValueError(
            f"{needed}: rename the key that holds it to {missing} (on a command line --columns "
            "OURS=THEIRS)."
        )


def _in_chunks(
    reward: Reward,
    rows: Sequence[InputRow],
    waiting: Sequence[int],
    failed: Container[str],
    marks: Sequence[str],
) -> Iterator[tuple[list[int], list[Verdict]]]:
    """Yields the waiting rows' numbers and verdicts, chunk by chunk. failed: the fingerprints of
    rows whose judge failed in an earlier run. They come last, in chunks without other rows.
    """
    fresh = [number for number in waiting if marks[number] not in failed]
    again = [number for number in waiting if marks[number] in failed]
    for begin in range(0, len(fresh), CHUNK):
        chunk = fresh[begin : begin + CHUNK]
        yield chunk, list(_judge_rows(reward, [rows[number] for number in chunk]))
    size = 1
    alone = 0  # rows in succession that failed by themselves
    begin = 0
    while begin < len(again):
        chunk = again[begin : begin + size]
        verdicts = list(_judge_rows(reward, [rows[number] for number in chunk]))
        if all(verdict.status.failed for verdict in verdicts):
            if len(chunk) == 1:
                alone += 1
            if len(chunk) > 1 and alone < DOWN:
                size = len(chunk) // 2
                continue
            size = 1 if alone < DOWN else CHUNK
        else:
            alone = 0
            size = min(2 * size, CHUNK)
        begin += len(chunk)
        yield chunk, verdicts


def _judge_rows(reward: Reward, rows: Sequence[InputRow]) -> Iterator[Verdict]:
    """Yields each row's verdict, in order. All readable rows are judged in one batch."""
    verdicts = iter(
        reward.judge_samples([row.sample for row in rows if isinstance(row.sample, Sample)])
    )
    for row in rows:
        if isinstance(row.sample, str):
            yield Verdict(None, Status.NOT_APPLICABLE, note=row.sample)
        else:
            yield next(verdicts)
