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

from trl import GRPOTrainer

from rewards.background import in_background
from rewards.judges.usage import Usage
from training.grpo.config import SpanGRPOConfig
from training.grpo.reasoning import Parts, split_reasoning
from training.grpo.recorder import Recorder, columns_of, judge_step


class OverlapTrainer(GRPOTrainer):
    """GRPOTrainer whose `recorders`, which a subclass sets, judge a batch by `_judge_all`."""

    args: SpanGRPOConfig
    recorders: list[Recorder]

    _rows: list[dict[str, Any]]  # of this rank's batch
    _parts: list[Parts] | None = None  # of its completions, where the policy thinks first
    _ahead: Future[Usage] | None = None  # its judging, where that has begun
    _replayed: Any = None  # what was judged before, of a batch that needs no judging

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self._rows = inputs
        return super()._generate_and_score_completions(inputs)

    def _generate(self, prompts: list[Any]) -> tuple[Any, ...]:
        output = super()._generate(prompts)
        _, ids, _, completions, *_ = output
        end = self.args.reasoning_end
        if end is not None:
            self._parts = [split_reasoning(self._tokenizer.backend_tokenizer, row, end) for row in ids]
            unfinished = sum(not parts.finished for parts in self._parts)
            self._log_metric("reasoning/unfinished_fraction", unfinished / len(ids))
        elsewhere = [recorder for recorder in self.recorders if recorder.reward.remote]
        if elsewhere and self._replayed is None and self.rollout_func is None:  # whose fields become columns later
            if self._ahead is not None:
                wait([self._ahead])  # of a step that was interrupted
            columns = columns_of(self._rows)
            self._ahead = in_background(lambda: self._judge_some(elsewhere, prompts, completions, columns))
        return output

    def _judge_all(self, prompts: list[Any], completions: list[Any], columns: Mapping[str, Sequence[Any]]) -> Usage:
        """Have all recorders judge these completions, or wait for those that have begun; what that cost."""
        if self._ahead is None:
            return self._judge_some(self.recorders, prompts, completions, columns)
        ahead, self._ahead = self._ahead, None
        usage = ahead.result()
        here = [recorder for recorder in self.recorders if not recorder.reward.remote]
        return usage.plus(self._judge_some(here, prompts, completions, columns))

    def _judge_some(
        self,
        recorders: Sequence[Recorder],
        prompts: list[Any],
        completions: list[Any],
        columns: Mapping[str, Sequence[Any]],
    ) -> Usage:
        return judge_step(recorders, prompts, completions, self._log_metric, columns, self._parts)
