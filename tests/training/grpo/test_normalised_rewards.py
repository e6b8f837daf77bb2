"""Rewards that are normalised before they are summed (GDPO, arXiv 2601.05242): TRL's advantages,
with spans on top.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset

from experiments.scenes.parts import scenes_part
from spanreward.rewards import MatchJudge, PoshReward, Span, Status, Verdict
from spanreward.training.data.load import load_data
from tests.support.tiny_trainer import Scripted, advantages_of, make_trainer

TEXTS = ["A red star.", "A blue star.", "A square.", "Two stars."]
SUM = {"multi_objective_aggregation": "sum_then_normalize"}
DECOUPLED = {"multi_objective_aggregation": "normalize_then_sum"}


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_data(scenes_part(count=16))


def scripted(name: str, *scores: float | None) -> Scripted:
    return Scripted(dict(zip(TEXTS, map(Verdict, scores), strict=True)), name)


def rewards() -> list[Any]:
    marked = (Span(2, 5, 0.0, -0.3, "attribute", "", 0), Span(6, 10, 1.0, 0.1, "entity", "", 1))
    spans = Scripted(
        {text: Verdict(0.25, spans=marked * (text == TEXTS[0])) for text in TEXTS}, "spans"
    )
    return [
        PoshReward(MatchJudge()),
        spans,
        scripted("wide", 0.0, 1.0, 0.5, 0.0),
        scripted("narrow", 0.31, 0.3, 0.3, 0.3),
    ]


def test_without_span_credit_it_is_trl_bit_for_bit(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for stock in (True, False):
        settings = {**DECOUPLED, "reward_weights": [1.0, 1.0, 0.5, 0.25]} | (
            {} if stock else {"span_coef": 0.0}
        )
        trainer = make_trainer(tmp_path / str(stock), dataset, rewards(), stock, **settings)
        advantages = advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)["advantages"]
        trainer.train()
        losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
        found.append((advantages, losses, [p.detach().clone() for p in trainer.model.parameters()]))
    (advantages, losses, weights), (ours, our_losses, our_weights) = found
    assert torch.equal(advantages, ours)
    assert advantages.std() == pytest.approx(1, abs=0.01)
    assert losses == our_losses
    assert all(torch.equal(one, other) for one, other in zip(weights, our_weights, strict=True))


def test_spans_are_added_to_it(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, spans = (
        advantages_of(
            make_trainer(tmp_path / str(coefficient), dataset, rewards(), span_coef=coefficient, **DECOUPLED),
            dataset, TEXTS * 2, monkeypatch,
        )
        for coefficient in (0.0, 0.5)
    )  # fmt: skip
    mask = spans["completion_mask"].bool()
    means = [row[kept].mean().item() for row, kept in zip(spans["advantages"], mask, strict=True)]
    assert means == pytest.approx(plain["advantages"].tolist(), abs=1e-5)
    assert (
        max(row[kept].std().item() for row, kept in zip(spans["advantages"], mask, strict=True))
        > 0.1
    )


def test_a_narrow_reward_counts_as_a_wide_one(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: each reward separates one completion of four, by 1 and by .01.

    Normalised, both count alike.
    """
    both = [scripted("wide", 1.0, 0.0, 0.0, 0.0), scripted("narrow", 0.0, 0.01, 0.0, 0.0)]
    summed, decoupled = (
        advantages_of(
            make_trainer(tmp_path / str(n), dataset, both, **one), dataset, TEXTS * 2, monkeypatch
        )
        for n, one in enumerate((SUM, DECOUPLED))
    )
    wide = torch.tensor([0.75, -0.25, -0.25, -0.25] * 2) / (0.5 + 1e-4)
    narrow = torch.tensor([-0.0025, 0.0075, -0.0025, -0.0025] * 2) / (0.005 + 1e-4)
    expected = (wide + narrow) / ((wide + narrow).std() + 1e-4)
    torch.testing.assert_close(decoupled["advantages"], expected, atol=1e-4, rtol=0)
    assert expected[1] > 0.9
    assert summed["advantages"][1] < -0.4


def test_the_overlong_punishment_is_no_reward_of_its_own(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One text is a little too long.

    By itself that would weigh as much as the metric, which finds it far better.
    """
    better = [scripted("metric", 0.2, 0.3, 0.2, 0.9)]
    settings = {"soft_overlong_cache": 20, "max_completion_length": 24}
    found = {}
    for name, aggregation in (("summed", SUM), ("decoupled", DECOUPLED)):
        trainer = make_trainer(tmp_path / name, dataset, better, **settings, **aggregation)
        found[name] = advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)["advantages"].tolist()
        logged = list(trainer._logs["rewards"]["soft_overlong_punishment_reward"])
        assert (logged == [0.0] * 8) == (name == "decoupled")
    order = [sorted(range(4), key=values.__getitem__) for values in found.values()]
    assert order[0] == order[1]
    assert found["decoupled"][3] > 1


def test_a_row_that_a_reward_does_not_judge_has_the_others(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the mixed recipes: a group that one reward has no column for is normalised by the other
    alone.
    """
    none = Verdict(None, Status.NOT_APPLICABLE)
    lacking = Scripted(dict.fromkeys(TEXTS, none), "lacking")
    both = [scripted("metric", 0.1, 0.2, 0.3, 0.4), lacking]
    one = [scripted("metric", 0.1, 0.2, 0.3, 0.4)]
    first, second = (
        advantages_of(
            make_trainer(tmp_path / str(n), dataset, used, **DECOUPLED),
            dataset,
            TEXTS * 2,
            monkeypatch,
        )
        for n, used in enumerate((both, one))
    )
    assert torch.equal(first["advantages"], second["advantages"])
