"""Every completion of a run with what the judges said of it, one line of JSON each.

    trainer.add_callback(VerdictFile(trainer.recorders, Path("outputs/try")))

    {"step": 3, "id": "17", "prompt": "...", "completion": "A red square ...", "rewards": {"posh": {
     "score": 0.83, "status": "ok", "parts": {...}, "spans": [{"start": 2, "end": 12, "score": 1.0, ...}], ...}}}

Each rank writes its own, verdicts.jsonl on rank 0, verdicts.rank1.jsonl and so on beside it, on its own machine, so
nothing is gathered. The lines are ASCII, whatever a completion holds; spans index its characters, `missed` those of the
reference. Evaluations are not in it. A file takes a few kB a completion and ends at LARGEST bytes; `verdicts: false` in
the recipe leaves it out. A disk that is full ends the file and not the training.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformers import TrainerControl, TrainerState, TrainingArguments

from rewards.reward import LogMetric
from rewards.verdict import Verdict
from training.callbacks.base import Watching
from training.grpo.recorder import Recorder
from training.run_folder import continue_lines

log = logging.getLogger(__name__)

LARGEST = 2_000_000_000


class VerdictFile(Watching):
    """Writes what the recorders have judged in training, one line a completion.

    Args:
        recorders: the rewards.
        folder: where verdicts.jsonl goes, a file a rank.

    Raises:
        ValueError: for rewards that record nothing.
    """

    def __init__(self, recorders: Sequence[Recorder], folder: Path) -> None:
        super().__init__(recorders)
        self.folder = folder
        self.path: Path | None = None  # None when nothing is written any more
        self._step = 0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / (
            "verdicts.jsonl" if not args.process_index else f"verdicts.rank{args.process_index}.jsonl"
        )
        continue_lines(self.path, state.global_step)

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        super().on_step_begin(args, state, control, **kwargs)
        self._step = state.global_step + 1

    def observe(self, log_metric: LogMetric | None) -> None:
        if self.path is None:
            return
        lines = [json.dumps(line) for line in self._lines()]
        try:
            with self.path.open("a") as file:
                file.writelines(f"{line}\n" for line in lines)
                full = file.tell() > LARGEST
        except OSError as error:  # on one rank perhaps, while the others go on
            log.error("%s: from step %d on no verdicts are written, %s.", self.path, self._step, error.strerror)
            full = True
        if full:
            self.path = None

    def _lines(self) -> list[dict[str, Any]]:
        samples = self.recorders[0].samples
        return [
            {
                "step": self._step,
                "id": sample.id,
                "prompt": sample.prompt,
                "completion": sample.completion,
                "rewards": {recorder.__name__: shown(recorder.verdicts[row]) for recorder in self.recorders},
            }
            for row, sample in enumerate(samples)
        ]


def shown(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain data, without what is the same for all."""
    plain = asdict(verdict)
    del plain["parsed_by"]
    return plain
