"""Watching: base class of callbacks that look at every batch of judged completions.

    class Counter(Watching):
        def observe(self, log_metric):                     # called after every batch of training
            log_metric("judged", len(self.recorders[0].verdicts))

    Counter([reward])                                      # `reward` is the trainer's Recorder

Completions that are judged between two steps belong to an evaluation, and `observe` is not called
for them. Every rank calls `observe` for its own completions. All ranks call it for the same
batches, so that `observe` may gather from all ranks.
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
        recorders: Recorders that are reward functions of the trainer; a list, or a single Recorder.

    Attributes:
        fresh: whether a new batch was judged in the current step.

    Raises:
        ValueError: for rewards that are not Recorders, and for an empty list.
    """

    def __init__(self, recorders: Sequence[Recorder] | Recorder) -> None:
        listed = recorders if isinstance(recorders, (list, tuple)) else [recorders]
        no_recorders = []  # names of types that are not Recorder
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
        self._training = False  # True between a step's begin and its end
        self._first_step_over = False
        self._judged: list[Recorder] = []  # recorders that have judged the current batch
        for recorder in self.recorders:
            recorder.watchers.append(self._on_judged)

    def observe(self, log_metric: LogMetric | None) -> None:
        """Called after all recorders have judged a batch of training. A subclass overrides it.

        log_metric: TRL's function that logs a number, or None.
        """

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._training = True
        self.fresh = False

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Warns after the first step if no batch was judged by all recorders: then the trainer has
        not got these recorders as reward functions.
        """
        # Warn only in the first step, which always has a new batch. A later step may reuse an
        # earlier batch.
        is_first_step = not self._first_step_over
        if is_first_step and not self.fresh:
            self._warn_of_unasked(state)
        self._first_step_over = True
        self._training = False

    def _warn_of_unasked(self, state: TrainerState) -> None:
        """Logs a warning that names the recorders which have judged nothing; only on rank 0."""
        if not state.is_world_process_zero:
            return
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

    def _on_judged(self, recorder: Recorder, log_metric: LogMetric | None) -> None:
        """Notes that a recorder has judged a batch of training. Calls `observe` when all recorders
        have judged the batch.

        The Recorder, which is a reward function of the trainer, calls this method as one of its
        `watchers`.
        """
        if not self._training:  # the batch belongs to an evaluation
            return
        # A recorder that judges a second time has begun the next batch. Then the batch before is
        # dropped, because the trainer did not ask all recorders about it.
        if recorder in self._judged:
            self._judged = []
        self._judged.append(recorder)
        if len(self._judged) == len(self.recorders):
            self._judged = []
            self.fresh = True
            self.observe(log_metric)


def group_size(args: TrainingArguments) -> int:
    """Returns the number of completions of a prompt; 1 for a trainer without groups.

    The completions of a prompt follow each other in a batch.
    """
    if isinstance(args, GRPOConfig):
        return args.num_generations or 1
    return 1
