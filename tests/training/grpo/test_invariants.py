"""What must not change a step: the order of groups, and how a batch is split over accumulated
passes.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from trl import GRPOTrainer

from tests.support.given_ranks import WORDS, given, judge
from tests.support.tiny_trainer import Scored, make_trainer, scenes

SETTINGS: dict[str, Any] = {"span_coef": 0.5, "num_generations": 4}


def scored(
    trainer: GRPOTrainer, texts: list[str], rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """The batch of these completions of these rows of the dataset."""
    tokenizer = trainer.processing_class.tokenizer
    ids = [tokenizer(text)["input_ids"] + [tokenizer.eos_token_id] for text in texts]
    monkeypatch.setattr(trainer, "_generate_single_turn", lambda *args, **kwargs: (ids, None))
    trainer.model.train()
    return trainer._generate_and_score_completions([trainer.train_dataset[row] for row in rows])


def test_shuffled_rows_have_the_same_advantages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups in another order, and the completions of each in another order: every row keeps what
    it had.
    """
    texts = [f"A {WORDS[i % 5]} {' '.join(WORDS[: i % 4])}." for i in range(12)]
    rows = [i // 4 + 3 for i in range(12)]
    order = [10, 8, 11, 9, 1, 0, 3, 2, 5, 7, 4, 6]
    trainer = make_trainer(
        tmp_path, scenes(), [Scored(judge)], per_device_train_batch_size=12, **SETTINGS
    )
    straight = scored(trainer, texts, rows, monkeypatch)
    shuffled = scored(trainer, [texts[i] for i in order], [rows[i] for i in order], monkeypatch)
    torch.testing.assert_close(shuffled["advantages"], straight["advantages"][order])
    assert straight["advantages"].std() > 0.1
    assert torch.equal(shuffled["completion_ids"], straight["completion_ids"][order])


@pytest.mark.parametrize("dynamic", [False, True])
def test_two_accumulated_halves_are_one_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dynamic: bool
) -> None:
    """2 x 16 = 1 x 32 completions a step, on the same completions: the same parameters after two
    steps.
    """
    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", given)
    after = []
    for passes in (1, 2):
        sizes = {"per_device_train_batch_size": 32 // passes, "gradient_accumulation_steps": passes}
        settings = {**SETTINGS, **sizes, "optim": "sgd", "learning_rate": 1.0, "max_grad_norm": 0.0}
        trainer = make_trainer(
            tmp_path / str(passes), scenes(), [Scored(judge)], dynamic_sampling=dynamic, **settings
        )
        before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
        trainer.train()
        assert trainer.state.global_step == 2
        after.append([parameter.detach() for parameter in trainer.model.parameters()])
    moved = max((old - new).abs().max().item() for old, new in zip(before, after[0], strict=True))
    apart = max((one - two).abs().max().item() for one, two in zip(*after, strict=True))
    assert moved > 1e-3
    assert apart < 1e-5 * max(moved, 1)
