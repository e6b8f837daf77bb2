"""Scoring a file keeps no rows, texts or verdicts: memory holds a chunk, and some bytes a row."""

import csv
import gc
import gzip
import json
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from spanreward import Reward, Sample, Span, Status, Verdict
from spanreward.rewards.files import on_disk
from spanreward.rewards.rows import delimited
from spanreward.rewards.rows.lines import InputRow, read_rows
from spanreward.rewards.scoring import CHUNK, read_verdicts, score_file, score_rows
from spanreward.training.evaluation.page import scored

BYTES_A_ROW = 250  # of a row's id, fingerprint and places, and what NumPy sorts them in
ROWS = 600  # of the smaller file
TEXT = "A red circle sits on the blue box near two green stars. " * 20  # 1,120 characters


class Watching(Reward):
    """Notes at each batch how many rows, samples and verdicts live. down: no row gets a score."""

    columns = ("reference",)

    def __init__(self, down: bool = False) -> None:
        super().__init__("watching")
        self.most: dict[str, int] = {}
        self.down = down
        self.watches = True

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        if self.watches:
            note_living(self.most)
        if self.down:
            return [Verdict(None, Status.TIMEOUT, note="no answer") for _ in samples]
        return [self.verdict(sample) for sample in samples]

    def verdict(self, sample: Sample) -> Verdict:
        spans = [Span(n, n + 1, 0.5, 0.0, "entity", f"a note {n}", n) for n in range(4)]
        return Verdict(len(sample.completion) % 10 / 10, spans=tuple(spans))


def note_living(most: dict[str, int]) -> None:
    living = [type(thing) for thing in gc.get_objects()]
    for kind in (InputRow, Sample, Verdict):
        most[kind.__name__] = max(most.get(kind.__name__, 0), living.count(kind))


def made(count: int) -> list[dict[str, str]]:
    return [
        {"id": f"row {n}", "completion": f"{TEXT}{n}", "reference": f"{n} {TEXT}"}
        for n in range(count)
    ]


def write(path: Path, count: int) -> Path:
    """Writes so many rows in the form that the file's name ends with."""
    rows = made(count)
    if path.suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path, row_group_size=100)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    else:
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def peak(work: Callable[[], Any]) -> int:
    """Returns the most bytes that Python held while this was done.

    Python keeps up to 2,000 tuples of each small size that were let go. They are there before.
    """
    gc.collect()
    gc.disable()  # it lets them go
    for size in range(1, 21):
        let_go = [tuple(range(size)) for _ in range(2500)]
        del let_go
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    gc.enable()
    return most


def test_a_chunk_of_rows_lives_at_a_time(tmp_path: Path) -> None:
    source, output = write(tmp_path / "rows.jsonl", 8 * CHUNK), tmp_path / "out.jsonl"
    gc.collect()
    before: dict[str, int] = {}
    note_living(before)
    for _ in range(2):
        reward = Watching()
        score_file(reward, source, output, {})
        lines = output.read_text().splitlines(keepends=True)
        output.write_text("".join(lines[: 4 * CHUNK]))  # half is kept in the second run
        for kind, count in reward.most.items():
            # the chunk before is let go when this one is there
            assert count - before[kind] <= 2 * CHUNK + 2, kind
    assert reward.most["InputRow"] - before["InputRow"] >= CHUNK


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in memory whatever the number of rows is less than the rows of these files."""
    monkeypatch.setattr(on_disk, "IN_MEMORY", 1 << 10)
    monkeypatch.setattr(delimited, "PIECE_BYTES", 1 << 14)
    monkeypatch.setattr(scored, "MAX_PAGE_ROWS", 20)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "parquet"])
def test_rows_are_read_one_by_one(tmp_path: Path, ending: str) -> None:
    peaks = []
    for count in (ROWS, 2 * ROWS):
        source = write(tmp_path / f"rows.{ending}", count)
        peaks.append(peak(lambda: read_rows(source)))  # noqa: B023
    assert peaks[1] - peaks[0] <= BYTES_A_ROW * ROWS


@pytest.mark.usefixtures("small")
def test_memory_grows_by_some_bytes_a_row(tmp_path: Path) -> None:
    reward = Watching()
    reward.watches = False
    peaks: dict[str, list[int]] = {"first": [], "resumed": [], "failed": [], "failed again": []}
    for count in (ROWS, 2 * ROWS):
        source = write(tmp_path / "rows.jsonl", count)
        for run, of_run in peaks.items():
            reward.down = "failed" in run
            output = tmp_path / f"{reward.down}{count}.jsonl"
            of_run.append(peak(lambda: score_file(reward, source, output, {})))  # noqa: B023
    for run, (fewer, more) in peaks.items():
        assert more - fewer <= BYTES_A_ROW * ROWS, run


@pytest.mark.usefixtures("small")
def test_a_page_holds_the_rows_that_it_shows(tmp_path: Path) -> None:
    reward = Watching()
    reward.watches = False
    peaks = []
    for count in (ROWS, 2 * ROWS):
        source, output = write(tmp_path / "rows.jsonl", count), tmp_path / f"out{count}.jsonl"
        score_file(reward, source, output, {})

        def draw(source: Path = source, output: Path = output) -> None:
            page = tmp_path / "page.html"
            scored.write_scored(page, "rows", read_rows(source), read_verdicts(output))

        peaks.append(peak(draw))
    assert peaks[1] - peaks[0] <= BYTES_A_ROW * ROWS


def test_rows_in_memory_are_scored_as_those_of_a_file(tmp_path: Path) -> None:
    source, outputs = write(tmp_path / "rows.jsonl", 100), (tmp_path / "a", tmp_path / "b")
    rows = list(read_rows(source))
    reward = Watching()
    score_file(reward, source, outputs[0], {})
    score_rows(reward, rows, source, outputs[1], {}, lambda done, total: None, False)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
