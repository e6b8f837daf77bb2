"""A judge beside the trainer: started before it, asleep while it works, ended after it.

    reward = Recorder(PoshReward(VllmJudge("smollm2")))
    lifecycle = JudgeLifecycleCallback([reward])           # starts the engine, before the trainer takes its memory
    GRPOTrainer(reward_funcs=[reward], callbacks=[lifecycle], ...).train()      # ends it

Awake a judge is within a call of the reward alone: the Recorder sees to it, in training steps and in evaluations.
`on_train_end` is not called where the training ends by an exception: then the judge's processes end with this one, or,
where that goes on, with `with closing([judge]):` around all of it.
"""

import logging
from collections.abc import Sequence
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from training.callbacks.base import check_recorders
from training.grpo.recorder import Recorder, judges_of

log = logging.getLogger(__name__)


class JudgeLifecycleCallback(TrainerCallback):
    """Starts the judges before the trainer, and ends them with it. Its construction starts the recorders' judges, each
    once, so build it before the trainer. A judge that was ended starts anew at the next training, or when a reward asks
    it.

    Args:
        recorders: whose judges they are.

    Raises:
        ValueError: for rewards that record nothing; and whatever keeps a judge from starting.
    """

    def __init__(self, recorders: Sequence[Recorder]) -> None:
        check_recorders(type(self).__name__, recorders)
        self.judges = judges_of(recorder.reward for recorder in recorders)
        self._start()

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._start()

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        for judge in self.judges:
            try:
                judge.close()
            except Exception:
                log.exception("a judge could not be ended; its processes end with this one")

    def _start(self) -> None:
        """What runs is left alone by its own `start`."""
        for judge in self.judges:
            judge.start()
