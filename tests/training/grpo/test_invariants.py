"""What must not change a step: the order of groups, and how a batch is split over accumulated
passes.
"""

from typing import Any

import pytest
import torch

from tests.support.batches import ids_of, score_ids, weights_of
from tests.support.given_ranks import WORDS, judge
from tests.support.tiny_trainer import Scored


def test_shuffled_rows_have_the_same_advantages(make: Any) -> None:
    """Groups in another order, and the completions of each in another order: every row keeps what
    it had.
    """
    texts = [f"A {WORDS[i % 5]} {' '.join(WORDS[: i % 4])}." for i in range(12)]
    rows = [i // 4 + 3 for i in range(12)]
    order = [10, 8, 11, 9, 1, 0, 3, 2, 5, 7, 4, 6]
    trainer = make(Scored(judge), per_device_train_batch_size=12, span_coef=0.5)
    ids = ids_of(trainer, texts)
    straight = score_ids(trainer, ids, rows)
    shuffled = score_ids(trainer, [ids[i] for i in order], [rows[i] for i in order])
    torch.testing.assert_close(shuffled["advantages"], straight["advantages"][order])
    assert straight["advantages"].std() > 0.1
    assert torch.equal(shuffled["completion_ids"], straight["completion_ids"][order])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.usefixtures("given_completions")
def test_two_accumulated_halves_are_one_batch(make: Any, dynamic: bool) -> None:
    """2 x 16 = 1 x 32 completions a step, on the same completions: the same parameters after two
    steps.
    """
    settings = {"span_coef": 0.5, "optim": "sgd", "learning_rate": 1.0, "max_grad_norm": 0.0}
    after = []
    for passes in (1, 2):
        sizes = {"per_device_train_batch_size": 32 // passes, "gradient_accumulation_steps": passes}
        trainer = make(Scored(judge), dynamic_sampling=dynamic, **sizes, **settings)
        before = weights_of(trainer)
        trainer.train()
        assert trainer.state.global_step == 2
        after.append(weights_of(trainer))
    moved = (before - after[0]).abs().max().item()
    assert moved > 1e-3
    assert (after[0] - after[1]).abs().max().item() < 1e-5 * max(moved, 1)
