"""Completions for callbacks to watch in SFT, which samples none: the policy answers a few prompts every so many steps.

    trainer = SFTTrainer(...)
    prompts = EvaluationPrompts(trainer, rows, every=50)   # rows as GRPO's dataset has them: prompt, image, reference
    trainer.add_callback(SpanTableCallback([reward], prompts=prompts))
    trainer.add_callback(RewardHealthCallback([reward], prompts=prompts))      # the same answers, judged once

Decoding is greedy and draws no random number, so that the training is the same as without.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from accelerate.utils import DistributedType, gather_object
from transformers import Trainer
from trl.models.utils import unwrap_model_for_generation

from spanreward.training.evaluation.greedy import continue_prompts
from spanreward.training.grpo.recorder import Recorder

log = logging.getLogger(__name__)

NOT_COLUMNS = ("prompt", "completion", "messages", "text")  # keys of a row that no reward gets as a column


class EvaluationPrompts:
    """Prompts that the policy of an SFT run answers greedily. The ranks share the rows.

    Args:
        trainer: the trainer whose policy answers.
        rows: mappings with `prompt` (messages), `image` where there is one, and the columns that the rewards need.
        every: number of steps between two rounds of answers.
        max_tokens: the longest answer, in tokens.

    Raises:
        ValueError: for no rows, for rows without prompts, and under FSDP, where no rank can generate by itself.
    """

    def __init__(self, trainer: Trainer, rows: Sequence[Any], every: int = 50, max_tokens: int = 256) -> None:
        self.rows = list(rows)
        if not self.rows:
            raise ValueError("evaluation prompts need at least one row.")
        for row in self.rows:
            if not isinstance(row.get("prompt"), list):
                raise ValueError(
                    f"evaluation prompts need a column 'prompt' of messages, got the columns {sorted(row)}."
                )
        if trainer.accelerator.distributed_type == DistributedType.FSDP:
            raise ValueError("evaluation prompts cannot be answered under FSDP: leave prompts=... out.")
        self.trainer = trainer
        self.every = every
        self.max_tokens = max_tokens
        self._step = -1
        self._texts: list[str] = []
        self._judged: list[Recorder] = []
        if trainer.is_world_process_zero():
            log.info("the policy answers %d evaluation prompts every %d steps, for callbacks", len(self.rows), every)

    def judge(self, step: int, recorders: Sequence[Recorder]) -> None:
        """In every `every`-th step, have each recorder judge this step's answers once, and log the metrics with the
        number of rows as `evaluation_prompts`.
        """
        if step % self.every:
            return
        accelerator = self.trainer.accelerator
        mine = self.rows[accelerator.process_index :: accelerator.num_processes]
        if step != self._step:
            self._step, self._judged = step, []
            self._texts = self._answer(mine)
        columns = {name: [row.get(name) for row in mine] for name in self.rows[0] if name not in NOT_COLUMNS}
        prompts = [row["prompt"] for row in mine]
        found: list[tuple[str, float, int]] = []

        def log_metric(name: str, value: float) -> None:
            found.append((name, value, len(mine)))

        for recorder in recorders:
            if recorder in self._judged:
                continue
            self._judged.append(recorder)
            scores = recorder(prompts, self._texts, log_metric=log_metric, **columns)
            known = [score for score in scores if score is not None]
            if known:  # under GRPOTrainer's key
                found.append((f"rewards/{recorder.__name__}/mean", sum(known) / len(known), len(known)))
        values = mean_over_ranks(gather_object(found))
        if values:
            due = self.trainer.control.should_log
            # A line of its own: SFTTrainer's `log` would write, and reset, its running means with it.
            Trainer.log(self.trainer, {"evaluation_prompts": len(self.rows), **values})
            self.trainer.control.should_log = due  # the step's own line is still to come

    def _answer(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        trainer = self.trainer
        assert trainer.model is not None
        training = trainer.model.training
        trainer.model.eval()
        checkpointing = trainer.args.gradient_checkpointing_kwargs
        unwrapped = unwrap_model_for_generation(
            trainer.model_wrapped,
            trainer.accelerator,
            gradient_checkpointing_kwargs=checkpointing if isinstance(checkpointing, dict) else None,
        )
        size = trainer.args.per_device_eval_batch_size
        with torch.no_grad(), unwrapped as model:
            texts, _ = continue_prompts(model, trainer.processing_class, rows, self.max_tokens, size)
        trainer.model.train(training)
        return texts


def mean_over_ranks(found: Sequence[tuple[str, float, int]]) -> dict[str, float]:
    """Returns {name: mean over rows} from the ranks' (name, value, number of rows). NaN does not count."""
    sums: dict[str, tuple[float, int]] = {}
    for name, value, rows in found:
        if rows and not math.isnan(value):
            total, count = sums.get(name, (0.0, 0))
            sums[name] = total + value * rows, count + rows
    return {name: total / count for name, (total, count) in sums.items()}
