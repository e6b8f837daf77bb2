"""The metrics `seconds/...`: how long each phase of an optimizer step takes in the main process.

    phases = Phases(trainer)            # a callback, which the trainer adds
    with phases.clock("decode"):        # adds the time of the block to the phase "decode"
        ...

docs/logged_keys.md explains the phases. The sum of the phases is the time from a step's begin to
its end, without evaluation and saving. A step that trains on the completions of an earlier step has
0 in phases such as "decode".
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import TrainerCallback

PHASE_NAMES = ("push", "decode", "wake", "judge", "sleep", "logprobs")


class Phases(TrainerCallback):
    """Measures the phases of a trainer's steps, and logs their seconds at the end of each step.

    Args:
        trainer: a SpanGRPOTrainer.

    Attributes:
        seconds: the seconds of each phase since the step began, by the phase's name.
    """

    def __init__(self, trainer: Any) -> None:
        self.seconds = dict.fromkeys(PHASE_NAMES, 0.0)
        self.trainer = trainer
        # for each running clock, from the outermost to the innermost: the seconds of the clocks
        # that have run inside this clock
        self._nested_seconds: list[float] = []
        self._began = time.perf_counter()
        if trainer.use_vllm:
            # TRL pushes the weights inside its sampling, so the push is measured by a wrapper
            generation = trainer.vllm_generation
            generation.sync_weights = self.clock("push")(generation.sync_weights)

    @contextmanager
    def clock(self, phase: str) -> Iterator[None]:
        """Adds the time of the `with` block to `phase`, without the time of clocks nested inside.

        Example: if "judge" takes 10 s, of which a nested "wake" takes 4 s, "judge" gets 6 s. On a
        GPU, the clock first waits for work that was queued before, and then starts.
        """
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        start = time.perf_counter()
        self._nested_seconds.append(0.0)
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.seconds[phase] += seconds - self._nested_seconds.pop()
            if self._nested_seconds:  # another clock runs around this one
                self._nested_seconds[-1] += seconds

    def move(self, phase: str, source: str, seconds: float) -> None:
        """Moves `seconds` from the phase `source` to the phase `phase`.

        Some phases are a part of another phase, and are measured elsewhere. For example, each judge
        counts its seconds of waking, which a clock has already counted as "judge".

        phase: the phase that gains the seconds. source: the phase that loses them.
        """
        self.seconds[source] -= seconds
        self.seconds[phase] += seconds

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.seconds = dict.fromkeys(PHASE_NAMES, 0.0)
        self._began = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        whole = time.perf_counter() - self._began
        metrics = self.trainer._metrics["train"]
        for phase, seconds in self.seconds.items():
            metrics[f"seconds/{phase}"].append(seconds)
        metrics["seconds/train"].append(whole - sum(self.seconds.values()))
