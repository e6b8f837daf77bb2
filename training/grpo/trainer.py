"""SpanGRPOTrainer: TRL's GRPOTrainer with span credit on the tokens of a verdict's spans.

The methods follow the order of a step, with the numbers of docs/architecture.md. 1. With
dynamic_sampling a batch is drafted. 2. TRL samples, or gets the drafted completions. 3. TRL asks
for rewards, and the judges judge. Each Reward is in a Recorder, which returns the judges' scores to
TRL. 4. TRL computes the scalar advantages. 5. Span credit changes the advantages token by token.

With span_coef = 0 the trainer differs little from GRPOTrainer. For example, it stops after five
steps that taught nothing (learning_monitor.py). If a judge fails on a row, the row's advantage is
0, and the group's mean and standard deviation leave out the row. If too many rows fail, all ranks
stop with the same message. Corrections of TRL outside the step are in trl_internals/.
"""

import inspect
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from peft import PeftModel
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOTrainer

from spanreward.rewards.base.verdict import LARGEST_NUMBER
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.messages import assistants_texts
from spanreward.training.grpo.batch import Batch
from spanreward.training.grpo.config import SpanGRPOConfig, read_config
from spanreward.training.grpo.dynamic_sampling import DynamicSampling, Rollout, reward_of
from spanreward.training.grpo.idle_settings import warn_of_idle, warn_of_small_rate
from spanreward.training.grpo.judge_metrics import GatheredStep, RankStep, gather_step
from spanreward.training.grpo.judge_step import judge_step
from spanreward.training.grpo.learning_monitor import LearningMonitor
from spanreward.training.grpo.logged_keys import RECENT_LINES, keys_of, leave_out
from spanreward.training.grpo.overlong import punish_overlong, with_punishment
from spanreward.training.grpo.phases import Phases
from spanreward.training.grpo.preflight import (
    asks_in_messages,
    check_parts,
    check_policy,
    check_rows,
    check_trained,
    made_by_transform,
    pad_left,
)
from spanreward.training.grpo.reasoning import (
    UNKNOWN_MARK_WARNING,
    Parts,
    split_reasoning,
    split_turns,
    unknown_mark,
)
from spanreward.training.grpo.recorder import (
    NOT_COLUMNS,
    Recorder,
    advantages_by_token,
    check_deadlines,
    failed_rows,
    in_recorders,
    rewards_by_function,
)
from spanreward.training.grpo.reward_functions import distinct_names
from spanreward.training.grpo.signature import takes_arguments_of
from spanreward.training.grpo.span_credit import SpanCredit
from spanreward.training.grpo.stopping import (
    JudgeFailure,
    NothingScored as NothingScored,  # users import it from this module, like JudgeFailure
    stop_when_a_rank_is_silent,
    stop_when_judges_fail,
    stop_when_nothing_is_scored,
)
from spanreward.training.grpo.trl_internals.adapter_push import keep_base
from spanreward.training.grpo.trl_internals.contract import check_contract, check_loss
from spanreward.training.grpo.trl_internals.picture_tokens import (
    picture_tokens,
    suppress_tokens,
    take_out,
)
from spanreward.training.grpo.trl_internals.resuming import ResumingTrainer
from spanreward.training.grpo.trl_internals.vllm_prompts import expand_once
from spanreward.training.ranks.groups import check_groups, mark_of
from spanreward.training.ranks.rows import check_same_rows
from spanreward.training.ranks.silent import SilentJudges
from spanreward.training.ranks.timeout import wait_at_most
from spanreward.training.turn_end import EndlessTurn, endless_turn

log = logging.getLogger(__name__)


