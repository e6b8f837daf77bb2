"""The W&B run's config says what made it, and a resumed run is the same W&B run; offline."""

from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from spanreward.training.callbacks.tracked_run import TrackedRun


@pytest.fixture
def wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    library = pytest.importorskip("wandb")
    for name, value in {"WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path), "WANDB_SILENT": "true"}.items():
        monkeypatch.setenv(name, value)
    for name in ("WANDB_RUN_ID", "WANDB_RESUME"):
        monkeypatch.setenv(name, "")  # put back at the end
        monkeypatch.delenv(name)
    yield library
    library.finish()
    library.teardown()


def test_a_resumed_run_is_the_same_and_says_what_made_it(wandb: Any, tmp_path: Path) -> None:
    args = TrainingArguments(output_dir=str(tmp_path / "out"), use_cpu=True, bf16=False, report_to="wandb")
    state, control = TrainerState(global_step=3, is_world_process_zero=True), TrainerControl()
    facts = {"recipe": {"rewards": [{"metric": "posh"}]}, "versions": {"trl": "1.16.0"}}
    first = wandb.init().id
    tracked = TrackedRun(facts)
    tracked.on_train_begin(args, state, control)
    assert {name: wandb.run.config[name] for name in facts} == facts
    checkpoint = tmp_path / "out" / "checkpoint-3"
    checkpoint.mkdir(parents=True)
    tracked.on_save(args, state, control)
    wandb.finish()
    TrackedRun(facts)
    second = wandb.init().id
    wandb.finish()
    wandb.teardown()  # it reads the environment anew, as in the process that resumes
    assert second != first  # without a checkpoint it is another run
    TrackedRun(facts, checkpoint)
    assert wandb.init().id == first


def test_without_wandb_nothing_is_written(tmp_path: Path) -> None:
    args = TrainingArguments(output_dir=str(tmp_path), use_cpu=True, bf16=False, report_to="none")
    (tmp_path / "checkpoint-3").mkdir()
    TrackedRun({}).on_save(args, TrainerState(global_step=3, is_world_process_zero=True), TrainerControl())
    assert not list((tmp_path / "checkpoint-3").iterdir())
