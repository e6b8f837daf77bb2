"""TrackedRun: the W&B run says what made it, and a resumed run goes on in it.

    trainer.add_callback(TrackedRun({"recipe": recipe.model_dump(), "versions": versions()}, checkpoint))

Where report_to has "wandb", the facts are in the run's config, and each checkpoint holds the run's id (RUN_FILE).
"""

import json
import os
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

RUN_FILE = "wandb_run.json"


class TrackedRun(TrainerCallback):
    """Adds facts to the W&B run's config. checkpoint: what is resumed, whose run goes on unless WANDB_RUN_ID is set."""

    def __init__(self, facts: dict[str, Any], checkpoint: Path | None = None) -> None:
        self.facts = facts
        if checkpoint is not None and (file := checkpoint / RUN_FILE).is_file():
            os.environ.setdefault("WANDB_RUN_ID", json.loads(file.read_text())["id"])  # wandb.init reads both
            os.environ.setdefault("WANDB_RESUME", "allow")

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if run := run_of(args, state):
            run.config.update(self.facts, allow_val_change=True)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        folder = Path(args.output_dir or ".", f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}")
        if (run := run_of(args, state)) and folder.is_dir():
            (folder / RUN_FILE).write_text(json.dumps({"id": run.id}))


def run_of(args: TrainingArguments, state: TrainerState) -> Any:
    """Returns the W&B run of this process; None where there is none."""
    if not state.is_world_process_zero or "wandb" not in (args.report_to or []):
        return None
    import wandb

    return wandb.run
