"""StopOnSignal: ends the training with a checkpoint after SIGTERM (sent by schedulers) or SIGINT
(Ctrl-C).

    stop = StopOnSignal()
    # before the training, the handler ends the process at once
    signal.signal(signal.SIGTERM, stop.receive)
    trainer = SpanGRPOTrainer(..., callbacks=[stop])
    trainer.train()
    if stop.stopped_at is not None: sys.exit(128 + stop.signal)
    # the step's checkpoint is in the output folder

At the end of a step the ranks exchange whether one of them has received a signal. So all ranks save
the same checkpoint, even if only one rank has received the signal. If a batch of completions is
used for several passes, the training continues to the last pass. A run resumed from there equals
the uninterrupted run. A second signal, more than 5 s after the first signal, ends the process at
once, without a checkpoint.

`accelerate launch` gives several processes 30 s after SIGTERM. It does not pass SIGTERM on to a
single process (docs/recipes.md).
"""

import math
import signal
import sys
import time
from types import FrameType
from typing import Any

import torch
from accelerate.utils import reduce
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from spanreward.training.grpo.config import SpanGRPOConfig

EXIT_CODE = 128 + signal.SIGTERM  # a shell reports this code for a process that SIGTERM ended
# A scheduler may signal all processes, and the launcher may then signal each rank again. Signals
# within so many seconds count as one signal.
SAME_SIGNAL_SECONDS = 5.0


class StopOnSignal(TrainerCallback):
    """Ends the training after a signal, with a checkpoint at the end of a step.

    Register the method `receive` as the handler of the signal.

    Attributes:
        stopped_at: the step at which a signal ended the training, or None.
        signal: the signal that this process received; SIGTERM if only another rank received one.
    """

    def __init__(self) -> None:
        self.stopped_at: int | None = None
        self.signal = signal.SIGTERM
        self._training = False
        self._received: float | None = None  # the time of the first signal, by the monotonic clock

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal. The first signal in a training is only kept for the end of the step.

        A signal more than 5 s later, or a signal outside the training, ends the process: the method
        raises KeyboardInterrupt for SIGINT, and SystemExit for another signal.

        number: the signal's number. frame: not used.
        """
        if self.stopped_at is not None:
            return  # the process is ending
        now = time.monotonic()
        if self._training:
            if self._received is None:
                self._keep_first(number, now)
                return
            if now - self._received <= SAME_SIGNAL_SECONDS:
                return  # a repetition of the first signal
        # a second signal; or outside the training, where no step will end and write a checkpoint
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(EXIT_CODE)

    def _keep_first(self, number: int, now: float) -> None:
        """Keeps the first signal for the end of the step, and tells the user.

        number: the signal's number. now: the time, by the monotonic clock.
        """
        self._received = now
        self.signal = signal.Signals(number)
        message = (
            "a checkpoint is written at the end of this step; another one, 5 s later, "
            "ends the run at once."
        )
        print(f"spanreward: {self.signal.name}: {message}", file=sys.stderr, flush=True)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._training = True

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Saves a checkpoint and ends the training, if any rank has received a signal.

        This happens only after the last optimizer step of a batch, where a resumed run can go on.
        """
        within_batch = state.global_step % steps_per_batch(args) != 0
        is_last = state.global_step >= state.max_steps  # after the last step the run ends anyway
        if within_batch or is_last:
            return
        # sum over the ranks, so that every rank knows of a signal that one rank received
        received = torch.tensor(float(self._received is not None), device=args.device)
        if reduce(received, reduction="sum").item() > 0:
            self.stopped_at = state.global_step
            control.should_save = True
            control.should_training_stop = True

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._training = False


def steps_per_batch(args: TrainingArguments) -> int:
    """Returns the fewest optimizer steps after which no batch of completions is used in part.

    After a multiple of these steps, a new batch begins, and a run resumed there equals the
    uninterrupted run. Example: if a batch is used for 4 passes, the result is 2 with 2 passes in a
    step, and 1 with 8 passes in a step (2 whole batches).
    """
    if not isinstance(args, SpanGRPOConfig):
        return 1
    passes_per_step = args.gradient_accumulation_steps
    # the fewest passes that are whole batches and whole steps
    passes = math.lcm(args.passes_per_batch, passes_per_step)
    return passes // passes_per_step
