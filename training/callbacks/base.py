"""Watching: the base of callbacks that look at every batch of judged completions.

    class Counter(Watching):
        def observe(self, log_metric):                     # after every batch of training
            log_metric("judged", len(self.recorders[0].verdicts))

    Counter([reward])                                      # the Recorder that the trainer has

Completions judged between two steps belong to an evaluation and are not observed. Every rank
observes its own part, at the same time as the others, so that `observe` may gather.
"""

import logging
from collections.abc import Sequence
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from trl import GRPOConfig

from spanreward.rewards.reward.reward import LogMetric
from spanreward.training.grpo.recorder import Recorder

log = logging.getLogger(__name__)


class Watching(TrainerCallback):
    """Calls `observe` after every batch of training that all recorders have judged.

    Args:
        recorders: the trainer's reward functions, or the only one.

    Attributes:
        fresh: whether the current step had a batch.

    Raises:
        ValueError: for rewards that are not Recorders.
    """

    def __init__(self, recorders: Sequence[Recorder] | Recorder) -> None:
        listed = recorders if isinstance(recorders, (list, tuple)) else [recorders]
        no_recorders = []  # their types' names
        for recorder in listed:
            if not isinstance(recorder, Recorder):
                no_recorders.append(type(recorder).__name__)
        if no_recorders or not listed:
            raise ValueError(
                f"{type(self).__name__} watches Recorders, got {no_recorders or 'none'}: make "
                "reward = Recorder(PoshReward(judge)), and give this one object to the trainer, in "
                "reward_funcs, and to the callback."
            )
        self.recorders = list(listed)
        self.fresh = False
        self._training = False  # between a step's begin and its end
        self._warned = False  # True once the first step is over
        self._judged: list[Recorder] = []  # of a batch that is not whole yet
        for recorder in self.recorders:
            recorder.watchers.append(self._on_judged)

    def observe(self, log_metric: LogMetric | None) -> None:
        """Called when all recorders have judged a batch of training."""

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._training = True
        self.fresh = False

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        # only of the first step: later ones may go on with a batch of completions
        if not self._warned and not self.fresh and state.is_world_process_zero:
            unasked = []
            for recorder in self.recorders:
                if recorder not in self._judged:
                    unasked.append(recorder.__name__)
            log.warning(
                "%s has seen no completion judged by %s in step %d: give the trainer the same "
                "Recorder objects as reward functions. A trainer without rewards, such as "
                "SFTTrainer, has nothing to watch.",
                type(self).__name__,
                " and ".join(unasked),
                state.global_step,
            )
        self._warned = True
        self._training = False

    def _on_judged(self, recorder: Recorder, log_metric: LogMetric | None) -> None:
        """Takes note that a recorder has judged, and calls `observe` after the last of them."""
        if not self._training:  # an evaluation
            return
        if recorder in self._judged:  # the next batch: the trainer does not ask all of them
            self._judged = []
        self._judged.append(recorder)
        if len(self._judged) == len(self.recorders):
            self._judged = []
            self.fresh = True
            self.observe(log_metric)


def group_size(args: TrainingArguments) -> int:
    """Returns the number of completions per prompt, which are neighbours in a batch; 1 for a
    trainer without groups.
    """
    if isinstance(args, GRPOConfig):
        return args.num_generations or 1
    return 1
