"""A trainer's log as lines of JSON, and a progress bar with the numbers that people watch.

trainer.add_callback(MetricsFile(Path("outputs/try/metrics.jsonl")))
"""

import json
from pathlib import Path
from typing import Any

from transformers import ProgressCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from spanreward.training.run_folder import continue_lines

SHOWN = ("loss", "reward", "posh/precision", "posh/recall", "completions/mean_length", "judge/failed_fraction")


class MetricsFile(TrainerCallback):
    """Writes every logged line of numbers, with its step, to a JSONL file. A resumed run continues the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if state.is_world_process_zero:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            continue_lines(self.path, state.global_step)

    def on_log(self, args: TrainingArguments, state: TrainerState, control: Any, logs: Any = None, **_: Any) -> None:
        if state.is_world_process_zero and logs:
            with self.path.open("a") as file:
                file.write(json.dumps({"step": state.global_step, **logs}) + "\n")


class ProgressBar(ProgressCallback):
    """transformers' progress bar that shows the numbers in SHOWN, and not all numbers at every step."""

    def on_log(self, args: TrainingArguments, state: TrainerState, control: Any, logs: Any = None, **_: Any) -> None:
        if self.training_bar is not None and logs:
            shown = {name.rpartition("/")[2]: f"{logs[name]:.3f}" for name in SHOWN if logs.get(name) is not None}
            self.training_bar.set_postfix(shown)
