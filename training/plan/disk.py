"""How much disk a run's checkpoints take, beside what is free where it writes.

    finding = disk_here(recipe, plan, steps.total)     # None where no checkpoint is written

A checkpoint holds the trained weights and the optimizer's state, of LoRA the adapter's alone.
Trainer deletes an old one only after the next is written. The policy's weights are written once
more, at the end.
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
    """Returns whether the run's checkpoints and its policy fit on the disk; None where the run
    writes no checkpoint. plan: its memory. steps: its optimizer steps, if they are known.
    """
    settings = settings_of(recipe)
    if settings["save_strategy"] == "no":
        return None
    weights, _, optimizer = plan.bytes_each
    policy = weights * plan.trained
    # of one checkpoint, in bytes
    holds = "weights"
    size = policy
    advice = "give output=FOLDER on a larger disk, or a smaller trainer.save_total_limit"
    if not settings["save_only_model"]:
        holds = "weights and optimizer"
        size += optimizer * plan.trained
        advice += (
            f"; trainer.save_only_model=true leaves {policy / 1e9:.1f} GB each, and nothing to "
            "resume from"
        )
    checkpoints = kept_at_once(settings, steps)
    needed = checkpoints * size + policy
    # the output folder is made when the run begins
    folder = nearest_existing(Path(recipe.output))
    free = shutil.disk_usage(folder).free
    text = (
        f"{size / 1e9:.1f} GB a checkpoint ({holds}), {checkpoints} at once while one is written, "
        f"and the policy: {needed / 1e9:.1f} GB (computed), and {free / 1e9:.0f} GB are free in "
        f"{folder.resolve()}"
    )
    if needed > free:
        return Finding("disk", False, text, advice)
    return Finding("disk", True, text)


def kept_at_once(settings: Mapping[str, Any], steps: int | None) -> int:
    """Returns the checkpoints on the disk while one more is written, with that one.

    Without a limit these are all that the run writes, as far as its steps are known.
    """
    limit = settings["save_total_limit"]
    if limit is not None:
        checkpoints = int(limit) + 1
        # the best one stays beside the last one, which a limit of 1 would not say
        if limit == 1 and settings["load_best_model_at_end"]:
            checkpoints += 1
        return checkpoints
    if settings["save_strategy"] == "steps" and steps is not None:
        interval = settings["save_steps"]
        # below 1 it is a share of all steps
        writes = steps / interval if interval >= 1 else 1 / interval
        return max(1, math.ceil(writes))
    # one an epoch; of steps that are not known this is a guess
    return max(1, math.ceil(settings["num_train_epochs"]))


def nearest_existing(folder: Path) -> Path:
    """Returns the folder, or the nearest one above it that is there."""
    for path in (folder, *folder.absolute().parents):
        if path.exists():
            return path
    return Path.cwd()
