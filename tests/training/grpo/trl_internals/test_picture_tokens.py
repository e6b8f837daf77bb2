"""A picture's token is not sampled, and where it comes anyway it costs its row alone."""

from pathlib import Path

import pytest
from trl import GRPOTrainer

from spanreward.training.grpo.trl_internals.picture_tokens import picture_tokens, take_out
from spanreward.training.policy import load_policy
from tests.support.tiny_policies import SAVE
from tests.support.tiny_trainer import Scored, make_trainer, scenes


def test_a_sampled_picture_token_costs_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(
        tmp_path, scenes(), [Scored(lambda sample: len(sample.completion) % 5 / 5)]
    )
    image = trainer.model.config.image_token_id
    assert trainer.generation_kwargs["suppress_tokens"] == [image]
    tokenizer = trainer.processing_class.tokenizer
    ids = [
        [*tokenizer(f"A {'red ' * n}star")["input_ids"], tokenizer.eos_token_id] for n in range(8)
    ]
    ids[3].insert(1, image)
    monkeypatch.setattr(
        GRPOTrainer, "_generate_single_turn", lambda *_, **__: ([[*row] for row in ids], None)
    )
    trainer.model.train()
    output = trainer._generate_and_score_completions(
        [trainer.train_dataset[i // 4] for i in range(8)]
    )
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
