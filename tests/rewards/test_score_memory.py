"""Scoring a file keeps no rows, texts or verdicts: memory holds a chunk, and some bytes a row."""

import gc
import gzip
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from spanreward import Reward, Sample, Span, Status, Verdict
from spanreward.rewards.files import on_disk
from spanreward.rewards.rows import delimited
from spanreward.rewards.rows.lines import read_rows
from spanreward.rewards.scoring import read_verdicts, score_file
from spanreward.training.evaluation.page import scored
from tests.support.files import write_lines

BYTES_A_ROW = 250  # of a row's id, fingerprint and places, and what NumPy sorts them in
ROWS = 300  # of the smaller file
TEXT = "A red circle sits on the blue box near two green stars. " * 20  # 1,120 characters


class Noted(Reward):
    """Four notes a verdict. down: no row gets a score."""

    columns = ("reference",)
    down = False

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        if self.down:
            return [Verdict(None, Status.TIMEOUT, note="no answer") for _ in samples]
        return [self.verdict(sample) for sample in samples]

    def verdict(self, sample: Sample) -> Verdict:
        spans = [Span(n, n + 1, 0.5, 0.0, "entity", f"a note {n}", n) for n in range(4)]
        return Verdict(len(sample.completion) % 10 / 10, spans=tuple(spans))


def write(path: Path, count: int) -> Path:
    """Writes so many rows in the form that the file's name ends with."""
    rows = []
    for n in range(count):
        rows.append({"id": f"row {n}", "completion": f"{TEXT}{n}", "reference": f"{n} {TEXT}"})
    if path.suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path, row_group_size=100)
    elif path.suffix == ".csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    else:
        write_lines(path, rows)
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(path.read_bytes()))
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


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in memory whatever the number of rows is less than the rows of these files."""
    monkeypatch.setattr(on_disk, "IN_MEMORY", 1 << 10)
    monkeypatch.setattr(delimited, "PIECE_BYTES", 1 << 14)
    monkeypatch.setattr(scored, "MAX_PAGE_ROWS", 20)


def assert_grows_little(peak_of: Callable[[int], int]) -> None:
    """peak_of: the most bytes for this number of rows."""
    fewer = peak_of(ROWS)
    assert peak_of(2 * ROWS) - fewer <= BYTES_A_ROW * ROWS


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "parquet"])
def test_rows_are_read_one_by_one(tmp_path: Path, ending: str) -> None:
    assert_grows_little(
        lambda count: peak(partial(read_rows, write(tmp_path / f"rows.{ending}", count)))
    )


@pytest.mark.usefixtures("small")
def test_memory_grows_by_some_bytes_a_row(tmp_path: Path) -> None:
    reward = Noted("noted")
    peaks: dict[str, list[int]] = {"first": [], "resumed": [], "failed": [], "failed again": []}
    for count in (ROWS, 2 * ROWS):
        source = write(tmp_path / "rows.jsonl", count)
        for run, of_run in peaks.items():
            reward.down = "failed" in run
            output = tmp_path / f"{reward.down}{count}.jsonl"
            of_run.append(peak(partial(score_file, reward, source, output, {})))
    for run, (fewer, more) in peaks.items():
        assert more - fewer <= BYTES_A_ROW * ROWS, run


@pytest.mark.usefixtures("small")
def test_a_page_holds_the_rows_that_it_shows(tmp_path: Path) -> None:
    def peak_of(count: int) -> int:
        source, output = write(tmp_path / "rows.jsonl", count), tmp_path / f"out{count}.jsonl"
        score_file(Noted("noted"), source, output, {})
        page = tmp_path / "page.html"
        return peak(
            lambda: scored.write_scored(page, "rows", read_rows(source), read_verdicts(output))
        )

    assert_grows_little(peak_of)
