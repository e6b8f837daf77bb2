"""`spanreward train` ends well, without a score, and by --stop-on."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from experiments.scenes.parts import SCENES, TINY
from spanreward.rewards import PoshReward, Status, Verdict
from spanreward.training.callbacks import PROBLEMS
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.health import Limits
from tests.support.command import Done, spanreward
from tests.support.files import read_lines, write_lines
from tests.support.paths import ROOT
from tests.support.tiny_trainer import COMMON

SMALL = {"per_device_train_batch_size": 4, "max_completion_length": 8}
SEER = f"{ROOT}/tests/support/seers.py:Seer"
TRAINER = {name: value for name, value in COMMON.items() if name != "seed"} | SMALL


def train(folder: Path, *options: str, steps: int = 2, **changes: Any) -> Done:
    recipe = {
        "algorithm": "dapo",
        "output": str(folder / "run"),
        "overwrite": True,
        "policy": {"model": TINY},
        "data": {"source": SCENES, "options": {"count": 8}},
        "rewards": [{"metric": "posh", "judge": "match"}],
        "trainer": {**TRAINER, "max_steps": steps},
        **changes,
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    return spanreward("train", folder / "recipe.yaml", *options)


def test_a_run_whose_judge_sees_pictures_says_where_its_policy_is(tmp_path: Path) -> None:
    rows = []
    for colour, reference in (("red", "A red kite is above a house."), ("blue", "A boat.")):
        Image.new("RGB", (8, 8), colour).save(tmp_path / f"{colour}.png")
        rows.append({"image": f"{colour}.png", "reference": reference})
    data = {"source": "jsonl", "path": str(write_lines(tmp_path / "rows.jsonl", rows))}
    looking = {"metric": "posh", "judge": SEER, "options": {"evidence": "both"}}
    done = train(tmp_path, steps=1, data=data, rewards=[looking])
    assert done.code == 0, done.err
    assert done.out.rstrip().endswith(f" {tmp_path / 'run'}")
    assert (tmp_path / "run" / "model.safetensors").is_file()
    lines = read_lines(tmp_path / "run" / "metrics.jsonl")
    assert [line["step"] for line in lines if "loss" in line] == [1]


def test_a_step_without_a_score_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Verdict(None, Status.NOT_APPLICABLE, note="no reference that names anything")
    monkeypatch.setattr(PoshReward, "assess", lambda self, samples: [nothing] * len(samples))
    done = train(tmp_path)
    assert done.code == 1
    assert "none of this step's 4" in done.err
    assert "Traceback" not in done.err


def test_stop_on_ends_the_run_with_its_policy_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = partial(RewardHealthCallback, limits=Limits(degenerate=-1.0, window=1))
    monkeypatch.setattr("spanreward.training.run.RewardHealthCallback", strict)
    done = train(tmp_path, "--stop-on", "degenerate", steps=5)
    assert done.code == 1
    assert "spanreward train: training stopped: " in done.err
    assert "padded with words" in done.err
    assert (tmp_path / "run" / "model.safetensors").exists()
    lines = read_lines(tmp_path / "run" / "metrics.jsonl")
    assert max(line["step"] for line in lines) == 1
    assert "health/degenerate_fraction" in lines[0]


def test_stop_on_names_the_problems() -> None:
    said = spanreward("train", "recipe.yaml", "--stop-on", "boredom").err
    assert "boredom" in said
    assert all(problem in said for problem in PROBLEMS)
