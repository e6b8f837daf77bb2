"""What a comparison and its run folders cost, as far as they say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanreward.training.evaluation.answer_scores.training_cost import compute_of, training_of
from tests.support.files import write_lines


def folder(path: Path, lines: Any, **versions: Any) -> str:
    path.mkdir()
    (path / "recipe.yaml").write_text("algorithm: dapo\npolicy: {model: base}\n")
    write_lines(path / "metrics.jsonl", lines)
    common = {"processes": 2, "resumed": [], "machine": "x86_64"}
    (path / "versions.json").write_text(json.dumps({**common, **versions}))
    return str(path)


LINES = [
    {"step": 1, "num_tokens": 500.0},
    {"step": 2, "num_tokens": 1200.0},
    {"step": 2, "train_runtime": 1800.0},
]


def test_what_a_run_folder_says(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", LINES)
    said = {"algorithm": "dapo", "from": "base", "steps": 2, "tokens": 1200, "hours": 0.5}
    assert training_of(run) == said | {"processes": 2, "machine": "x86_64"}
    clocked = [
        {**line, "seconds/judge": 3.0 * line["step"], "seconds/train": 1.0} for line in LINES[:2]
    ]
    found = training_of(folder(tmp_path / "clocked", clocked))["seconds"]
    assert found == {"judge": 4.5, "train": 1.0}
    again = [{"checkpoint": "checkpoint-1"}]
    resumed = training_of(folder(tmp_path / "resumed", LINES, resumed=again))
    assert "hours" not in resumed  # its log knows only the last part
    assert training_of(folder(tmp_path / "begun", LINES[:1]))["steps"] == 1
    assert training_of("answers.jsonl") == training_of("Qwen/Qwen2.5-VL-7B") == {}


@pytest.mark.parametrize(
    "value", ["-5", "NaN", "Infinity", "1e999", "null", "true", '"many"', "[]"]
)
@pytest.mark.parametrize("key", ["step", "num_tokens", "train_runtime"])
def test_what_is_no_number_of_work_is_one_sentence(tmp_path: Path, key: str, value: str) -> None:
    run = folder(tmp_path / "run", LINES)
    (tmp_path / "run" / "metrics.jsonl").write_text(f'{{"step": 1}}\n{{"{key}": {value}}}\n')
    with pytest.raises(ValueError, match=rf"metrics.jsonl has {key} .* finite number .* remove"):
        training_of(run)


def test_half_a_line_is_named(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", [])
    (tmp_path / "run" / "metrics.jsonl").write_text('{"step": 1')
    with pytest.raises(ValueError, match=r"metrics.jsonl line 1"):
        training_of(run)


def test_tokens_are_counted_once_a_run() -> None:
    sides = {"dapo": ["d0", "d1"], "hub": ["h", "h"], "file": ["a.jsonl", "a.jsonl"]}
    two, same = np.array([[3, 4], [5, 6]]), np.array([[7, 8], [7, 8]])
    found = compute_of(sides, {"dapo": two, "hub": same, "file": None})
    written = {side: (one.runs, one.tokens_written) for side, one in found.items()}
    assert written == {"dapo": (2, 18), "hub": (1, 15), "file": (1, None)}
    assert found["dapo"].training == [{}, {}]
