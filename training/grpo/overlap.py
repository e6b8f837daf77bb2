"""Judges on servers begin as soon as the completions exist, while this process goes on with the step.

A reward whose judges are all remote (`Reward.remote`) judges in a thread from the moment that TRL's `_generate` returns
until TRL calculates rewards. In the meantime the process does, where the settings ask for it:

    the pictures of the batch, which the processor prepares
    the old policy's log-probabilities: gradient_accumulation_steps is no multiple of steps_per_generation x
        num_iterations, or vLLM samples with vllm_importance_sampling_correction (TRL's default)
    the reference model's log-probabilities: beta > 0

Otherwise, and with dynamic_sampling, nothing is saved. Other rewards judge where TRL calculates rewards: a co-located
judge must sleep while the policy works. The thread uses neither the policy nor its tokenizer nor other ranks. Its
exception is raised where the step waits for it. A step that ends early, for example by Ctrl-C, does not wait.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

from spanreward.rewards.base.background import in_background
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.reward.reward import LogMetric
from spanreward.training.grpo.reasoning import Parts
from spanreward.training.grpo.recorder import Recorder, columns_of, judge_step


class Overlap:
    """Judges a batch with `recorders`: the remote ones from `begin` on, the others in `finish`."""

    def __init__(self, recorders: Sequence[Recorder], log_metric: LogMetric) -> None:
        self.recorders = recorders
        self.elsewhere = [recorder for recorder in recorders if recorder.reward.remote]
        self.here = [recorder for recorder in recorders if not recorder.reward.remote]
        self.log_metric = log_metric
        self._ahead: Future[Usage] | None = None  # the judging that has begun

    def begin(self, prompts: Any, completions: Any, rows: list[dict[str, Any]], parts: list[Parts] | None) -> None:
        """Start the remote rewards on these completions of `rows`, in a thread."""
        if not self.elsewhere:
            return
        if self._ahead is not None:
            wait([self._ahead])  # of a step that was interrupted
        columns = columns_of(rows)
        self._ahead = in_background(
            lambda: judge_step(self.elsewhere, prompts, completions, self.log_metric, columns, parts)
        )

    def finish(
        self, prompts: list[Any], completions: list[Any], columns: Mapping[str, list[Any]], parts: list[Parts] | None
    ) -> Usage:
        """Have every reward judge these completions, or wait for those that have begun. Returns what that cost."""
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return judge_step(self.recorders, prompts, completions, self.log_metric, columns, parts)
        usage = ahead.result()
        return usage.plus(judge_step(self.here, prompts, completions, self.log_metric, columns, parts))
