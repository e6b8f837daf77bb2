"""A full disk ends no training by a log line, and is one sentence at a checkpoint."""

import errno
import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Trainer, TrainerControl, TrainerState

from spanreward.training.callbacks.json_lines import MetricsFile
from spanreward.training.full_disk import is_full_disk, named_full_disk, next_step
from spanreward.training.recipe import RecipeError
from spanreward.training.run import run
from spanreward.training.run_folder import STATE_FILE
from tests.support.dapo_run import quickstart
from tests.support.steps import arguments

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.is_char_device(), reason="needs /dev/full")


def to_full_disk(write: Any) -> Exception:
    """What a write to a full disk raises."""
    with pytest.raises((OSError, RuntimeError)) as error:
        write()
    return error.value


@needs_full
def test_what_a_full_disk_raises_is_recognised(tmp_path: Path) -> None:
    """safetensors' writer is Rust's, whose words these are; it renames a file, so /dev/full is no
    test.
    """
    text = to_full_disk(lambda: FULL.write_text("x"))
    torchs = to_full_disk(lambda: torch.save({"weight": torch.zeros(10)}, FULL))
    rusts = RuntimeError("I/O error: No space left on device (os error 28)")
    others = (OSError(errno.EACCES, "Permission denied"), ValueError("x"))
    assert all(map(is_full_disk, (text, torchs, rusts)))
    assert not any(map(is_full_disk, others))
    with pytest.raises(ValueError, match=r"^x$"), named_full_disk(tmp_path):
        raise others[1]


def test_the_way_on_is_the_last_whole_checkpoint(tmp_path: Path) -> None:
    assert "begin anew" in next_step(tmp_path)
    for step in (5, 10, 15):
        (tmp_path / f"checkpoint-{step}").mkdir()
    for step in (5, 10):
        (tmp_path / f"checkpoint-{step}" / STATE_FILE).write_text("{}")
    assert "checkpoint-10," in next_step(tmp_path)


@needs_full
def test_a_log_line_that_cannot_be_written_warns_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "metrics.jsonl"
    path.symlink_to(FULL)
    metrics = MetricsFile(path)
    args = arguments(tmp_path)
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        for step in (1, 2):
            state = TrainerState(global_step=step, is_world_process_zero=True)
            metrics.on_log(args, state, TrainerControl(), {"loss": 1.0})
        path.unlink()
        metrics.on_log(args, state, TrainerControl(), {"loss": 2.0})  # there is room again
    (warning,) = caplog.messages
    assert "step 1" in warning
    assert "No space left" in warning
    assert path.read_text() == '{"step": 2, "loss": 2.0}\n'


def test_a_checkpoint_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first checkpoint is whole, the second one meets a full disk."""
    whole = Trainer._save_checkpoint

    def save(trainer: Trainer, *arguments: Any) -> None:
        if trainer.state.global_step > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(trainer, *arguments)

    monkeypatch.setattr(Trainer, "_save_checkpoint", save)
    saving = ("trainer.save_strategy=steps", "trainer.save_steps=1", "trainer.max_steps=2")
    recipe = quickstart("sft", tmp_path / "out", *saving)
    with pytest.raises(RecipeError, match="is full") as error:
        run(recipe)
    assert "checkpoint-1," in str(error.value)
    assert "\n" not in str(error.value)
