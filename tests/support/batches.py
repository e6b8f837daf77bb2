"""What the tests of the GRPO trainer share: batches of given completions, and what a run leaves."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from spanreward.training.grpo.config import SpanGRPOConfig
from tests.support.tiny_trainer import COMMON, scenes

SCENES = cache(scenes)


def config_of(path: Path, **settings: Any) -> SpanGRPOConfig:
    return SpanGRPOConfig(str(path), **{**COMMON, **settings})


def ids_of(trainer: Any, texts: Sequence[str], end: bool = True) -> list[list[int]]:
    tokenizer = trainer.processing_class.tokenizer
    last = [tokenizer.eos_token_id] * end
    return [[*tokenizer(text)["input_ids"], *last] for text in texts]


def score_ids(
    trainer: Any, ids: list[list[int]], rows: Sequence[int] | None = None
) -> dict[str, Any]:
    """The scored batch of these completions, four of each row unless rows names theirs."""
    trainer._generate_single_turn = lambda *_, **__: (ids, None)
    rows = [number // 4 for number in range(len(ids))] if rows is None else rows
    trainer.model.train()
    return trainer._generate_and_score_completions([trainer.train_dataset[row] for row in rows])


def batch_of(trainer: Any, texts: Sequence[str], end: bool = True) -> dict[str, Any]:
    """The scored batch of these texts, four of each row."""
    return score_ids(trainer, ids_of(trainer, texts, end))


def lines_of(trainer: Any) -> list[dict[str, float]]:
    """What was logged of the steps."""
    return [line for line in trainer.state.log_history if "loss" in line]


def weights_of(trainer: Any) -> torch.Tensor:
    return torch.cat([each.detach().flatten().clone() for each in trainer.model.parameters()])
