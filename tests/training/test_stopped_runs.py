"""Runs that are ended by Ctrl-C or by a callback."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from transformers import Trainer, TrainerCallback

from spanreward.training.recipe import load_recipe
from spanreward.training.run import build_trainer, run
from spanreward.training.run_folder import checkpoint_folders, checkpoint_to_resume
from tests.support.dapo_run import RECIPE, SHRUNK, quickstart
from tests.support.paths import ROOT

HANGS = 240  # seconds: far more than it takes


def test_ctrl_c_leaves_the_checkpoint_of_its_step(tmp_path: Path) -> None:
    output = tmp_path / "out"
    command = [sys.executable, "-m", "spanreward", "train", RECIPE, *SHRUNK, f"output={output}"]
    command += ["trainer.max_steps=100000", "trainer.save_strategy=steps"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=ROOT, env=variables, text=True, **pipes)
    try:
        until = time.monotonic() + HANGS
        while not (output / "verdicts.jsonl").exists() and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANGS)
    finally:
        process.kill()
    assert process.returncode == 130, said
    (checkpoint,) = checkpoint_folders(output)
    assert f"ended by SIGINT: {checkpoint} is written." in said
    recipe = load_recipe(output / "recipe.yaml")
    assert checkpoint_to_resume(recipe, processes=1) == checkpoint


class Breaking(TrainerCallback):
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 3:
            raise RuntimeError("no step 3 for me")


def test_a_callback_that_raises_leaves_the_checkpoint_before_it(tmp_path: Path) -> None:
    def breaking(*parts: Any) -> Trainer:
        trainer = build_trainer(*parts)
        trainer.add_callback(Breaking())
        return trainer

    saved = ("trainer.save_strategy=steps", "trainer.save_steps=2", "trainer.max_steps=4")
    recipe = quickstart("dapo", tmp_path / "out", *saved)
    with pytest.raises(RuntimeError, match="no step 3 for me"):
        run(recipe, build=breaking)
    assert not (tmp_path / "out" / "model.safetensors").exists()
    assert checkpoint_to_resume(recipe, processes=1).name == "checkpoint-2"
    run(recipe, resume=True)
    assert (tmp_path / "out" / "model.safetensors").exists()
