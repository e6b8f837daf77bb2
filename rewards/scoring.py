"""Scores the completions of a file. An interrupted run can be resumed.

    summary = score_file(reward, Path("rows.jsonl"), Path("verdicts.jsonl"), settings={"reward": "posh"})
    summary.scored, summary.bad_lines, summary.pairs_per_second

The output has one verdict per row, in the rows' order. A row that cannot be read gets a verdict without a score, and
its line number is reported. `<output>.settings.json` says what made the output. A run with another reward, judge,
prompts or rows does not add to it.
"""

import fcntl
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.files.json_lines import read_object
from spanreward.rewards.files.tables import is_there, table_rows
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.row import read_sample

CHUNK = 64


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run of `score_file` did.

    mean_score: over the scored rows of the whole output, None if there are none. statuses: counts of every row of the
    output. bad_lines: (line number, reason) of the rows that this run could not score.
    """

    rows: int
    resumed: int
    scored: int
    statuses: dict[str, int]
    bad_lines: list[tuple[int, str]]
    mean_score: float | None
    seconds: float
    pairs_per_second: float


@dataclass(frozen=True, slots=True)
class InputRow:
    """One line of the input: its number, its `id` in the output, its keys, and its Sample or why it has none."""

    number: int
    id: str
    keys: frozenset[str]
    sample: Sample | str


class ScoringError(ValueError):
    """The file cannot be scored. The message says what to change."""


def score_file(
    reward: Reward,
    source: Path | str,
    output: Path,
    settings: dict[str, Any],
    progress: Callable[[int, int], None] = lambda done, total: None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Summary:
    """Scores the rows without a verdict. `progress(done, total)` is called at the start and after every chunk.

    source, columns, limit: see `table_rows`. settings: what decides the verdicts (metric, judge, options). They must
    equal those of an existing output. Raises ScoringError for a missing file, an output with other settings, or a
    column that no row has.
    """
    rows = read_rows(source, columns, limit)
    _check_columns(reward, rows, source)
    bad: list[tuple[int, str]] = []
    start = time.perf_counter()
    with _only_writer(output) as file:
        done = _finished_rows(output, settings, rows)
        progress(done, len(rows))
        for begin in range(done, len(rows), CHUNK):
            chunk = rows[begin : begin + CHUNK]
            for row, verdict in zip(chunk, _judge_rows(reward, chunk), strict=True):
                if verdict.score is None:
                    bad.append((row.number, verdict.note))
                file.write(json.dumps({"id": row.id, **to_json(verdict)}) + "\n")
            file.flush()
            progress(begin + len(chunk), len(rows))
    seconds = time.perf_counter() - start
    written = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    scores = [entry["score"] for entry in written if entry["score"] is not None]
    return Summary(
        rows=len(rows),
        resumed=done,
        scored=len(scores),
        statuses=dict(Counter(entry["status"] for entry in written)),
        bad_lines=bad,
        mean_score=sum(scores) / len(scores) if scores else None,
        seconds=seconds,
        pairs_per_second=(len(rows) - done) / seconds,
    )


def read_rows(source: Path | str, columns: Mapping[str, str] | None = None, limit: int | None = None) -> list[InputRow]:
    """Returns the rows of any file or dataset that `table_rows` reads. Raises ScoringError where there is no row."""
    if not is_there(source):
        raise ScoringError(f"there is no input file {source}.")
    try:
        rows = [read_row(*row) for row in table_rows(source, columns, limit)]
    except ValueError as error:
        raise ScoringError(str(error)) from None
    if not rows:
        raise ScoringError(f"{source} holds no rows: write one JSON object a line.")
    return rows


def read_row(number: int, where: str, row: dict[str, Any] | str) -> InputRow:
    """Returns the row, with the reason in place of the sample when it cannot be judged."""
    if isinstance(row, str):
        return InputRow(number, where, frozenset(), row)
    said = row.get("completion")
    sample: Sample | str = f"{where} needs the key 'completion' with a text, got {said!r}"
    if isinstance(said, str) or (isinstance(said, list) and all(isinstance(message, dict) for message in said)):
        try:
            sample = read_sample(row, said, "" if row.get("prompt") is None else row["prompt"])
        except ValueError as error:
            sample = f"{where}: {error}"
    return InputRow(number, str(number if row.get("id") is None else row["id"]), frozenset(row), sample)


def _check_columns(reward: Reward, rows: Sequence[InputRow], source: Path | str) -> None:
    """Raises ScoringError if the reward needs a column that no row has."""
    keys = sorted(frozenset().union(*(row.keys for row in rows)))
    missing = reward.missing_column(keys)
    if keys and missing:
        needed = f"{reward.__name__} needs the key {missing} in the rows of {source}, which have {keys}"
        raise ScoringError(f"{needed}: rename the key that holds it to {missing}.")


@contextmanager
def _only_writer(output: Path) -> Iterator[TextIO]:
    """Opens the output for appending. Raises ScoringError if another process has it open."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ScoringError(
                f"another process writes {output}: wait for its end, or choose another --output."
            ) from None
        yield file


def _finished_rows(output: Path, settings: dict[str, Any], rows: Sequence[InputRow]) -> int:
    """Returns how many rows the output has. Checks or writes its settings, and removes a half-written last line."""
    beside = output.with_name(output.name + ".settings.json")
    wanted = json.loads(json.dumps({**settings, "spanreward": version("spanreward")}, default=str))
    if output.stat().st_size == 0:
        beside.write_text(json.dumps(wanted, indent=2) + "\n")
        return 0
    remedy = "choose another --output, or remove the file to start anew."
    if not beside.is_file():
        raise ScoringError(f"{output} exists and nothing says what made it (there is no {beside}): {remedy}")
    made_with = _object(beside.read_bytes())
    if not made_with:
        raise ScoringError(f"{beside}, which says what made {output}, cannot be read: {remedy}")
    if made_with != wanted:
        differing = [key for key in {**made_with, **wanted} if made_with.get(key) != wanted.get(key)]
        had, asked = ({key: side.get(key) for key in differing} for side in (made_with, wanted))
        raise ScoringError(f"{output} was made with {had}, and you ask for {asked}: {remedy}")
    complete = output.read_bytes()
    complete = complete[: complete.rfind(b"\n") + 1]
    ids = []
    for number, line in enumerate(complete.split(b"\n")[:-1], start=1):
        verdict = _object(line)
        if not {"id", "score", "status"} <= verdict.keys():
            raise ScoringError(f"line {number} of {output} is no verdict: {remedy}")
        ids.append(verdict["id"])
    if ids != [row.id for row in rows[: len(ids)]]:
        raise ScoringError(f"{output} holds the verdicts of other rows: {remedy}")
    with output.open("r+b") as file:
        file.truncate(len(complete))
    return len(ids)


def _object(content: bytes) -> dict[str, Any]:
    """Returns a JSON object, empty for anything else."""
    try:
        return read_object(content, "")
    except ValueError:
        return {}


def _judge_rows(reward: Reward, rows: Sequence[InputRow]) -> Iterator[Verdict]:
    """Yields each row's verdict, in order. All readable rows are judged in one batch."""
    verdicts = iter(reward.judge_samples([row.sample for row in rows if isinstance(row.sample, Sample)]))
    for row in rows:
        if isinstance(row.sample, str):
            yield Verdict(None, Status.NOT_APPLICABLE, note=row.sample)
        else:
            yield next(verdicts)


def to_json(verdict: Verdict) -> dict[str, Any]:
    """Returns the verdict as plain data for `json.dumps`."""
    return {**asdict(verdict), "status": str(verdict.status)}
