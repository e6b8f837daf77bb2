"""Rewards that are normalised before they are summed (GDPO, arXiv 2601.05242): TRL's advantages,
with spans on top.
"""

from typing import Any

import pytest
import torch

from spanreward.rewards import MatchJudge, PoshReward, Span, Status, Verdict
from tests.support.batches import batch_of, lines_of, weights_of
from tests.support.tiny_trainer import Scripted

TEXTS = ["A red star.", "A blue star.", "A square.", "Two stars."]
SUM = {"multi_objective_aggregation": "sum_then_normalize"}
DECOUPLED = {"multi_objective_aggregation": "normalize_then_sum"}


def scripted(name: str, *scores: float | None) -> Scripted:
    return Scripted(dict(zip(TEXTS, map(Verdict, scores), strict=True)), name)


def rewards() -> list[Any]:
    marked = (Span(2, 5, 0.0, -0.3, "attribute", "", 0), Span(6, 10, 1.0, 0.1, "entity", "", 1))
    spans = {text: Verdict(0.25, spans=marked * (text == TEXTS[0])) for text in TEXTS}
    wide, narrow = scripted("wide", 0.0, 1.0, 0.5, 0.0), scripted("narrow", 0.31, 0.3, 0.3, 0.3)
    return [PoshReward(MatchJudge()), Scripted(spans, "spans"), wide, narrow]


def advantages_of(make: Any, *funcs: Any, **settings: Any) -> torch.Tensor:
    return batch_of(make(*funcs, **settings), TEXTS * 2)["advantages"]


def test_without_span_credit_it_is_trl_bit_for_bit(make: Any) -> None:
    found = []
    for settings in ({"stock": True}, {"span_coef": 0.0}):
        weights = [1.0, 1.0, 0.5, 0.25]
        trainer = make(*rewards(), **DECOUPLED, reward_weights=weights, **settings)
        advantages = batch_of(trainer, TEXTS * 2)["advantages"]
        trainer.train()
        losses = [line["loss"] for line in lines_of(trainer)]
        found.append((advantages, losses, weights_of(trainer)))
    (advantages, losses, trained), (ours, our_losses, our_trained) = found
    assert torch.equal(advantages, ours)
    assert advantages.std() == pytest.approx(1, abs=0.01)
    assert losses == our_losses
    assert torch.equal(trained, our_trained)


def test_spans_are_added_to_it(make: Any) -> None:
    plain = advantages_of(make, *rewards(), span_coef=0.0, **DECOUPLED)
    output = batch_of(make(*rewards(), span_coef=0.5, **DECOUPLED), TEXTS * 2)
    mask = output["completion_mask"].bool()
    rows = [row[kept] for row, kept in zip(output["advantages"], mask, strict=True)]
    assert [row.mean().item() for row in rows] == pytest.approx(plain.tolist(), abs=1e-5)
    assert max(row.std().item() for row in rows) > 0.1


def test_a_narrow_reward_counts_as_a_wide_one(make: Any) -> None:
    """By hand: each reward separates one completion of four, by 1 and by .01. Normalised, both
    count alike.
    """
    both = scripted("wide", 1.0, 0.0, 0.0, 0.0), scripted("narrow", 0.0, 0.01, 0.0, 0.0)
    wide = torch.tensor([0.75, -0.25, -0.25, -0.25] * 2) / (0.5 + 1e-4)
    narrow = torch.tensor([-0.0025, 0.0075, -0.0025, -0.0025] * 2) / (0.005 + 1e-4)
    expected = (wide + narrow) / ((wide + narrow).std() + 1e-4)
    decoupled = advantages_of(make, *both, **DECOUPLED)
    torch.testing.assert_close(decoupled, expected, atol=1e-4, rtol=0)
    assert expected[1] > 0.9
    assert advantages_of(make, *both, **SUM)[1] < -0.4


def test_the_overlong_punishment_is_no_reward_of_its_own(make: Any) -> None:
    """One text is a little too long. By itself that would weigh as much as the metric, which finds
    it far better.
    """
    settings = {"soft_overlong_cache": 20, "max_completion_length": 24}
    orders = []
    for aggregation in (SUM, DECOUPLED):
        trainer = make(scripted("metric", 0.2, 0.3, 0.2, 0.9), **settings, **aggregation)
        advantages = batch_of(trainer, TEXTS * 2)["advantages"].tolist()
        logged = list(trainer._logs["rewards"]["soft_overlong_punishment_reward"])
        assert (logged == [0.0] * 8) == (aggregation is DECOUPLED)
        orders.append(sorted(range(4), key=advantages.__getitem__))
    assert orders[0] == orders[1]
    assert advantages[3] > 1


def test_a_row_that_a_reward_does_not_judge_has_the_others(make: Any) -> None:
    """As in the mixed recipes: a group that one reward has no column for is normalised by the other
    alone.
    """
    lacking = Scripted(dict.fromkeys(TEXTS, Verdict(None, Status.NOT_APPLICABLE)), "lacking")
    metric = scripted("metric", 0.1, 0.2, 0.3, 0.4)
    both = advantages_of(make, metric, lacking, **DECOUPLED)
    assert torch.equal(both, advantages_of(make, metric, **DECOUPLED))
