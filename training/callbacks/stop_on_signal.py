"""StopOnSignal: on SIGTERM, as schedulers send it, or SIGINT (Ctrl-C), a checkpoint, and ended
judges on every rank.

    stop = StopOnSignal()
    signal.signal(signal.SIGTERM, stop.receive)
    # from now on; before the training it leaves at once
    trainer = SpanGRPOTrainer(..., callbacks=[stop])
    trainer.train()
    if stop.stopped_at is not None: sys.exit(128 + stop.signal)
    # the step's checkpoint is in the output folder

The ranks agree at the end of a step, so that all save the same checkpoint, even if only one has
received the signal. It is the next step from which a resumed run equals the uninterrupted one: the
last of several passes over a batch of completions. A second signal, some seconds after the first,
ends the process at once, without a checkpoint.

`accelerate launch` gives several processes 30 s after SIGTERM, and does not pass it on to one
(docs/recipes.md).
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

EXIT_CODE = 128 + signal.SIGTERM  # as a shell reports a process that SIGTERM ended
# A scheduler may signal all processes, and the launcher then signals each rank again.
SAME_SIGNAL_SECONDS = 5.0


class StopOnSignal(TrainerCallback):
    """Ends the training after a signal, with a checkpoint at the end of the step. `receive` is the
    signal's handler.

    Attributes:
        stopped_at: the step at which a signal ended the training, or None.
        signal: the one that this process received, SIGTERM where only another rank has received
            one.
    """

    def __init__(self) -> None:
        self.stopped_at: int | None = None
        self.signal = signal.SIGTERM
        self._training = False
        self._received: float | None = None  # when, by the monotonic clock

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal: takes note of the first one, and ends the process at a later one, or
        where nothing is trained.

        Raises KeyboardInterrupt for SIGINT, and SystemExit for another signal, to end it.
        """
        if self.stopped_at is not None:
            return  # the process is ending
        now = time.monotonic()
        is_second = False
        if self._received is not None:
            is_second = now - self._received > SAME_SIGNAL_SECONDS
        # without a training there is no step at whose end a checkpoint could be written
        if is_second or not self._training:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            sys.exit(EXIT_CODE)
        if self._received is None:  # else the first one, sent once more
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
        within_batch = state.global_step % steps_per_batch(args) != 0
        is_last = state.global_step >= state.max_steps  # the run ends anyway
        if within_batch or is_last:
            return
        # every rank asks at the same steps, and all hear of a signal that one received
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
    """Returns the optimizer steps between two states from which a resumed run equals the
    uninterrupted one.

    With 4 passes over a batch, of which a step makes 2, it is 2; where a step makes 8, it is 1.
    """
    if not isinstance(args, SpanGRPOConfig):
        return 1
    # after so many steps, the passes made are a multiple of a batch's
    common = math.gcd(args.passes_per_batch, args.gradient_accumulation_steps)
    return args.passes_per_batch // common
