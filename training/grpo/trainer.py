"""GRPO in which a verdict's spans reach the tokens that wrote them. Nothing of TRL is copied.

    trainer = SpanGRPOTrainer(
        model=model, processing_class=processor, train_dataset=dataset,
        reward_funcs=[PoshReward(judge)], args=SpanGRPOConfig(output_dir="out", span_coef=0.1),
    )

Each Reward is wrapped in a Recorder that keeps the verdicts of the current step; after TRL has computed its scalar
advantages, `_generate_and_score_completions` adds the spans' credit per token. With span_coef = 0 this is GRPOTrainer.
A row on which a judge failed leaves its group's mean and standard deviation and gets advantage 0; a judge that cannot
even be woken fails on all rows. Too many of them stop the run, on all ranks with one message.
"""

import copy
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from accelerate.utils import gather_object
from trl.rewards import get_soft_overlong_punishment

from rewards.judges.usage import Usage
from rewards.reward import Reward
from training.grpo.config import SpanGRPOConfig, check_parts
from training.grpo.credit import (
    MIN_COVERED_TOKENS,
    credit_moments,
    credit_std,
    first_mentions,
    phrases_of,
    scale_credit,
    special_ids,
    token_credit,
    token_offsets,
    tokens_of,
    usual_credit,
)
from training.grpo.dynamic_sampling import DynamicSamplingTrainer
from training.grpo.judge_metrics import gather_step, looks_of
from training.grpo.recorder import Recorder, check_deadlines, columns_of, failed_rows
from training.grpo.resuming import ResumingTrainer


class JudgeFailure(RuntimeError):
    """Too many completions could not be judged; the message, the same on every rank, holds the first reason."""


