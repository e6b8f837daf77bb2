"""What callbacks that look at judged completions share: their
recorders, and a call after every batch of training.

    class Counter(Watching):
        def observe(self, log_metric):                     # after every batch of training
            log_metric("judged", len(self.recorders[0].verdicts))

    Counter([reward])                                      # the Recorder that the trainer has

What is judged between two steps belongs to an evaluation and is not observed. Every rank observes its own part, and all
ranks at the same time, so `observe` may gather.
"""

import logging
from collections.abc import Sequence
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from trl import GRPOConfig

from rewards.reward import LogMetric
from training.callbacks.sft_prompts import EvaluationPrompts
from training.grpo.recorder import Recorder

log = logging.getLogger(__name__)


class Watching(TrainerCallback):
    """recorders: those that the trainer has as reward functions. prompts: for a trainer that has no rewards.

    fresh: whether anything was observed in the current step. Raises ValueError for rewards that record nothing.
    """

    def __init__(self, recorders: Sequence[Recorder], prompts: EvaluationPrompts | None = None) -> None:
        check_recorders(type(self).__name__, recorders)
        self.recorders = list(recorders)
        self.prompts = prompts
        self.fresh = False
        self._training = self._warned = False
        self._heard = 0
        for recorder in self.recorders:
            recorder.watchers.append(self._hear)

    def observe(self, log_metric: LogMetric | None) -> None:
        """All recorders have judged a batch of training."""

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._training = True
        self.fresh = False

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if self.prompts is not None:
            self.prompts.judge(state.global_step, self.recorders)
        elif not self._warned and not self.fresh and state.is_world_process_zero:
            self._warn(state.global_step)
        self._warned = True
        self._training = False

    def _hear(self, recorder: Recorder, log_metric: LogMetric | None) -> None:
        if not self._training:
            return
        self._heard += 1
        if self._heard == len(self.recorders):
            self._heard = 0
            self.fresh = True
            self.observe(log_metric)

    def _warn(self, step: int) -> None:
        log.warning(
            "%s has seen no completion judged by %s in step %d: give the trainer the same Recorder objects as reward "
            "functions, or, where it has no rewards (SFTTrainer), this callback prompts=EvaluationPrompts(...).",
            type(self).__name__,
            " and ".join(recorder.__name__ for recorder in self.recorders),
            step,
        )


def group_size(args: TrainingArguments) -> int:
    """Completions per prompt, which are neighbours in a batch; 1 for a trainer that does not sample groups."""
    return args.num_generations or 1 if isinstance(args, GRPOConfig) else 1


def check_recorders(callback: str, recorders: Sequence[Any]) -> None:
    """Raises ValueError unless there are recorders, and nothing else."""
    others = [type(recorder).__name__ for recorder in recorders if not isinstance(recorder, Recorder)]
    if others or not recorders:
        raise ValueError(
            f"{callback} watches Recorders, got {others or 'none'}: make reward = Recorder(PoshReward(judge)), and "
            "give this one object to the trainer, in reward_funcs, and to the callback."
        )
