"""`spanreward train`'s own words and exit codes: a run that ends well, one without a score, one
ended by --stop-on.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.scenes.parts import SCENES, TINY
from spanreward.rewards import PoshReward, Status, Verdict
from spanreward.training.callbacks import PROBLEMS
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.commands.train import main
from spanreward.training.health import Limits

TRAINER = {
    "max_steps": 2, "per_device_train_batch_size": 4, "num_generations": 4, "max_completion_length": 8,
    "logging_steps": 1, "save_strategy": "no", "report_to": "none", "bf16": False, "gradient_checkpointing": False,
    "use_cpu": True, "disable_tqdm": True,
}  # fmt: skip


@pytest.fixture
def train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    def run(*options: Any, trainer: Any = None) -> Any:
        """(exit code, what was printed last on the screen, what on the error stream)."""
        recipe = {
            "algorithm": "dapo",
            "output": str(tmp_path / "run"),
            "overwrite": True,
            "policy": {"model": TINY},
            "data": {"source": SCENES, "options": {"count": 8}},
            "rewards": [{"metric": "posh", "judge": "match"}],
            "trainer": {**TRAINER, **(trainer or {})},
        }
        (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
        monkeypatch.setattr(sys, "argv", ["train.py", str(tmp_path / "recipe.yaml"), *options])
        code: int | str | None = 0
        try:
            main()
        except SystemExit as error:
            code = error.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_a_run_says_where_its_policy_is(train: Any, tmp_path: Path) -> None:
    code, out, _ = train()
    assert code == 0
    assert out.rstrip().endswith(f" {tmp_path / 'run'}")
    assert (tmp_path / "run" / "model.safetensors").exists()


def test_a_step_without_a_score_is_a_sentence(train: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Verdict(None, Status.NOT_APPLICABLE, note="no reference that names anything")
    monkeypatch.setattr(PoshReward, "assess", lambda self, samples: [nothing] * len(samples))
    code, _, err = train()
    assert code == 1
    assert "none of this step's 4" in err
    assert "Traceback" not in err


def test_stop_on_ends_the_run_with_its_policy_saved(
    train: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = partial(RewardHealthCallback, limits=Limits(degenerate=-1.0, window=1))
    monkeypatch.setattr("spanreward.training.run.RewardHealthCallback", strict)
    code, _, err = train("--stop-on", "degenerate", trainer={"max_steps": 5})
    assert code == 1
    assert "train.py: training stopped: " in err
    assert "padded with words" in err
    assert (tmp_path / "run" / "model.safetensors").exists()
    lines = [
        json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    ]
    assert max(line["step"] for line in lines) == 1
    assert "health/degenerate_fraction" in lines[0]


def test_stop_on_names_the_problems(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", "recipe.yaml", "--stop-on", "boredom"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert "boredom" in said
    assert all(problem in said for problem in PROBLEMS)