class SpanGRPOTrainer(ResumingTrainer, DynamicSamplingTrainer):
    """TRL's GRPOTrainer with token-level advantages from spans. `args` is a SpanGRPOConfig.

    Raises ValueError for rewards, data and settings that do not go together.
    """

    def __init__(self, model: Any, reward_funcs: Any, args: SpanGRPOConfig, **kwargs: Any) -> None:
        functions = list(reward_funcs) if isinstance(reward_funcs, (list, tuple)) else [reward_funcs]
        functions = [Recorder(function) if isinstance(function, Reward) else function for function in functions]
        self.recorders = [function for function in functions if isinstance(function, Recorder)]
        check_parts(args, [recorder.reward for recorder in self.recorders], **kwargs)
        self._failed: list[bool] = []  # of this rank's completions that are scored
        self._judged: list[tuple[bool, frozenset[str]]] = []  # failed, and its looks, of all that were judged in a step
        self._usage = Usage()  # of the judges in the step
        if args.world_size > 1:
            check_deadlines([recorder.reward for recorder in self.recorders], args.ddp_timeout)
        if args.soft_overlong_cache is not None and args.max_completion_length is not None:
            functions.append(get_soft_overlong_punishment(args.max_completion_length, args.soft_overlong_cache))
            args = copy.copy(args)
            args.reward_weights = [*(args.reward_weights or [1.0] * (len(functions) - 1)), 1.0]
        super().__init__(model=model, reward_funcs=functions, args=args, **kwargs)

    def _calculate_rewards(
        self, inputs: list[dict[str, Any]], prompts: list[Any], completions: list[Any], completion_ids_list: list[Any]
    ) -> torch.Tensor:
        columns = columns_of(inputs)
        if self._replayed is None:
            self._judge(prompts, completions, completion_ids_list, columns)
        else:
            for recorder in self.recorders:
                samples = recorder.reward.read_samples(prompts, completions, **columns)
                samples = [
                    replace(sample, completion=r.text) for sample, r in zip(samples, self._replayed, strict=True)
                ]
                recorder.keep(samples, [r.verdicts[recorder.__name__] for r in self._replayed], self._log_metric)
        self._failed = failed_rows(self.recorders, len(prompts))
        step = gather_step(self._judged, self._failed, self._usage, self.accelerator.device)
        metrics = self._mode_metrics()
        for name, value in step.metrics.items():
            metrics[name].append(value)
        self._stop_when_judges_fail(step.metrics["judge/failed_fraction"])
        if self._drafting:
            rows = len(prompts) * self.accelerator.num_processes
            return torch.zeros(rows, len(self.reward_funcs), device=self.accelerator.device)
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        return rewards.masked_fill(step.failed.unsqueeze(1), torch.nan)  # in every column: TRL leaves the row out

    def _judge(
        self, prompts: list[Any], completions: list[Any], completion_ids: list[Any], columns: dict[str, list[Any]]
    ) -> None:
        """Have all rewards judge these completions, their judges awake together."""
        self._usage = self._usage.plus(self._judge_all(prompts, completions, columns))
        failed = failed_rows(self.recorders, len(prompts))
        texts = [sample.completion for sample in self.recorders[0].samples] if self.recorders else [""] * len(prompts)
        looks = [
            looks_of(text, len(ids), self.max_completion_length)
            for text, ids in zip(texts, completion_ids, strict=True)
        ]
        self._judged += zip(failed, looks, strict=True)

    def _stop_when_judges_fail(self, fraction: float) -> None:
        """Raises JudgeFailure on all ranks or none; `fraction` is over all ranks."""
        if fraction <= self.args.max_failed_fraction:
            return
        notes = [verdict.note for recorder in self.recorders for verdict in recorder.verdicts if verdict.status.failed]
        first = gather_object([(self.accelerator.process_index, note) for note in notes[:1]])[0]
        raise JudgeFailure(
            f"{fraction:.0%} of this step's completions could not be judged (max_failed_fraction is "
            f"{self.args.max_failed_fraction:.0%}); the first reason, on rank {first[0]}: {first[1]}"
        )

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self._judged, self._usage = [], Usage()
        output = super()._generate_and_score_completions(inputs)
        for recorder in self.recorders:
            recorder.advantages = output["advantages"].tolist()
        if self.args.span_coef > 0:
            self._add_span_credit(output)
        return output

    def _add_span_credit(self, output: dict[str, Any]) -> None:
        """Make `output["advantages"]`, (B,), the advantages of tokens, (B, T)."""
        rows, width = output["completion_ids"].shape
        total = torch.zeros((rows, width), device=output["advantages"].device)
        any_covered = torch.zeros_like(total, dtype=torch.bool)
        offsets = self._offsets(output)
        weights = dict(zip(self.reward_func_names, self.reward_weights.tolist(), strict=True))
        metrics = self._mode_metrics()
        for recorder in self.recorders:
            credit, covered = torch.zeros_like(total), torch.zeros_like(any_covered)
            for row, (beyond, tokens) in self._surprises(recorder, offsets).items():
                values, marks = token_credit(beyond, tokens, len(offsets[row]))
                credit[row, : len(values)] = torch.tensor(values, device=credit.device)
                covered[row, : len(marks)] = torch.tensor(marks, device=credit.device)
            covered &= output["completion_mask"].bool()
            moments = self.accelerator.reduce(credit_moments(credit, covered), reduction="sum")
            std = credit_std(moments)
            total += weights[recorder.__name__] * scale_credit(credit, covered, std)
            any_covered |= covered
            metrics[f"spans/{recorder.__name__}/credit_std"].append(std)
        metrics["spans/covered_fraction"].append(
            (any_covered.sum() / output["completion_mask"].sum().clamp(min=1)).item()
        )
        output["advantages"] = output["advantages"].unsqueeze(1) + self.args.span_coef * total

    def _surprises(
        self, recorder: Recorder, offsets: Mapping[int, list[tuple[int, int]]]
    ) -> dict[int, tuple[list[float], list[list[int]]]]:
        """By row of this rank that gets credit: what each phrase adds beyond the usual of all ranks, and its tokens."""
        size = self.num_generations if self.model.training else self.num_generations_eval
        rank = self.accelerator.process_index
        tokens: dict[int, list[list[int]]] = {}
        phrases = []
        for row, of_row in offsets.items():
            mentions = first_mentions(recorder.verdicts[row].spans)
            found = tokens_of(mentions, of_row)
            if self._failed[row] or len(set().union(*found)) < MIN_COVERED_TOKENS:
                continue
            tokens[row] = found
            group = (rank * len(recorder.verdicts) + row) // size
            phrases += [(rank, phrase) for phrase in phrases_of(mentions, recorder.samples[row].completion, group)]
        everyone = gather_object(phrases)
        usual = usual_credit([phrase for _, phrase in everyone])
        beyond = (
            phrase.credit - value for (owner, phrase), value in zip(everyone, usual, strict=True) if owner == rank
        )
        return {row: (list(islice(beyond, len(found))), found) for row, found in tokens.items()}

    def _offsets(self, output: dict[str, Any]) -> dict[int, list[tuple[int, int]]]:
        """By row, the character offsets of its sampled tokens; without rows cut short and rows that do not line up."""
        tokenizer = self._tokenizer.backend_tokenizer
        special = special_ids(tokenizer)
        masks = output["completion_mask"].bool()
        sampled = [ids[mask].tolist() for ids, mask in zip(output["completion_ids"], masks, strict=True)]
        finished = [row for row, ids in enumerate(sampled) if ids and ids[-1] in self.eos_token_ids]
        samples = self.recorders[0].samples
        found = {row: token_offsets(tokenizer, special, sampled[row], samples[row].completion) for row in finished}
        offsets = {row: of_row for row, of_row in found.items() if of_row is not None}
        self._mode_metrics()["spans/unaligned_fraction"].append((len(found) - len(offsets)) / len(sampled))
        return offsets

    def _mode_metrics(self) -> dict[str, list[float]]:
        return self._metrics["train" if self.accelerator.unwrap_model(self.model).training else "eval"]
