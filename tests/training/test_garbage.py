"""What is loaded is left out of garbage collections while rows are judged, and only then."""

import gc
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from spanreward.training.commands import compare, score, serve
from spanreward.training.garbage import gc_skips_loaded_objects
from tests.support.files import write_lines

METRIC = """import gc
from spanreward import Sample, reward

@reward()
def frozen(sample: Sample) -> float:
    return float(gc.get_freeze_count() > 1000)
"""


@pytest.fixture
def metric(tmp_path: Path) -> str:
    """A metric that scores 1 if what was loaded is left out."""
    (tmp_path / "own.py").write_text(METRIC)
    return f"{tmp_path}/own.py:frozen"


def called(monkeypatch: pytest.MonkeyPatch, command: Any, *words: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["command", *map(str, words)])
    command.main()


def test_it_ends_with_the_block_also_by_an_exception() -> None:
    counts = []

    def fail() -> None:
        with gc_skips_loaded_objects():
            counts.append(gc.get_freeze_count())
            raise ValueError("within")

    with pytest.raises(ValueError, match="within"):
        fail()
    assert counts[0] > 1000
    assert gc.get_freeze_count() == 0


def test_score_and_compare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, metric: str) -> None:
    lines = [{"id": str(place), "completion": "A dog.", "reference": "A cat."} for place in (0, 1)]
    rows = write_lines(tmp_path / "rows.jsonl", lines)
    scored, compared = tmp_path / "verdicts.jsonl", tmp_path / "out"
    called(monkeypatch, score, metric, "--input", rows, "--output", scored)
    assert gc.get_freeze_count() == 0
    sides = (f"one={rows}", f"same={rows}", "--data", rows)
    called(monkeypatch, compare, *sides, "--metric", metric, "--output", compared)
    assert gc.get_freeze_count() == 0
    for file, count in ((scored, 2), (compared / "completions.jsonl", 4)):
        assert file.read_text().count('"score": 1.0') == count


def test_serve(monkeypatch: pytest.MonkeyPatch, metric: str) -> None:
    server = pytest.importorskip("spanreward.training.serve.server").RewardServer
    counts = []
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(server, "run", lambda *_, **__: counts.append(gc.get_freeze_count()))
    called(monkeypatch, serve, metric, "--port", "0")
    (count,) = counts
    assert count > 1000
    assert gc.get_freeze_count() == 0
