"""Judges that are elsewhere begin as soon as completions are there, while this process goes on with the step.

TRL samples a batch, computes what log-probabilities it needs, and calculates rewards, in this order. A reward whose
judges are all remote (`Reward.remote`: behind a server, and asleep at no time) judges in a thread from the moment that
`_generate` returns, and is waited for where rewards are calculated. What it has to overlap with is, each where there is
any:

    the pictures of the batch, which the processor prepares
    the old policy's log-probabilities: gradient_accumulation_steps is no multiple of steps_per_generation x
        num_iterations, or vLLM samples with vllm_importance_sampling_correction (TRL's default)
    the reference model's log-probabilities: beta > 0

With TRL's other defaults there are no log-probabilities to compute, and with dynamic_sampling a batch is judged before
they are: then judging takes as long as ever. A co-located judge must sleep while the policy works, and a judge that all
ranks share speaks to them: those are asked in their turn, as are rewards with one such judge among others.

The thread touches neither the policy, its tokenizer, nor other ranks. What it raises is raised where it is waited for;
whatever ends the step sooner, as Ctrl-C, does not wait.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

from rewards.background import in_background
from rewards.judges.usage import Usage
from rewards.reward import LogMetric
from training.grpo.reasoning import Parts
from training.grpo.recorder import Recorder, columns_of, judge_step


class Overlap:
    """The judging of a batch by `recorders`: begun as soon as may be, and finished where rewards are calculated."""

    def __init__(self, recorders: Sequence[Recorder], log_metric: LogMetric) -> None:
        self.recorders = recorders
        self.elsewhere = [recorder for recorder in recorders if recorder.reward.remote]
        self.here = [recorder for recorder in recorders if not recorder.reward.remote]
        self.log_metric = log_metric
        self._ahead: Future[Usage] | None = None  # what was begun

    def begin(
        self,
        prompts: list[Any],
        completions: list[Any],
        rows: Sequence[Mapping[str, Any]],
        parts: Sequence[Parts] | None,
    ) -> None:
        """Have the rewards whose judges are elsewhere judge these completions of `rows`, in a thread."""
        if not self.elsewhere:
            return
        if self._ahead is not None:
            wait([self._ahead])  # of a step that was interrupted
        columns = columns_of(rows)
        self._ahead = in_background(
            lambda: judge_step(self.elsewhere, prompts, completions, self.log_metric, columns, parts)
        )

    def finish(
        self,
        prompts: list[Any],
        completions: list[Any],
        columns: Mapping[str, Sequence[Any]],
        parts: Sequence[Parts] | None,
    ) -> Usage:
        """Have all rewards judge these completions, or wait for those that have begun; what that cost."""
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return judge_step(self.recorders, prompts, completions, self.log_metric, columns, parts)
        usage = ahead.result()
        return usage.plus(judge_step(self.here, prompts, completions, self.log_metric, columns, parts))
