"""A picture's token is not sampled, and where it comes anyway it costs its row alone."""

from pathlib import Path
from typing import Any

import pytest
from trl import GRPOTrainer

from spanreward.training.grpo.trl_internals.picture_tokens import picture_tokens, take_out
from spanreward.training.policy import load_policy
from tests.support.batches import ids_of
from tests.support.tiny_policies import SAVE
from tests.support.tiny_trainer import Scored


def test_a_sampled_picture_token_costs_its_row(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make(Scored(lambda sample: len(sample.completion) % 5 / 5))
    image = trainer.model.config.image_token_id
    assert trainer.generation_kwargs["suppress_tokens"] == [image]
    ids = ids_of(trainer, [f"A {'red ' * n}star" for n in range(8)])
    ids[3].insert(1, image)
    sample = lambda *_, **__: ([[*row] for row in ids], None)  # noqa: E731
    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", sample)
    trainer.model.train()
    rows = [trainer.train_dataset[i // 4] for i in range(8)]
    output = trainer._generate_and_score_completions(rows)
    assert output["advantages"].tolist()[3] == 0
    assert not (output["completion_ids"] == image).any()
    assert trainer._metrics["train"]["advantages/unusable_fraction"] == [1 / 8]
    trainer.train()
    assert trainer.state.global_step == 2


def test_picture_tokens_of_a_text_model_are_none(tmp_path: Path) -> None:
    SAVE["smollm2"](tmp_path)
    model, _ = load_policy(str(tmp_path))
    assert picture_tokens(model.config) == set()
    assert take_out([[1, 2]], set(), 0) == []


def test_a_tools_picture_stays() -> None:
    ids = [[1, 7, 2], [7, 3]]
    assert take_out(ids, {7}, 0, [[1, 0, 1], [1, 1]]) == [1]
    assert ids == [[1, 7, 2], [0, 3]]
