"""Score completions from a JSONL file, resumably.

    summary = score_file(reward, "rows.jsonl", "verdicts.jsonl")
    summary.scored, summary.bad_lines, summary.pairs_per_second

One verdict is written per row, in the rows' order. A row that cannot be read gets a verdict too, with a status and a
note, and its line number is reported; the others are scored. Beside the output lies `<output>.settings.json`, which
says what made it: an output made with another reward, judge or prompts is not added to.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rewards.reward import Reward, read_sample
from rewards.verdict import Sample, Status, Verdict

CHUNK = 64


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run of `score_file` did. mean_score is over the scored rows of the whole output, None when there are none.

    bad_lines: (line number, reason) of this run's unreadable rows; statuses count every row of the output.
    """

    rows: int
    resumed: int
    scored: int
    statuses: dict[str, int]
    bad_lines: list[tuple[int, str]]
    mean_score: float | None
    seconds: float
    pairs_per_second: float


class ScoringError(ValueError):
    """The file cannot be scored as asked; the message says what to change."""


def score_file(
    reward: Reward,
    source: Path,
    output: Path,
    settings: dict[str, Any],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Summary:
    """Score the rows that have no verdict yet; `progress(done, total)` is called after every chunk.

    settings: what decides the verdicts (metric, judge, options); compared with those of an output that exists. Raises
    ScoringError for a missing file, an output made otherwise, or a column that no row has.
    """
    if not source.is_file():
        raise ScoringError(f"there is no input file {source}.")
    lines = [(number, line) for number, line in enumerate(source.read_text("utf-8").split("\n"), 1) if line.strip()]
    if not lines:
        raise ScoringError(f"{source} holds no rows: write one JSON object a line.")
    done = finished_rows(output, settings)
    todo = lines[done:]
    rows = [read_row(number, line) for number, line in todo]
    check_columns(reward, lines, source)
    bad: list[tuple[int, str]] = []
    start = time.perf_counter()
    with output.open("a", encoding="utf-8") as file:
        for begin in range(0, len(rows), CHUNK):
            for (number, _), verdict, identity in judge_rows(
                reward, todo[begin : begin + CHUNK], rows[begin : begin + CHUNK]
            ):
                if verdict.status is Status.NOT_APPLICABLE:
                    bad.append((number, verdict.note))
                file.write(json.dumps({"id": identity, **to_json(verdict)}) + "\n")
            file.flush()
            progress(done + min(begin + CHUNK, len(rows)), len(lines))
    seconds = time.perf_counter() - start
    statuses: dict[str, int] = {}
    scores = []
    for written in output.read_text("utf-8").splitlines():
        verdict_row = json.loads(written)
        statuses[verdict_row["status"]] = statuses.get(verdict_row["status"], 0) + 1
        if verdict_row["score"] is not None:
            scores.append(verdict_row["score"])
    return Summary(
        rows=len(lines),
        resumed=done,
        scored=len(scores),
        statuses=statuses,
        bad_lines=bad,
        mean_score=sum(scores) / len(scores) if scores else None,
        seconds=seconds,
        pairs_per_second=len(rows) / seconds if seconds else 0.0,
    )


def finished_rows(output: Path, settings: dict[str, Any]) -> int:
    """How many rows the output holds already; its settings are checked or written, a half-written line removed."""
    beside = output.with_name(output.name + ".settings.json")
    settings = json.loads(json.dumps({**settings, "spanreward": version("spanreward")}))
    if not output.exists():
        output.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(settings, indent=2) + "\n")
        return 0
    made_with = json.loads(beside.read_text()) if beside.exists() else None
    if made_with != settings:
        raise ScoringError(
            f"{output} was made with {made_with or 'unknown settings'}, and you ask for {settings}: choose another "
            "--output, or remove the file to start anew."
        )
    complete = output.read_bytes().rpartition(b"\n")[0]
    output.write_bytes(complete + b"\n" if complete else b"")
    return complete.count(b"\n") + 1 if complete else 0


def read_row(number: int, line: str) -> dict[str, Any] | str:
    """The row, or why it cannot be one."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        return f"line {number} is not JSON: {error}"
    if not isinstance(row, dict):
        return f"line {number} must be a JSON object, got {type(row).__name__}"
    if not isinstance(row.get("completion"), str):
        return f"line {number} needs the key 'completion' with a text, got {row.get('completion')!r}"
    return row


def check_columns(reward: Reward, lines: list[tuple[int, str]], source: Path) -> None:
    """Raise ScoringError when no row at all has a column that the reward needs."""
    rows = [row for row in (read_row(*line) for line in lines) if isinstance(row, dict)]
    for column in reward.columns:
        if rows and not any(column in row for row in rows):
            keys = sorted({key for row in rows for key in row})
            raise ScoringError(
                f"{reward.__name__} needs the key {column!r} in the rows of {source}, which have {keys}: rename the "
                f"key that holds it to {column!r}."
            )


def judge_rows(
    reward: Reward, lines: list[tuple[int, str]], rows: list[dict[str, Any] | str]
) -> Iterator[tuple[tuple[int, str], Verdict, str]]:
    """Each line with its verdict and id, in order; the readable rows are judged together."""
    samples: list[Sample | str] = []
    for (number, _), row in zip(lines, rows, strict=True):
        try:
            samples.append(row if isinstance(row, str) else read_sample(row, row["completion"], row.get("prompt", "")))
        except ValueError as error:
            samples.append(f"line {number}: {error}")
    readable = [sample for sample in samples if isinstance(sample, Sample)]
    verdicts = iter(reward.judge_samples(readable))
    for line, row, sample in zip(lines, rows, samples, strict=True):
        identity = str(row.get("id", line[0])) if isinstance(row, dict) else f"line {line[0]}"
        if isinstance(sample, str):
            yield line, Verdict(None, Status.NOT_APPLICABLE, note=sample), identity
        else:
            yield line, next(verdicts), identity


def to_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as plain data, without the fields that say nothing."""
    data = asdict(verdict)
    return {**data, "status": str(verdict.status)}
