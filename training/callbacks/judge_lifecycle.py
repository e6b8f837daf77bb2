"""Starts the judges before the trainer, and ends them after it.

    reward = Recorder(PoshReward(VllmJudge("smollm2")))
    lifecycle = JudgeLifecycleCallback([reward])           # starts the engine, before the trainer takes its memory
    GRPOTrainer(reward_funcs=[reward], callbacks=[lifecycle], ...).train()      # ends it

The Recorder keeps a judge awake only within a call of the reward, in training steps and in evaluations. Trainer does
not call `on_train_end` when the training ends by an exception. The judge's processes then end with this one. Where this
process goes on, put `with closing([judge]):` around all of it.
"""

import logging
from collections.abc import Sequence
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from spanreward.training.callbacks.base import check_recorders
from spanreward.training.grpo.recorder import Recorder, judges_of

log = logging.getLogger(__name__)


class JudgeLifecycleCallback(TrainerCallback):
    """Starts the recorders' judges at its construction, so build it before the trainer. Ends them with the training.

    A judge that was ended starts again at the next training, or when a reward asks it.

    Args:
        recorders: the rewards whose judges to start and end, each judge once.

    Raises:
        ValueError: for rewards that are not Recorders. A judge that cannot start raises its own error.
    """

    def __init__(self, recorders: Sequence[Recorder]) -> None:
        check_recorders(type(self).__name__, recorders)
        self.judges = judges_of(recorder.reward for recorder in recorders)
        self._start()

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self._start()

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        for judge in self.judges:
            try:
                judge.close()
            except Exception:
                log.exception("a judge could not be ended; its processes end with this one")

    def _start(self) -> None:
        for judge in self.judges:
            judge.start()  # does nothing where it runs
