"""Where the seconds of an optimizer step go: the metrics `seconds/...`, of the main process.

    phases = Phases(trainer)            # a callback, which the trainer adds
    with phases.clock("decode"):        # what inner clocks measure is theirs alone
        ...

docs/logged_keys.md says what the phases are. Their sum is the time from a step's begin to its end,
without evaluation and saving. A step that trains on completions of an earlier one has 0 where
nothing was done.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import TrainerCallback

PHASES = ("push", "decode", "wake", "judge", "sleep", "logprobs")


class Phases(TrainerCallback):
    """Measures the phases of a trainer's steps, and logs them at the end of each.

    Args:
        trainer: a SpanGRPOTrainer.

    Attributes:
        seconds: by phase, since the step began.
    """

    def __init__(self, trainer: Any) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.trainer = trainer
        self._inner = 0.0  # seconds of the clocks inside the running one
        self._began = time.perf_counter()
        if trainer.use_vllm:
            # TRL pushes the weights inside its own sampling, so that only a wrapper sees when
            generation = trainer.vllm_generation
            generation.sync_weights = self.clock("push")(generation.sync_weights)

    @contextmanager
    def clock(self, phase: str) -> Iterator[None]:
        """Adds the time of the `with` block to `phase`.

        On a GPU, work that was queued before is waited for first.
        """
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        start = time.perf_counter()
        outer = self._inner  # of the clocks beside this one, inside the clock around it
        self._inner = 0.0
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.seconds[phase] += seconds - self._inner
            # to the clock around it, all of this one's time is an inner clock's
            self._inner = outer + seconds

    def move(self, phase: str, source: str, seconds: float) -> None:
        """Counts `seconds` of `source` as `phase`, for parts that are measured elsewhere.

        Each judge, for example, counts how long waking it took.
        """
        self.seconds[source] -= seconds
        self.seconds[phase] += seconds

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._began = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        whole = time.perf_counter() - self._began
        metrics = self.trainer._metrics["train"]
        for phase, seconds in self.seconds.items():
            metrics[f"seconds/{phase}"].append(seconds)
        metrics["seconds/train"].append(whole - sum(self.seconds.values()))
