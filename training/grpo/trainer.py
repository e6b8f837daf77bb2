"""SpanGRPOTrainer: TRL's GRPOTrainer in which a verdict's spans reach the tokens that wrote them.

Its methods stand in the order of a step, numbered as in docs/architecture.md: a batch is drafted
with dynamic_sampling, TRL samples or gets the drafted completions, the judges judge where TRL asks
for rewards, TRL computes the scalar advantages, and the spans' credit changes them token by token.
Each Reward is a Recorder, whose call returns the scores that the judges found.

With span_coef = 0 this is GRPOTrainer, which stops where five steps moved no weight (pulse.py). A
row on which a judge failed leaves its group's mean and standard deviation and gets advantage 0. A
judge that cannot be woken fails on all rows. Too many failed rows stop the run on all ranks, with
the same message. Nothing of TRL is copied.
"""

import copy
import inspect
import json
import logging
from collections import defaultdict
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOTrainer
from trl.rewards import get_soft_overlong_punishment

from spanreward.rewards.base.verdict import LARGEST
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.messages import assistants_texts
from spanreward.training.grpo import credit as spans
from spanreward.training.grpo.adapter_push import keep_base
from spanreward.training.grpo.config import SpanGRPOConfig, read_config
from spanreward.training.grpo.contract import check_contract, check_loss
from spanreward.training.grpo.dynamic_sampling import (
    STATE_FILE,
    DynamicSampling,
    Rollout,
    reward_of,
)
from spanreward.training.grpo.judge_metrics import gather_step
from spanreward.training.grpo.phases import Phases
from spanreward.training.grpo.picture_tokens import picture_tokens, suppress, take_out
from spanreward.training.grpo.preflight import check_parts, check_policy, check_rows, pad_left
from spanreward.training.grpo.pulse import Pulse
from spanreward.training.grpo.reasoning import (
    UNKNOWN,
    Parts,
    split_reasoning,
    split_turns,
    unknown_mark,
)
from spanreward.training.grpo.recorder import (
    NOT_COLUMNS,
    Received,
    Recorder,
    check_deadlines,
    failed_rows,
    judge_step,
)
from spanreward.training.grpo.resuming import ResumingTrainer
from spanreward.training.grpo.span_rules import (
    add_centred,
    credit_moments,
    credit_std,
    punish_within,
    scale_credit,
)
from spanreward.training.grpo.vllm_prompts import expand_once

log = logging.getLogger(__name__)


class JudgeFailure(RuntimeError):
    """Too many completions could not be judged.

    The message, the same on every rank, gives the first reason.
    """


class NothingScored(RuntimeError):
    """No completion of a step has a score.

    The message, the same on every rank, names the cause and the columns.
    """


@dataclass(slots=True)
class Batch:
    """This rank's completions of the current step.

    drafting: they are only sampled and judged; other results of TRL are thrown away. drafted:
    completions that were sampled and judged before and that TRL now scores. ids, logprobs: as
    sampled. parts: of completions that begin with reasoning. failed: for each completion whether a
    judge failed on it. offsets: see `_offsets`. pictured: rows with a picture's token. unusable:
    bool, (rows of all ranks,), which of them have a reward that is infinite or huge. paid: (rows of
    all ranks, R), the rewards that TRL sums, NaN for none.
    """

    rows: list[dict[str, Any]]
    drafting: bool = False
    drafted: list[Rollout] | None = None
    ids: list[list[int]] = field(default_factory=list)
    logprobs: list[list[float]] | None = None
    parts: list[Parts] | None = None
    failed: list[bool] = field(default_factory=list)
    offsets: dict[int, spans.Offsets] = field(default_factory=dict)
    pictured: list[int] = field(default_factory=list)
    unusable: torch.Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.bool))
    paid: torch.Tensor = field(default_factory=lambda: torch.zeros(0, 0))


