"""RewardHealthCallback: logs whether the reward is still worth following, and warns of problems.

    reward = Recorder(PoshReward(judge))
    health = RewardHealthCallback([reward], stop_on=["failed", "runaway"])
    GRPOTrainer(reward_funcs=[reward], callbacks=[health], ...)

The callback logs the keys `health/...` for each batch of training, over all ranks.
docs/logged_keys.md explains each key. training/health.py computes the numbers and finds the
problems. TRL does not log a number that is NaN.
"""

import logging
from collections.abc import Collection, Sequence
from typing import Any

from accelerate.utils import gather_object
from transformers import TrainerControl, TrainerState, TrainingArguments

from spanreward.rewards.base.checks import check_known
from spanreward.rewards.reward.reward import LogMetric, judges_of
from spanreward.training.callbacks import PROBLEMS
from spanreward.training.callbacks.base import Watching, group_size
from spanreward.training.grpo.judge_metrics import total_usage
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.health import (
    CompletionRow,
    Judged,
    Limits,
    RewardHealth,
    completion_rows,
)

log = logging.getLogger(__name__)

TRUNCATED_KEY = "completions/clipped_ratio"  # TRL's key
# Numbers that the log has under other keys: judge/failed_fraction, NAME/unscored_fraction, reward
# and completions/mean_length.
LOGGED_ELSEWHERE = ("failed_fraction", "unscored_fraction", "reward", "length")


class RewardHealthCallback(Watching):
    """Logs the numbers of a reward's health. Warns of each problem once, and names the remedy.

    Args:
        recorders: the rewards to watch, as Recorders of the trainer.
        limits: the limits beyond which a number is a problem; None for the defaults.
        stop_on: one or several keys of PROBLEMS. Such a problem ends the training on all ranks,
            with a checkpoint, at the end of the step.

    Attributes:
        stopped: the warning that ended the training, or "".

    Raises:
        ValueError: for a name in `stop_on` that PROBLEMS lacks, and for a reward that is not a
            Recorder.
    """

    def __init__(
        self,
        recorders: Sequence[Recorder] | Recorder,
        limits: Limits | None = None,
        stop_on: Collection[str] | str = ("failed", "unscored"),
    ) -> None:
        super().__init__(recorders)
        stop_on = [stop_on] if isinstance(stop_on, str) else stop_on
        check_known("problem in stop_on", stop_on, PROBLEMS)
        self.limits = limits or Limits()
        self.stop_on = frozenset(stop_on)
        self._judges = judges_of(recorder.reward for recorder in self.recorders)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.stopped = ""
        self._health = RewardHealth(group_size(args), self.limits)  # over all ranks
        self._usage = total_usage(self._judges)
        self._new_problems: dict[str, str] = {}  # problems of the current step, with a sentence
        self._warned_of: set[str] = set()

    def observe(self, log_metric: LogMetric | None) -> None:
        """Logs the numbers of the batch that was just judged, over all ranks. Keeps the problems of
        the batch for the end of the step.

        log_metric: TRL's function that logs a number, or None.
        """
        # count the audits of cascades since the batch before
        usage_before = self._usage
        self._usage = total_usage(self._judges)
        used = self._usage.since(usage_before)
        judged = []
        for recorder in self.recorders:
            judged.append(Judged(recorder.reward, recorder.verdicts, recorder.decides))
        rows_of_rank = completion_rows(self.recorders[0].samples, judged)
        # gather the rows in order of the ranks, so that a group's completions follow each other
        rows: list[CompletionRow] = []
        audited = 0
        agreed = 0
        ranks = gather_object([(rows_of_rank, used.audited, used.agreed)])
        for rank_rows, rank_audited, rank_agreed in ranks:
            rows += rank_rows
            audited += rank_audited
            agreed += rank_agreed
        numbers = self._health.add(rows, audited, agreed)
        for name, value in numbers.items():
            if log_metric is not None and name not in LOGGED_ELSEWHERE:
                log_metric(f"health/{name}", value)
        self._new_problems.update(self._health.problems())  # a step may judge several batches

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Logs a warning for each problem that the step shows for the first time. A problem in
        `stop_on` ends the training, with a checkpoint.
        """
        super().on_step_end(args, state, control)
        # every rank has the same problems, so that all ranks stop together; only rank 0 logs
        problems = self._new_problems
        self._new_problems = {}
        for problem, sentence in problems.items():
            if problem not in self._warned_of and state.is_world_process_zero:
                log.warning("step %d: %s", state.global_step, sentence)
            self._warned_of.add(problem)
            if problem in self.stop_on and not self.stopped:
                self.stopped = sentence
                control.should_training_stop = True
                control.should_save = True
                if state.is_world_process_zero:
                    log.error("training stops at step %d: %s", state.global_step, sentence)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: Any,
        logs: Any = None,
        **_: Any,
    ) -> None:
        # take the fraction of cut completions from the log: only the trainer can compute it
        if logs and TRUNCATED_KEY in logs:
            self._health.add_truncated(logs[TRUNCATED_KEY])