class SpanGRPOTrainer(ResumingTrainer):
    """TRL's GRPOTrainer with token-level advantages from spans.

    The arguments are GRPOTrainer's, in the same order. `args` is a SpanGRPOConfig. With a
    GRPOConfig, the settings of SpanGRPOConfig have their defaults, and spans are off.

    Raises:
        ValueError: for rewards, data and settings that do not fit together, and for a TRL without a
            method or attribute that contract.py lists.
    """

    args: SpanGRPOConfig
    model: Any
    train_dataset: Any
    num_generations: int
    num_generations_eval: int

    @takes_arguments_of(GRPOTrainer.__init__)
    def __init__(self, *arguments: Any, **named: Any) -> None:
        options = inspect.signature(GRPOTrainer).bind(*arguments, **named).arguments
        model = options.pop("model")
        reward_funcs = options.pop("reward_funcs", None)
        args = read_config(options.pop("args", None), model)
        functions = in_recorders(reward_funcs, args.tool_pictures)
        self.recorders = [function for function in functions if isinstance(function, Recorder)]
        rewards = [recorder.reward for recorder in self.recorders]
        # check the arguments before TRL loads anything
        check_loss(args.span_coef)
        check_parts(args, rewards, functions, options)
        warn_of_idle(args)
        if options.get("peft_config") is not None or isinstance(model, PeftModel):
            warn_of_small_rate(args)
        if args.world_size > 1:
            check_deadlines(rewards, wait_at_most(args.ddp_timeout))
        self._nonzero_keys: frozenset[str] = frozenset()  # logged keys that once were not 0
        # the number of the user's reward functions: `with_punishment` may add one more at the end
        self._score_count = len(functions)
        args = with_punishment(args, functions)
        args.claimed = True  # else the settings warn that the trainer ignores span_coef
        super().__init__(model, functions or None, args, **options)
        check_contract(self)
        check_trained(self.model)
        # TRL keeps rewards by the function's name: two functions need two names
        self.reward_func_names = distinct_names(self.reward_func_names)
        self.endless: EndlessTurn | None = None
        self._check_data(rewards, options)
        self._prepare_sampling()
        for recorder in self.recorders:
            recorder.decides = self._weights()[recorder.__name__] != 0
        self._add_parts(rewards)
        self._batch = Batch([])
        # for each completion judged in this step, drafts included, whether a judge failed
        self._failed_with_drafts: list[bool] = []
        self._usage = Usage()  # the counts of the judges in this step
        self._silence = SilentJudges(len(self.recorders))
        self._has_judges = any(reward.judges for reward in rewards)
        self._reasoning_mark = ""  # the mark of `unknown_mark`, once a warning has named it

    def _add_parts(self, rewards: Sequence[Reward]) -> None:
        """Adds the learning monitor, the clock of the phases, span credit and dynamic sampling."""
        self.learning_monitor = LearningMonitor(self)
        self.add_callback(self.learning_monitor)
        self.phases = Phases(self)
        if self.recorders:  # without a Reward, the log has only TRL's keys
            self.add_callback(self.phases)
        self.span_credit = SpanCredit(self)
        self.sampling = None
        if self.args.dynamic_sampling:
            compared = any(reward.by_batch for reward in rewards)
            self.sampling = DynamicSampling(self.train_dataset, self.args, whole_groups=compared)

    def _check_data(self, rewards: Sequence[Reward], options: Mapping[str, Any]) -> None:
        """Raises ValueError for data that the ranks, the policy or the rewards cannot use. Also
        sets `endless`.

        options: GRPOTrainer's other arguments, by name.
        """
        datasets = {"train_dataset": self.train_dataset, "eval_dataset": self.eval_dataset}
        for part, dataset in datasets.items():
            check_same_rows(part, dataset)
        # both options make their own prompts, so that the prompts of the rows are not checked
        if options.get("rollout_func") or options.get("environment_factory"):
            return
        check_policy(self.processing_class, self.train_dataset)
        self.endless = self._endless_turn()
        for part, dataset in datasets.items():
            check_rows(rewards, self.processing_class, part, dataset)

    def _prepare_sampling(self) -> None:
        """Corrects what TRL leaves wrong for the sampling: the side of the padding, tokens that
        stand for pictures, the push of an adapter to vLLM, and vLLM's pictures.
        """
        if pad_left(self.processing_class):
            log.warning(
                "the processor pads on the right, and is set to the left: load it with "
                'padding_side="left".'
            )
        self._picture_tokens = picture_tokens(self.model.config)
        suppress_tokens(self, self._picture_tokens)
        keep_base(self)
        self.colocated = self.use_vllm and self.vllm_mode == "colocate"
        if self.colocated:
            expand_once(self.vllm_generation, self._picture_tokens)

    def _endless_turn(self) -> EndlessTurn | None:
        """Returns what the chat template writes after an answer, if generation does not stop there,
        and logs a warning. Returns None for a good template, and for prompts without a template.
        """
        if not asks_in_messages(self.train_dataset):
            return None
        endless = endless_turn(self.processing_class, {*self.eos_token_ids} - {None})
        if endless is not None:
            log.warning(
                "%s: unless the policy has learnt to stop otherwise, no completion ends before "
                "max_completion_length; %s.",
                endless,
                endless.cure,
            )
        return endless

    # The step.

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """Completes and judges this rank's rows, and returns TRL's tensors for the loss, with span
        credit in the advantages.

        inputs: the rows, one for each completion. TRL calls this method for each batch.
        """
        self._failed_with_drafts = []
        self._usage = Usage()
        self._silence.begin()
        if self.sampling is not None and self.model.training:
            self._batch = self._draft_batch(self.sampling, inputs)
        else:
            self._batch = Batch(inputs, self._marks_of(inputs))
        output = super()._generate_and_score_completions(self._batch.rows)
        # keep the scalar advantages for callbacks before span credit changes the tensor
        scalars = output["advantages"].tolist()
        if self.args.span_coef > 0:
            self.span_credit.add(output, self._batch)
        self._drop_unusable(output["advantages"])
        if self.model.training:
            self.learning_monitor.count_batch(output)
        token_advantages = advantages_by_token(output["advantages"], self._batch.offsets)
        paid = rewards_by_function(self._batch.rewards, self._weights())
        for recorder in self.recorders:
            recorder.receive(scalars, token_advantages, paid)
        return output

    # 1. Dynamic sampling.

    def _draft_batch(self, sampling: DynamicSampling, inputs: list[dict[str, Any]]) -> Batch:
        """Returns the batch to train on, from the groups of dynamic sampling.

        inputs: this rank's rows of the batch before dynamic sampling.
        """
        # drop the metrics and token counts of drafts: the log must be of the final batch alone
        metrics = self._metrics
        tokens_seen = self.state.num_input_tokens_seen
        self._metrics = {mode: defaultdict(list) for mode in metrics}
        rows, drafted, counts = sampling.fill(
            inputs,
            self._draft,
            self.num_generations,
            self.accelerator.process_index,
            self.accelerator.num_processes,
        )
        self._metrics = metrics
        self.state.num_input_tokens_seen = tokens_seen
        for name, value in counts.items():
            self._metrics["train"][f"sampling/{name}"].append(value)
        return Batch(rows, self._marks_of(rows), drafted=drafted)

    def _draft(self, rows: list[dict[str, Any]]) -> list[list[Rollout]]:
        """Completes and judges these rows of this rank. Returns the rollouts of all ranks, a list
        for each group.
        """
        batch = Batch(rows, self._marks_of(rows), drafting=True)
        self._batch = batch
        # TRL calls methods below, which fill `batch` and the recorders: TRL's result is not needed
        super()._generate_and_score_completions(rows)
        weights = self._weights()
        drafted = []
        for row, sample in enumerate(self.recorders[0].samples):  # each recorder has the same texts
            logprobs = None if batch.logprobs is None else batch.logprobs[row]
            verdicts = {recorder.__name__: recorder.verdicts[row] for recorder in self.recorders}
            reward = reward_of(verdicts, weights)
            drafted.append(Rollout(batch.ids[row], logprobs, sample.completion, verdicts, reward))
        # gathering keeps the order of the ranks, so that the rollouts of a group follow each other
        rollouts = gather_object(drafted)
        size = self.num_generations
        return [rollouts[first : first + size] for first in range(0, len(rollouts), size)]

    # 2. Sampling.

    def _generate_single_turn(
        self, *args: Any, **kwargs: Any
    ) -> tuple[list[list[int]], list[list[float]] | None]:
        """Returns the token ids of each completion, and the sampler's log-probabilities of the ids:
        those of the draft, or newly sampled ones.
        """
        batch = self._batch
        if batch.drafted is None:
            with self.phases.clock("decode"):
                batch.ids, batch.logprobs = super()._generate_single_turn(*args, **kwargs)
        else:
            batch.ids = [rollout.ids for rollout in batch.drafted]
            logprobs = [draft.logprobs for draft in batch.drafted if draft.logprobs is not None]
            batch.logprobs = logprobs or None  # a sampler gives all log-probabilities or none
        return batch.ids, batch.logprobs

    def _generate(self, prompts: list[Any]) -> tuple[Any, ...]:
        """Returns what TRL's `_generate` returns. Also finds the judged part of each completion,
        and takes out tokens that stand for pictures.
        """
        output = super()._generate(prompts)
        _, ids, masks, completions, *_ = output
        batch = self._batch
        if not batch.drafting:
            pad = self._tokenizer.pad_token_id
            batch.pictured = take_out(ids, self._picture_tokens, pad, masks)
        if self.args.reasoning_end is not None:
            batch.parts = self._split_reasoning(ids, masks, self.args.reasoning_end)
        elif self.recorders:  # without a Reward nothing is judged
            batch.parts = self._split_turns(ids, completions)
        return output

    def _split_reasoning(
        self, ids: list[list[int]], masks: list[list[int]] | None, end: str
    ) -> list[Parts]:
        """Returns the text and the answer of each completion.

        Logs the fraction of completions without the tag `end`. masks: 0 at the ids of a tool.
        """
        tokenizer = self._tokenizer.backend_tokenizer
        parts = []
        for row, ids_of_row in enumerate(ids):
            mask = masks[row] if masks else ()
            parts.append(split_reasoning(tokenizer, ids_of_row, end, mask))
        unfinished = [part for part in parts if not part.finished]
        self._log_metric("reasoning/unfinished_fraction", len(unfinished) / len(ids))
        return parts

    def _split_turns(self, ids: list[list[int]], completions: list[Any]) -> list[Parts] | None:
        """Returns the text and the judged turns of each completion, or None if every text is judged
        whole. Warns once if most completions begin with a mark such as "[PLAN]", which may begin a
        reasoning.
        """
        tokenizer = self._tokenizer.backend_tokenizer
        turns = None if self.args.judged_turns == "all" else 1  # how many; None: all
        parts = []
        for ids_of_row, messages in zip(ids, completions, strict=True):
            texts = list(islice(assistants_texts(messages), turns))  # the last message comes first
            texts.reverse()
            parts.append(split_turns(tokenizer, ids_of_row, texts))
        if not self._reasoning_mark:
            self._reasoning_mark = unknown_mark(tokenizer, ids, parts)
            if self._reasoning_mark:
                log.warning(
                    "most completions begin with %r%s", self._reasoning_mark, UNKNOWN_MARK_WARNING
                )
        if all(part.answer == part.text for part in parts):
            return None
        return parts

    # 3. Log-probabilities and rewards.

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        **kwargs: Any,
    ) -> Any:
        """Returns TRL's log-probabilities and entropies, and measures their time."""
        if self._batch.drafting:  # a draft needs no log-probabilities: save the forward pass
            zeros = torch.zeros((len(input_ids), logits_to_keep), device=input_ids.device)
            return zeros, None, None
        # a call with gradients belongs to the loss, so that its time counts as training
        with nullcontext() if torch.is_grad_enabled() else self.phases.clock("logprobs"):
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, **kwargs
            )

    def _calculate_rewards(
        self,
        inputs: list[dict[str, Any]],
        prompts: list[Any],
        completions: list[Any],
        completion_ids_list: list[Any],
    ) -> torch.Tensor:
        """Judges the completions, checks the step on all ranks, and returns the rewards, (rows of
        all ranks, R), with NaN for a missing reward and in unusable rows.

        Raises JudgeFailure, NothingScored and MixedGroup, on all ranks or none.
        """
        if not self.recorders:
            marks = torch.tensor(self._batch.marks, device=self.accelerator.device)
            self._check_groups(self.accelerator.gather(marks).tolist())
            rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
            return self._usable_rewards(rewards)
        columns = {}
        for name in inputs[0]:
            if name not in NOT_COLUMNS:
                columns[name] = [row[name] for row in inputs]
        batch = self._batch
        if batch.drafted is None:
            self._judge(prompts, completions, columns)
        else:  # if the completions were judged in an earlier draft
            self._restore_verdicts(batch.drafted, prompts, completions, columns)
        batch.failed = failed_rows(self.recorders, len(prompts))
        step = self._gather_checked_step()
        if batch.drafting:  # the rewards of this draft are not used: return any of their shape
            rows = len(prompts) * self.accelerator.num_processes
            return torch.zeros(rows, len(self.reward_funcs), device=self.accelerator.device)
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        # if judges failed on all completions, the user has allowed this (max_failed_fraction=1)
        all_failed = step.metrics["judge/failed_fraction"] == 1
        if self.model.training and not all_failed:
            # the scores are the columns before the punishment of length
            weights = self.reward_weights[: self._score_count].to(rewards.device)
            scores = rewards[:, : self._score_count]
            stop_when_nothing_is_scored(self.recorders, scores[:, weights != 0])
        return self._usable_rewards(rewards, step.failed)

    def _gather_checked_step(self) -> GatheredStep:
        """Returns the failures, marks and silent judges of the step from all ranks, after judging.
        Logs the metrics `judge/...`.

        Raises MixedGroup for a group with completions of several rows, and JudgeFailure if too many
        completions could not be judged or a rank's judge has answered nothing for several steps.
        The checks use the numbers of all ranks, so that all ranks stop together.
        """
        batch = self._batch
        silent = self._silence.silent
        of_rank = RankStep(self._failed_with_drafts, batch.failed, batch.marks, silent, self._usage)
        step = gather_step(of_rank, self.accelerator.device)
        self._check_groups(step.marks)
        metrics = self._mode_metrics()
        for name, value in step.metrics.items():
            if name == "judge/failed_fraction" or self._has_judges:
                metrics[name].append(value)
        failed_fraction = step.metrics["judge/failed_fraction"]
        stop_when_judges_fail(self.recorders, failed_fraction, self.args.max_failed_fraction)
        has_several_ranks = len(step.silent) > 1
        trains = self.model.training and not batch.drafting  # neither an evaluation nor a draft
        if has_several_ranks and trains:
            stop_when_a_rank_is_silent(self.recorders, self._silence, step.silent)
        return step

    def _judge(
        self, prompts: list[Any], completions: list[Any], columns: dict[str, list[Any]]
    ) -> None:
        """Lets all recorders, the reward functions that wrap a Reward, judge these completions.
        Adds up, over the drafts of a step, the judges' counts and the failures.
        """
        with self.phases.clock("judge"):
            usage = judge_step(
                self.recorders, prompts, completions, self._log_metric, columns, self._batch.parts
            )
        self.phases.move("wake", "judge", usage.wake_seconds)
        self.phases.move("sleep", "judge", usage.sleep_seconds)
        self._usage = self._usage.plus(usage)
        self._failed_with_drafts += failed_rows(self.recorders, len(prompts))
        for number, recorder in enumerate(self.recorders):
            if recorder.decides:
                self._silence.add(number, recorder.verdicts)

    def _restore_verdicts(
        self,
        drafted: list[Rollout],
        prompts: list[Any],
        completions: list[Any],
        columns: dict[str, list[Any]],
    ) -> None:
        """Puts the verdicts of the draft into the recorders, the reward functions that wrap a
        Reward, so that no completion is judged twice.

        drafted: the rollout of each of this rank's completions, from the draft.
        """
        for recorder in self.recorders:
            read = recorder.reward.read_samples(prompts, completions, **columns)
            samples = []
            # put in the text of the draft, because the spans of its verdict index this text
            for sample, rollout in zip(read, drafted, strict=True):
                samples.append(replace(sample, completion=rollout.text))
            verdicts = [rollout.verdicts[recorder.__name__] for rollout in drafted]
            recorder.keep(samples, verdicts, self._log_metric)

    def _usable_rewards(
        self, rewards: torch.Tensor, failed: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Returns the rewards, (rows of all ranks, R), with NaN in unusable rows. Then TRL's mean
        and deviation of a group leave out such a row. Also punishes length, if the settings say so.

        A row is unusable if a judge failed on it, if a reward is above LARGEST_NUMBER, or if no
        reward with a weight has a value. failed: (rows,), bool, True if a judge failed.
        """
        weights = self.reward_weights.to(rewards.device)
        weighted = rewards[:, weights != 0]  # the columns that train the policy
        too_large = (weighted.abs() > LARGEST_NUMBER).any(dim=1)
        unusable = too_large | weighted.isnan().all(dim=1)
        if failed is not None:
            unusable |= failed
        rewards = rewards.masked_fill(unusable.unsqueeze(1), torch.nan)
        if self.args.soft_overlong_cache is not None:
            rewards = punish_overlong(
                rewards,
                column=self._score_count,
                weights=weights,
                size=self.args.soft_overlong_size,
                group=self._group_size,
                normalises_columns=self.args.multi_objective_aggregation == "normalize_then_sum",
            )
        self._batch.too_large = self._of_this_rank(too_large)
        self._batch.rewards = self._of_this_rank(rewards)
        return rewards

    def _of_this_rank(self, rows: torch.Tensor) -> torch.Tensor:
        """Returns this rank's part of a tensor with the rows of all ranks, rank after rank."""
        count = len(rows) // self.accelerator.num_processes
        first = count * self.accelerator.process_index
        return rows[first : first + count]

    # 5. The spans' credit (span_credit.py), and rows that must not reach the loss.

    def _drop_unusable(self, advantages: torch.Tensor) -> None:
        """Sets the advantages of unusable rows to 0, so that these rows teach nothing, and logs
        the fraction of such rows.

        Such a row has an advantage that is not finite, a reward above LARGEST_NUMBER, or a token
        that stands for a picture. Raises JudgeFailure, on all ranks, above max_failed_fraction.

        advantages: (B,), or (B, T) with span credit.
        """
        unusable = ~advantages.isfinite().reshape(len(advantages), -1).all(dim=1)
        unusable |= self._batch.too_large
        unusable[self._batch.pictured] = True
        advantages[unusable] = 0.0
        fraction = self.accelerator.gather(unusable.float()).mean().item()
        if self.recorders:
            self._mode_metrics()["advantages/unusable_fraction"].append(fraction)
        if fraction > self.args.max_failed_fraction:
            raise JudgeFailure(
                f"{fraction:.0%} of this step's completions have a reward or an advantage that is "
                f"not finite or above {LARGEST_NUMBER:g}, or hold a picture's token "
                f"(max_failed_fraction is {self.args.max_failed_fraction:.0%}): mend the reward "
                "function."
            )

    # Around the step.

    def _marks_of(self, rows: list[dict[str, Any]]) -> list[int]:
        """Returns a number for each row; equal rows have equal numbers. If a transform makes the
        rows, maybe at random, only the prompts count.
        """
        if made_by_transform(self.train_dataset) or made_by_transform(self.eval_dataset):
            return [mark_of(row, ["prompt"]) for row in rows]
        return [mark_of(row, row) for row in rows]

    def _check_groups(self, marks: list[float]) -> None:
        """Raises MixedGroup, on all ranks or none, if a group has rows with different marks.
        marks: `_marks_of` of all ranks' rows.
        """
        check_groups(marks, self._batch.rows, self._group_size, self.accelerator.num_processes)

    def _weights(self) -> dict[str, float]:
        """Returns the weight of each reward function, by the function's name."""
        return dict(zip(self.reward_func_names, self.reward_weights.tolist(), strict=True))

    @property
    def _group_size(self) -> int:
        """The number of completions of a prompt, in training or evaluation."""
        if self.model.training:
            return self.num_generations
        return self.num_generations_eval

    def _mode_metrics(self) -> dict[str, list[float]]:
        """Returns TRL's metrics since the last log, of training or of evaluation."""
        mode = "train" if self.accelerator.unwrap_model(self.model).training else "eval"
        return self._metrics[mode]

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Logs a line, without keys that count faults and were always 0 (logged_keys.py)."""
        # values and history are the same on all ranks, so each rank leaves out the same keys
        nonzero_keys = self._nonzero_keys | keys_of(self.state.log_history[-RECENT_LINES:])
        self._nonzero_keys = leave_out(self._mode_metrics(), nonzero_keys)
        super().log(logs, start_time)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Saves a checkpoint, with the state of dynamic sampling."""
        # write the state before Trainer writes the file that marks a checkpoint as complete
        if self.sampling is not None and self.args.should_save:
            folder = Path(self._get_output_dir(trial=trial))
            self.sampling.save(folder / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}")
        super()._save_checkpoint(model, trial)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Loads a checkpoint's state, with the state of dynamic sampling."""
        super()._load_optimizer_and_scheduler(checkpoint)
        if self.sampling is not None and checkpoint is not None:
            self.sampling.load(Path(checkpoint))
