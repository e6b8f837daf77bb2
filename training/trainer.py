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

from dataclasses import dataclass, field
from typing import Any

import torch
from accelerate.utils import gather_object
from trl import GRPOConfig, GRPOTrainer

from rewards.reward import Reward
from training.counters import gather_step, looks_of, total_usage
from training.credit import MIN_COVERED_TOKENS, credit_moments, credit_std, scale_credit, token_credit, token_offsets
from training.judging import Recorder, awake, check_deadlines, failed_rows, judges_of

NOT_COLUMNS = ("prompt", "completion", "completion_ids")  # of a row, for TRL's reward functions


@dataclass
class SpanGRPOConfig(GRPOConfig):
    """TRL's GRPOConfig and two settings.

    span_coef: weight of the spans' credit (in standard deviations) beside the scalar advantage; 0 is stock GRPO.
    max_failed_fraction: the run stops when a larger fraction of a step's completions could not be judged.
    """

    span_coef: float = field(default=0.0, metadata={"help": "Weight of the spans' credit; 0 is stock GRPO."})
    max_failed_fraction: float = field(
        default=0.5, metadata={"help": "Stop when more of a step's completions than this could not be judged."}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.span_coef < 0:
            raise ValueError(f"span_coef must be 0 or more, got {self.span_coef}")
        if not 0 <= self.max_failed_fraction <= 1:
            raise ValueError(f"max_failed_fraction must be in [0, 1], got {self.max_failed_fraction}")
        if self.span_coef and (self.loss_type == "vespo" or self.off_policy_mask_threshold is not None):
            option = "loss_type='vespo'" if self.loss_type == "vespo" else "off_policy_mask_threshold"
            raise ValueError(f"{option} reads one advantage per sequence: set span_coef=0 or leave it out.")


class JudgeFailure(RuntimeError):
    """Too many completions could not be judged; the message, the same on every rank, holds the first reason."""


class SpanGRPOTrainer(GRPOTrainer):
    """TRL's GRPOTrainer with token-level advantages from spans. `args` is a SpanGRPOConfig."""

    args: SpanGRPOConfig

    def __init__(self, model: Any, reward_funcs: Any, args: SpanGRPOConfig, **kwargs: Any) -> None:
        functions = list(reward_funcs) if isinstance(reward_funcs, (list, tuple)) else [reward_funcs]
        names = [function.__name__ for function in functions if isinstance(function, Reward)]
        if len(set(names)) < len(names):
            raise ValueError(f"rewards need different names, got {names}: pass name=... to one of them.")
        functions = [Recorder(function) if isinstance(function, Reward) else function for function in functions]
        self.recorders = [function for function in functions if isinstance(function, Recorder)]
        self._failed: list[bool] = []  # of this rank's completions in the current step
        if args.span_coef and not self.recorders:
            raise ValueError(f"span_coef={args.span_coef} needs a reward that gives spans, such as PoshReward.")
        if args.world_size > 1:
            check_deadlines([recorder.reward for recorder in self.recorders], args.ddp_timeout)
        super().__init__(model=model, reward_funcs=functions, args=args, **kwargs)

    def _calculate_rewards(
        self, inputs: list[dict[str, Any]], prompts: list[Any], completions: list[Any], completion_ids_list: list[Any]
    ) -> torch.Tensor:
        columns = {name: [row[name] for row in inputs] for name in inputs[0] if name not in NOT_COLUMNS}
        judges = judges_of(recorder.reward for recorder in self.recorders)
        before = total_usage(judges)
        held = {id(judge): judge for recorder in self.recorders for judge in recorder.reward.held}
        with awake(held.values()) as asleep:
            for recorder in self.recorders:
                recorder.judge(prompts, completions, asleep, self._log_metric, **columns)
        usage = total_usage(judges).since(before)
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        self._failed = failed_rows(self.recorders, len(prompts))
        texts = [sample.completion for sample in self.recorders[0].samples] if self.recorders else [""] * len(prompts)
        looks = [
            looks_of(text, len(ids), self.max_completion_length)
            for text, ids in zip(texts, completion_ids_list, strict=True)
        ]
        step = gather_step(self._failed, looks, usage, rewards.device)
        metrics = self._mode_metrics()
        for name, value in step.metrics.items():
            metrics[name].append(value)
        self._stop_when_judges_fail(step.metrics["judge/failed_fraction"])
        return rewards.masked_fill(step.failed.unsqueeze(1), torch.nan)  # in every column: TRL leaves the row out

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
        output = super()._generate_and_score_completions(inputs)
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
            for row, verdict in enumerate(recorder.verdicts):
                of_row = offsets[row]
                if of_row is None or self._failed[row]:
                    continue
                values, marks = token_credit(verdict.spans, of_row)
                if sum(marks) >= MIN_COVERED_TOKENS:
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

    def _offsets(self, output: dict[str, Any]) -> list[list[tuple[int, int]] | None]:
        """Character offsets of each row's sampled tokens; None for rows cut short and rows that do not line up."""
        tokenizer = self._tokenizer.backend_tokenizer
        masks = output["completion_mask"].bool()
        sampled = [ids[mask].tolist() for ids, mask in zip(output["completion_ids"], masks, strict=True)]
        finished = [bool(ids) and ids[-1] in self.eos_token_ids for ids in sampled]
        texts = [sample.completion for sample in self.recorders[0].samples]
        offsets = [
            token_offsets(tokenizer, ids, text) if complete else None
            for ids, text, complete in zip(sampled, texts, finished, strict=True)
        ]
        unaligned = sum(complete and of_row is None for complete, of_row in zip(finished, offsets, strict=True))
        self._mode_metrics()["spans/unaligned_fraction"].append(unaligned / len(offsets))
        return offsets

    def _mode_metrics(self) -> dict[str, list[float]]:
        return self._metrics["train" if self.accelerator.unwrap_model(self.model).training else "eval"]
