"""Computes how much disk a run's checkpoints take, and compares it with the free space.

    finding = disk_here(recipe, plan, steps.total)  # None if no checkpoint is written

A checkpoint holds the trained weights and the optimizer's state; with LoRA, those of the adapter
alone. Trainer deletes an old checkpoint only after the next checkpoint is written. The policy's
weights are written once more at the end of the run.
"""

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spanreward.training.plan.here import Finding
from spanreward.training.plan.memory import Plan
from spanreward.training.plan.needs import settings_of
from spanreward.training.recipe import Recipe


def disk_here(recipe: Recipe, plan: Plan, steps: int | None) -> Finding | None:
    """Returns a finding on whether the run's checkpoints and its policy fit on the disk.

    None if the run writes no checkpoint. plan: the memory of the run. steps: the optimizer steps of
    the run; None if unknown.
    """
    settings = settings_of(recipe)
    if settings["save_strategy"] == "no":
        return None
    bytes_per_parameter = plan.bytes_per_trained_parameter
    policy_bytes = bytes_per_parameter.weight * plan.trained_parameters
    optimizer_bytes = bytes_per_parameter.optimizer * plan.trained_parameters
    checkpoint_bytes = policy_bytes
    contents = "weights"
    advice = "give output=FOLDER on a larger disk, or a smaller trainer.save_total_limit"
    if not settings["save_only_model"]:
        checkpoint_bytes += optimizer_bytes
        contents = "weights and optimizer"
        advice += (
            f"; trainer.save_only_model=true leaves {policy_bytes / 1e9:.1f} GB each, and nothing "
            "to resume from"
        )
    checkpoints = kept_at_once(settings, steps)
    needed_bytes = checkpoints * checkpoint_bytes + policy_bytes
    # the output folder may not exist before the run
    folder = nearest_existing(Path(recipe.output))
    free_bytes = shutil.disk_usage(folder).free
    text = (
        f"{checkpoint_bytes / 1e9:.1f} GB a checkpoint ({contents}), {checkpoints} at once while "
        f"one is written, and the policy: {needed_bytes / 1e9:.1f} GB (computed), and "
        f"{free_bytes / 1e9:.0f} GB are free in {folder.resolve()}"
    )
    if needed_bytes > free_bytes:
        return Finding("disk", False, text, advice)
    return Finding("disk", True, text)


def kept_at_once(settings: Mapping[str, Any], steps: int | None) -> int:
    """Returns the largest number of checkpoints on the disk at a time, including the checkpoint
    that is being written.

    Without save_total_limit these are all checkpoints of the run. If the steps are unknown, their
    number is a guess. Example: with save_total_limit 2 the result is 3.

    settings: the trainer's arguments. steps: the optimizer steps of the run; None if unknown.
    """
    limit = settings["save_total_limit"]
    if limit is not None:
        checkpoints = int(limit) + 1
        # the best checkpoint is kept beside the last checkpoint, even with a limit of 1
        if limit == 1 and settings["load_best_model_at_end"]:
            checkpoints += 1
        return checkpoints
    if settings["save_strategy"] == "steps" and steps is not None:
        save_steps = settings["save_steps"]
        # save_steps below 1 is a share of all steps
        checkpoints_of_run = steps / save_steps if save_steps >= 1 else 1 / save_steps
        return max(1, math.ceil(checkpoints_of_run))
    # one checkpoint an epoch; a guess if checkpoints are saved by steps, but the steps are unknown
    return max(1, math.ceil(settings["num_train_epochs"]))


def nearest_existing(folder: Path) -> Path:
    """Returns the folder, or the nearest folder above it that exists."""
    for path in (folder, *folder.absolute().parents):
        if path.exists():
            return path
    return Path.cwd()
