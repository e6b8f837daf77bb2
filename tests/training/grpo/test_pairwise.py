"""A reward that compares the completions of a group, in TRL's own trainer and in ours."""

from pathlib import Path

import pytest

from spanreward.rewards import PairwiseReward
from tests.support.pair_judges import PairJudge, better
from tests.support.tiny_trainer import advantages_of, make_trainer, scenes

TEXTS = ["A red circle above a star.", "A circle is there.", "A red circle.", "Circle."]


@pytest.mark.parametrize("stock", [True, False])
def test_advantages_follow_the_comparisons_within_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stock: bool
) -> None:
    """Two groups of four, the second one's texts all longer: each is compared with its own siblings
    alone.
    """
    dataset = scenes()
    judge = PairJudge(better(len))
    trainer = make_trainer(tmp_path, dataset, [PairwiseReward(judge)], stock)
    texts = [*TEXTS, *(f"There it is. {text}" for text in TEXTS)]
    advantages = advantages_of(trainer, dataset, texts, monkeypatch)["advantages"].tolist()
    assert [len(call) for call in judge.asked] == [2 * 4 * 3]  # of each group twelve questions
    assert sorted(advantages[:4], reverse=True) == advantages[:4]  # the longer, the better
    # and not: everybody of the second group
    assert advantages[4:] == pytest.approx(advantages[:4], abs=0.3)


def test_a_judge_of_slots_teaches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = scenes()
    trainer = make_trainer(tmp_path, dataset, [PairwiseReward(PairJudge(lambda probe: "A"))])
    texts = ["A red circle above a star."] * 2 + ["A blue circle below a star."] * 2
    advantages = advantages_of(trainer, dataset, texts * 2, monkeypatch)["advantages"]
    assert abs(advantages).max() < 1e-3
    (logged,) = trainer._metrics["train"]["pairwise/orders_disagree"]
    assert logged == pytest.approx(1.0)
