"""Callbacks that write files of JSON lines: the log, and every completion with its verdicts.

    trainer.add_callback(MetricsFile(Path("outputs/try/metrics.jsonl")))
    trainer.add_callback(VerdictFile(trainer.recorders, Path("outputs/try")))
    # {"step": 3, "completion": ..., ...}

Each rank writes its own verdicts on its own machine: rank 0 to verdicts.jsonl, rank 1 to
verdicts.rank1.jsonl, and so on. The lines are ASCII. The offsets of spans index the completion, and
the offsets of `missed` index the reference. Completions of evaluations are not written. After
MAX_FILE_BYTES bytes, or on a full disk, a rank writes no more verdicts, and the training continues.
With `verdicts: false` in the recipe no verdicts are written.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import (
    ProgressCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from spanreward.rewards.reward.reward import LogMetric
from spanreward.training.callbacks.base import Watching
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.grpo.reward_functions import distinct_names
from spanreward.training.run_folder import continue_lines

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 2_000_000_000
# the numbers that the progress bar shows, if the log has them
BAR_KEYS = (
    "loss",
    "reward",
    "posh/precision",
    "posh/recall",
    "completions/mean_length",
    "judge/failed_fraction",
)


class MetricsFile(TrainerCallback):
    """Writes every logged line of numbers, with its step, to a JSONL file.

    A resumed run continues the file. If a line cannot be written, for example on a full disk, the
    callback logs an error once, and the training continues. The callback still tries to write later
    lines.

    Args:
        path: the path of the file. The callback makes the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._warned_of_failure = False

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if state.is_world_process_zero:  # rank 0 is enough: the numbers are means over ranks
            self.path.parent.mkdir(parents=True, exist_ok=True)
            continue_lines(self.path, state.global_step)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: Any,
        logs: Any = None,
        **_: Any,
    ) -> None:
        """Appends the logged numbers to the file as a line. A line that cannot be written is
        dropped: the first time with a logged error.
        """
        if not (state.is_world_process_zero and logs):
            return
        line = {"step": state.global_step, **logs}
        try:
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            if not self._warned_of_failure:
                log.error(
                    "%s: step %d could not be written (%s), and the training goes on.",
                    self.path,
                    state.global_step,
                    error.strerror,
                )
            self._warned_of_failure = True


class ProgressBar(ProgressCallback):
    """transformers' progress bar, with only the numbers of BAR_KEYS.

    transformers' own bar prints all logged numbers in every line of the log.
    """

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: Any,
        logs: Any = None,
        **_: Any,
    ) -> None:
        """Shows the numbers of BAR_KEYS behind the bar, such as "precision=0.400" for
        "posh/precision".
        """
        if self.training_bar is not None and logs:  # only the main process has a bar
            numbers = {}
            for name in BAR_KEYS:
                if logs.get(name) is not None:
                    _, _, last_part = name.rpartition("/")
                    numbers[last_part] = f"{logs[name]:.3f}"
            self.training_bar.set_postfix(numbers)


class VerdictFile(Watching):
    """Writes a line of JSON for each completion that is judged in training.

    Args:
        recorders: the trainer's Recorders; their verdicts are written.
        folder: the folder of the file. The callback makes the folder.

    Raises:
        ValueError: for a reward that is not a Recorder.
    """

    def __init__(self, recorders: Sequence[Recorder], folder: Path) -> None:
        super().__init__(recorders)
        self.folder = folder
        self.path: Path | None = None  # None before the training, and if nothing more is written
        self._step = 0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Chooses this rank's file. A resumed run drops the file's lines of steps after the
        checkpoint, and a new run drops all lines.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        name = "verdicts.jsonl"
        if args.process_index:
            name = f"verdicts.rank{args.process_index}.jsonl"
        self.path = self.folder / name
        continue_lines(self.path, state.global_step)

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        super().on_step_begin(args, state, control)
        self._step = state.global_step + 1  # global_step counts only the finished steps

    def observe(self, log_metric: LogMetric | None) -> None:
        """Appends a line to the file for each completion of the batch that was just judged.

        After MAX_FILE_BYTES bytes, or an error of the disk, no more is written.
        """
        if self.path is None:
            return
        lines = [json.dumps(line) + "\n" for line in self._lines_of_batch()]
        try:
            with self.path.open("a") as file:
                file.writelines(lines)
                full = file.tell() > MAX_FILE_BYTES
        except OSError as error:  # perhaps only on this rank; other ranks continue to write
            log.error(
                "%s: from step %d on no verdicts are written, %s.",
                self.path,
                self._step,
                error.strerror,
            )
            full = True
        if full:
            self.path = None

    def _lines_of_batch(self) -> list[dict[str, Any]]:
        """Returns a mapping for each completion of the batch: {"step": 3, "completion": ...,
        "rewards": {"posh": ...}, ...}, with the verdict of each recorder.
        """
        names = distinct_names([recorder.__name__ for recorder in self.recorders])
        lines = []
        for row, sample in enumerate(self.recorders[0].samples):
            rewards = {}
            for name, recorder in zip(names, self.recorders, strict=True):
                rewards[name] = recorder.verdicts[row].to_dict()
            line = {
                "step": self._step,
                "id": sample.id,
                "prompt": sample.prompt,
                "completion": sample.completion,
                "reference": sample.references,
                "rewards": rewards,
            }
            lines.append(line)
        return lines