class SpanGRPOTrainer(ResumingTrainer):
    """TRL's GRPOTrainer with token-level advantages from spans.

    Takes GRPOTrainer's arguments, in its order. `args` is a SpanGRPOConfig; a GRPOConfig leaves our
    settings at their defaults, with spans off. Raises ValueError for rewards, data and settings
    that do not fit together, and for a TRL that lacks what contract.py lists.
    """

    args: SpanGRPOConfig
    model: Any
    train_dataset: Any
    num_generations: int

    def __init__(
        self, model: Any, reward_funcs: Any = None, args: Any = None, *others: Any, **named: Any
    ) -> None:
        given = (
            inspect.signature(GRPOTrainer)
            .bind(model, reward_funcs, args, *others, **named)
            .arguments
        )
        del given["model"], given["reward_funcs"], given["args"]
        several = reward_funcs if isinstance(reward_funcs, (list, tuple)) else [reward_funcs]
        args = read_config(args, model)
        functions = [
            Recorder(one, args.tool_pictures) if isinstance(one, Reward) else one
            for one in several
            if one is not None
        ]
        self.recorders = [function for function in functions if isinstance(function, Recorder)]
        rewards = [recorder.reward for recorder in self.recorders]
        check_loss(args.span_coef)
        check_parts(args, rewards, functions, given)
        if args.world_size > 1:
            check_deadlines(rewards, args.ddp_timeout)
        # the rewards that say something of a completion beside its length
        self._scoring = len(functions)
        if args.soft_overlong_cache is not None:
            assert args.max_completion_length is not None  # SpanGRPOConfig sees to it
            functions.append(
                get_soft_overlong_punishment(args.max_completion_length, args.soft_overlong_cache)
            )
            args = copy.copy(args)
            args.reward_weights = [*(args.reward_weights or [1.0] * (len(functions) - 1)), 1.0]
        args.claimed = True
        super().__init__(model, functions or None, args, **given)
        check_contract(self)
        # two functions of one name get two, as what they pay is kept by name
        names = self.reward_func_names
        self.reward_func_names = [
            f"{n}_{i}" if names.index(n) < i else n for i, n in enumerate(names)
        ]
        # which may write the prompts
        if not (given.get("rollout_func") or given.get("environment_factory")):
            check_policy(self.processing_class, self.train_dataset)
            for part in ("train_dataset", "eval_dataset"):
                check_rows(rewards, self.processing_class, part, getattr(self, part))
        if pad_left(self.processing_class):
            log.warning(
                "the processor pads on the right, and is set to the left: load it with "
                'padding_side="left".'
            )
        self._picture_tokens = picture_tokens(self.model.config)
        suppress(self, self._picture_tokens)
        keep_base(self)
        self.colocated = self.use_vllm and self.vllm_mode == "colocate"
        if self.colocated:
            expand_once(self.vllm_generation, self._picture_tokens)
        self.pulse = Pulse(self)
        self.add_callback(self.pulse)
        self.phases = Phases(self)
        if self.recorders:  # without them the log is TRL's
            self.add_callback(self.phases)
        self.sampling = DynamicSampling(self.train_dataset, args) if args.dynamic_sampling else None
        self._batch = Batch([])
        # for each completion judged in this step, whether a judge failed
        self._judged: list[bool] = []
        self._usage = Usage()  # of the judges in this step
        self._has_judges = any(reward.judges for reward in rewards)
        self._warned = False  # that no completion gets span credit
        self._mark = ""  # that opens most completions, once it was named

    # The step.

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self._judged, self._usage = [], Usage()
        self._batch = Batch(inputs)
        if self.sampling is not None and self.model.training:
            self._batch = self._draft_batch(inputs)
        output = super()._generate_and_score_completions(self._batch.rows)
        advantages = output["advantages"].tolist()
        if self.args.span_coef > 0:
            self._add_span_credit(output)
        self._drop_unusable(output["advantages"])
        if self.model.training:
            self.pulse.see(output)
        received: dict[int, Received] = {
            row: [
                (*place, value)
                for place, value in zip(places, output["advantages"][row].tolist(), strict=False)
            ]
            for row, places in self._batch.offsets.items()
        }
        of_rank = self._batch.paid[self.accelerator.process_index * len(advantages) :][
            : len(advantages)
        ]
        weighted = self.reward_func_names, self.reward_weights.tolist()
        paid = [
            {name: (value, weight) for name, weight, value in zip(*weighted, row, strict=True)}
            for row in of_rank.tolist()
        ]
        for recorder in self.recorders:
            recorder.advantages, recorder.token_advantages, recorder.paid = (
                advantages,
                received,
                paid,
            )
        return output

    # 1. Dynamic sampling.

    def _draft_batch(self, inputs: list[dict[str, Any]]) -> Batch:
        """Return the batch to train on. What TRL counts and logs for the drafts is dropped."""
        assert self.sampling is not None
        metrics, self._metrics = self._metrics, {mode: defaultdict(list) for mode in self._metrics}
        seen = self.state.num_input_tokens_seen
        rank, ranks = self.accelerator.process_index, self.accelerator.num_processes
        rows, drafted, counts = self.sampling.fill(
            inputs, self._draft, self.num_generations, rank, ranks
        )
        self._metrics, self.state.num_input_tokens_seen = metrics, seen
        for name, value in counts.items():
            self._metrics["train"][f"sampling/{name}"].append(value)
        return Batch(rows, drafted=drafted)

    def _draft(self, rows: list[dict[str, Any]]) -> list[list[Rollout]]:
        """Complete and judge these rows of this rank. Returns the groups of all ranks."""
        self._batch = batch = Batch(rows, drafting=True)
        super()._generate_and_score_completions(rows)
        made, weights = [], self._weights()
        for row, sample in enumerate(self.recorders[0].samples):
            logprobs = None if batch.logprobs is None else batch.logprobs[row]
            verdicts = {recorder.__name__: recorder.verdicts[row] for recorder in self.recorders}
            reward = reward_of(verdicts, weights)
            made.append(Rollout(batch.ids[row], logprobs, sample.completion, verdicts, reward))
        rollouts = gather_object(made)
        return [
            rollouts[i : i + self.num_generations]
            for i in range(0, len(rollouts), self.num_generations)
        ]

    # 2. Sampling.

    def _generate_single_turn(
        self, *args: Any, **kwargs: Any
    ) -> tuple[list[list[int]], list[list[float]] | None]:
        batch = self._batch
        if batch.drafted is None:
            with self.phases.clock("decode"):
                batch.ids, batch.logprobs = super()._generate_single_turn(*args, **kwargs)
        else:
            batch.ids = [rollout.ids for rollout in batch.drafted]
            batch.logprobs = [r.logprobs for r in batch.drafted if r.logprobs is not None] or None
        return batch.ids, batch.logprobs

    def _generate(self, prompts: list[Any]) -> tuple[Any, ...]:
        output = super()._generate(prompts)
        _, ids, masks, completions, *_ = output
        batch, end = self._batch, self.args.reasoning_end
        if not batch.drafting:
            batch.pictured = take_out(
                ids, self._picture_tokens, self._tokenizer.pad_token_id, masks
            )
        if end is None and self.recorders:
            turns = None if self.args.judged_turns == "all" else 1
            said = [[*islice(assistants_texts(one), turns)][::-1] for one in completions]
            parts = [
                split_turns(self._tokenizer.backend_tokenizer, *one)
                for one in zip(ids, said, strict=True)
            ]
            batch.parts = parts if any(part.answer != part.text for part in parts) else None
            if not self._mark and (
                mark := unknown_mark(self._tokenizer.backend_tokenizer, ids, parts)
            ):
                self._mark = mark
                log.warning("most completions begin with %r%s", mark, UNKNOWN)
        elif end is not None:
            sampled = zip(ids, masks or [()] * len(ids), strict=True)
            batch.parts = [
                split_reasoning(self._tokenizer.backend_tokenizer, row, end, mask)
                for row, mask in sampled
            ]
            unfinished = sum(not parts.finished for parts in batch.parts)
            self._log_metric("reasoning/unfinished_fraction", unfinished / len(ids))
        return output

    # 3. Log-probabilities and rewards.

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        **kwargs: Any,
    ) -> Any:
        if self._batch.drafting:
            return (
                torch.zeros((len(input_ids), logits_to_keep), device=input_ids.device),
                None,
                None,
            )
        # the loss's are training
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
        if not self.recorders:
            return self._usable(
                super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
            )
        columns = {
            name: [row[name] for row in inputs] for name in inputs[0] if name not in NOT_COLUMNS
        }
        if self._batch.drafted is None:
            with self.phases.clock("judge"):
                parts = self._batch.parts
                usage = judge_step(
                    self.recorders, prompts, completions, self._log_metric, columns, parts
                )
            self.phases.move("wake", "judge", usage.wake_seconds)
            self.phases.move("sleep", "judge", usage.sleep_seconds)
            self._usage = self._usage.plus(usage)
            self._judged += failed_rows(self.recorders, len(prompts))
        else:
            self._recall(self._batch.drafted, prompts, completions, columns)
        self._batch.failed = failed_rows(self.recorders, len(prompts))
        failed, found = gather_step(
            self._judged, self._batch.failed, self._usage, self.accelerator.device
        )
        metrics = self._mode_metrics()
        for name, value in found.items():
            if name == "judge/failed_fraction" or self._has_judges:
                metrics[name].append(value)
        self._stop_when_judges_fail(found["judge/failed_fraction"])
        if self._batch.drafting:
            rows = len(prompts) * self.accelerator.num_processes
            return torch.zeros(rows, len(self.reward_funcs), device=self.accelerator.device)
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        if self.model.training and found["judge/failed_fraction"] != 1:
            self._stop_when_nothing_is_scored(rewards)
        return self._usable(rewards, failed)

    def _usable(self, rewards: torch.Tensor, failed: torch.Tensor | bool = False) -> torch.Tensor:
        """Returns the rewards, (rows of all ranks, R), punished.

        A failed row, or one above LARGEST, has NaN alone.
        """
        if (
            self.args.soft_overlong_cache
            and self.args.multi_objective_aggregation == "normalize_then_sum"
        ):
            rewards = punish_within(rewards, self._scoring)
        self._batch.unusable = (rewards.abs() > LARGEST).any(dim=1)
        self._batch.paid = rewards.masked_fill(
            (self._batch.unusable | failed).unsqueeze(1), torch.nan
        )
        return self._batch.paid

    def _recall(
        self, drafted: list[Rollout], prompts: Any, completions: Any, columns: dict[str, list[Any]]
    ) -> None:
        """Give every recorder the verdicts that it found when the batch was drafted."""
        for recorder in self.recorders:
            samples = recorder.reward.read_samples(prompts, completions, **columns)
            samples = [
                replace(sample, completion=r.text)
                for sample, r in zip(samples, drafted, strict=True)
            ]
            recorder.keep(
                samples, [r.verdicts[recorder.__name__] for r in drafted], self._log_metric
            )

    def _stop_when_judges_fail(self, fraction: float) -> None:
        """Raises JudgeFailure, on all ranks or none, if `fraction` (over all ranks) exceeds
        max_failed_fraction.
        """
        if fraction <= self.args.max_failed_fraction:
            return
        notes = [
            verdict.note
            for recorder in self.recorders
            for verdict in recorder.verdicts
            if verdict.status.failed
        ]
        first = gather_object([(self.accelerator.process_index, note) for note in notes[:1]])[0]
        raise JudgeFailure(
            f"{fraction:.0%} of this step's completions could not be judged (max_failed_fraction "
            f"is {self.args.max_failed_fraction:.0%}); the first reason, on rank {first[0]}: "
            f"{first[1]}"
        )

    def _stop_when_nothing_is_scored(self, rewards: torch.Tensor) -> None:
        """Raises NothingScored, on all ranks or none, if no completion has a score. rewards: (rows
        of all ranks, R).
        """
        if not rewards[:, : self._scoring].isnan().all():
            return
        reasons = [
            "; ".join(recorder.reward.unscored(recorder.verdicts) for recorder in self.recorders)
        ]
        raise NothingScored(
            f"none of this step's {len(rewards)} completions has a score, so there is nothing to "
            f"learn: {gather_object(reasons)[0]}; fill the column, or leave out the rows without "
            "it."
        )

    # 5. The spans' credit, and what must not reach the loss.

    def _drop_unusable(self, advantages: torch.Tensor) -> None:
        """Sets the advantages, (B,) or (B, T), to 0 in rows with one that is not finite, a reward
        above LARGEST, or a picture's token.

        Logs the fraction of such rows. Raises JudgeFailure, on all ranks or none, above
        max_failed_fraction.
        """
        lost = ~advantages.isfinite().reshape(len(advantages), -1).all(dim=1)
        lost |= self._batch.unusable[self.accelerator.process_index * len(lost) :][: len(lost)]
        lost[self._batch.pictured] = True
        advantages[lost] = 0.0
        fraction = self.accelerator.gather(lost.float()).mean().item()
        if self.recorders:
            self._mode_metrics()["advantages/unusable_fraction"].append(fraction)
        if fraction > self.args.max_failed_fraction:
            raise JudgeFailure(
                f"{fraction:.0%} of this step's completions have a reward or an advantage that is "
                f"not finite or above {LARGEST:g}, or hold a picture's token (max_failed_fraction "
                f"is {self.args.max_failed_fraction:.0%}): mend the reward function."
            )

    def _add_span_credit(self, output: dict[str, Any]) -> None:
        """Replace `output["advantages"]`, (B,), by advantages of tokens, (B, T)."""
        mask = output["completion_mask"].bool()
        if "tool_mask" in output:  # what a tool returned was not sampled
            mask = mask & output["tool_mask"].bool()
        total, any_covered = torch.zeros(mask.shape, device=mask.device), torch.zeros_like(mask)
        offsets = self._batch.offsets = self._offsets(output)
        weights, metrics = self._weights(), self._mode_metrics()
        for recorder in self.recorders:
            values, marks = spans.on_tokens(
                *self._residuals(recorder, offsets), (len(mask), len(mask[0]))
            )
            credit = torch.from_numpy(values).float().to(mask.device)
            covered = torch.from_numpy(marks).to(mask.device) & mask
            moments = self.accelerator.reduce(credit_moments(credit, covered), reduction="sum")
            std = credit_std(moments)
            total += weights[recorder.__name__] * scale_credit(credit, covered, std)
            any_covered |= covered
            metrics[f"spans/{recorder.__name__}/credit_std"].append(std)
        metrics["spans/covered_fraction"].append(
            (any_covered.sum() / mask.sum().clamp(min=1)).item()
        )
        self._log_rows_without_credit(~any_covered.any(dim=1))
        output["advantages"] = add_centred(output["advantages"], total, mask, self.args.span_coef)

    def _residuals(
        self, recorder: Recorder, offsets: Mapping[int, spans.Offsets]
    ) -> tuple[list[float], dict[int, list[list[int]]]]:
        """Returns the residual credit of this rank's phrases, and by row their tokens."""
        size = self.num_generations if self.model.training else self.num_generations_eval
        rank = self.accelerator.process_index
        tokens, phrases = {}, []
        for row in [row for row in offsets if not self._batch.failed[row]]:
            group = (rank * len(recorder.verdicts) + row) // size
            text = recorder.samples[row].completion
            if found := spans.phrases_on_tokens(recorder.verdicts[row], text, offsets[row], group):
                tokens[row] = found[0]
                phrases += [(rank, phrase) for phrase in found[1]]
        everyone = gather_object(phrases)
        residuals = spans.residual_credit([phrase for _, phrase in everyone])
        return [
            one for one, (owner, _) in zip(residuals, everyone, strict=True) if owner == rank
        ], tokens

    def _offsets(self, output: dict[str, Any]) -> dict[int, spans.Offsets]:
        """Returns the character offsets of the sampled tokens of each row that ended by itself and
        lines up.
        """
        tokenizer = self._tokenizer.backend_tokenizer
        special = spans.special_ids(tokenizer)
        masks = output["completion_mask"].bool()
        sampled = [
            ids[mask].tolist() for ids, mask in zip(output["completion_ids"], masks, strict=True)
        ]
        finished = [row for row, ids in enumerate(sampled) if ids and ids[-1] in self.eos_token_ids]
        texts = [sample.completion for sample in self.recorders[0].samples]
        found = {
            row: spans.token_offsets(tokenizer, special, sampled[row], texts[row])
            for row in finished
        }
        offsets = {row: of_row for row, of_row in found.items() if of_row is not None}
        self._mode_metrics()["spans/unaligned_fraction"].append(
            (len(found) - len(offsets)) / len(sampled)
        )
        return offsets

    def _log_rows_without_credit(self, without: torch.Tensor) -> None:
        """Log their fraction.

        Warn the first time that it is 1 on this rank. without: (B,), bool.
        """
        fraction = without.float().mean().item()
        self._mode_metrics()["spans/rows_without_credit"].append(fraction)
        if fraction == 1.0 and not self._warned:
            self._warned = True
            why = (
                f"each was cut at {self.max_completion_length} tokens, failed to be judged, or "
                "has too few spans"
            )
            if self._mode_metrics()["spans/unaligned_fraction"][-1] == 1.0:
                why = (
                    "no text lines up with its tokens, as where a response_template takes the "
                    "reasoning out of it"
                )
            log.warning(
                "span_coef is %g, and no completion of this step gets span credit: %s. Advantages "
                "are the scalar's.",
                *(self.args.span_coef, why),
            )

    # Around the step.

    def _weights(self) -> dict[str, float]:
        return dict(zip(self.reward_func_names, self.reward_weights.tolist(), strict=True))

    def _mode_metrics(self) -> dict[str, list[float]]:
        return self._metrics[
            "train" if self.accelerator.unwrap_model(self.model).training else "eval"
        ]

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        # before the file that marks a checkpoint as whole
        if self.sampling is not None and self.args.should_save:
            folder = Path(
                self._get_output_dir(trial=trial),
                f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}",
            )
            folder.mkdir(parents=True, exist_ok=True)
            (folder / STATE_FILE).write_text(json.dumps({"drawn": self.sampling.drawn}))
        super()._save_checkpoint(model, trial)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if (
            self.sampling is not None
            and checkpoint is not None
            and (state := Path(checkpoint, STATE_FILE)).is_file()
        ):
            self.sampling.drawn = json.loads(state.read_text())["drawn"]
