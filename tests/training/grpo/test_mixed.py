"""Captions and questions in one run: rewards go by the columns a row has, in TRL's own trainer and
in ours.
"""

from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

from experiments.scenes.parts import TINY, scenes_part
from experiments.scenes.truth import Truth
from spanreward.rewards import LaveReward, MatchJudge, PoshReward, Sample, Status, Verdict
from spanreward.training.data.load import load_data
from spanreward.training.evaluation.answer_scores.answer import judged_answer
from spanreward.training.evaluation.answer_scores.evaluate import evaluate
from spanreward.training.evaluation.answers.held_out import held_out
from spanreward.training.evaluation.answers.prompts import prompts_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.policy import load_policy
from tests.support.tiny_trainer import advantages_of, make_trainer

MIXED = scenes_part(ask="both", count=16)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_data(MIXED)


def rewards() -> list:
    return [PoshReward(MatchJudge()), LaveReward(MatchJudge(), rationale=False)]


def texts_for(dataset: Dataset) -> list[str]:
    """Four descriptions of the first picture, four answers to the second one's question: two right,
    two wrong.
    """
    right = max(set(dataset[1]["answers"]), key=dataset[1]["answers"].count)
    return [
        dataset[0]["reference"][0],
        "A red star.",
        "There is a circle.",
        "Two stars.",
        right,
        right,
        "x",
        "y",
    ]


@pytest.mark.parametrize("stock", [True, False])
def test_each_group_has_the_rewards_of_its_columns(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, stock: bool
) -> None:
    """A group of questions has LAVE's advantages alone, a group of captions PoSh's: as if each were
    trained alone.
    """
    texts = texts_for(dataset)
    both = make_trainer(tmp_path / "both", dataset, rewards(), stock)
    advantages = advantages_of(both, dataset, texts, monkeypatch)["advantages"]
    assert advantages.shape == (8,)
    # TRL's standard deviation of the group, and its floor
    half = 0.5 / (np.std([1, 1, 0, 0], ddof=1) + 1e-4)
    assert advantages[4:].tolist() == pytest.approx([half, half, -half, -half], abs=1e-4)
    posh = [PoshReward(MatchJudge())]
    alone = advantages_of(
        make_trainer(tmp_path / "posh", dataset, posh, stock), dataset, texts, monkeypatch
    )
    assert advantages[:4].tolist() == pytest.approx(alone["advantages"][:4].tolist(), abs=1e-6)
    assert abs(advantages[:4]).max() > 0.5


def test_a_column_that_is_none_is_no_failure(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(tmp_path, dataset, rewards(), max_failed_fraction=0.0)
    advantages_of(trainer, dataset, texts_for(dataset), monkeypatch)
    assert trainer._metrics["train"]["judge/failed_fraction"] == [0.0]
    statuses = [[verdict.status for verdict in recorder.verdicts] for recorder in trainer.recorders]
    assert statuses == [
        [Status.OK] * 4 + [Status.NOT_APPLICABLE] * 4,
        [Status.NOT_APPLICABLE] * 4 + [Status.OK] * 4,
    ]


def test_spans_of_both_reach_their_tokens(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(tmp_path, dataset, rewards(), span_coef=0.5)
    output = advantages_of(trainer, dataset, texts_for(dataset), monkeypatch)
    plain = make_trainer(tmp_path, dataset, rewards())
    scalar = advantages_of(plain, dataset, texts_for(dataset), monkeypatch)["advantages"]
    added = output["advantages"] - scalar.unsqueeze(1)
    assert added[0].abs().max() > 0
    assert added[6:].abs().max() == 0  # a wrong answer has no credit


def test_questions_are_evaluated_by_vqa_accuracy(tmp_path: Path) -> None:
    model, processor = load_policy(TINY, seed=0)
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    data = held_out(scenes_part(ask="both", split="test", count=16), 6)
    judged = [*rewards(), Truth()]
    setup = Setup(
        {"base": [str(tmp_path)]}, [0], prompts_of(data), parts=[], rewards=judged, max_tokens=4
    )
    scores = evaluate(setup, tmp_path / "answers").scores["base"]
    described = [True, False] * 3
    for metric, there in (
        ("truth_f1", True),
        ("posh_f1", True),
        ("vqa_accuracy", False),
        ("lave_score", False),
    ):
        assert np.isnan(scores[metric][0]).tolist() == [row is not there for row in described], (
            metric
        )
    assert not np.isnan(scores["length"]).any()


def test_vqa_accuracy_of_an_answer() -> None:
    lave, verdict = LaveReward(MatchJudge(), rationale=False), Verdict(0.5, parts={"score": 0.5})
    one = judged_answer(
        Sample("How many?", "Two.", answers=("2",) * 2 + ("3",) * 8), 1, [lave], [verdict]
    )
    looks = {"overlap": 1.0, "words": 1.0, "length": 1.0, "truncated": 0.0, "degenerate": 0.0}
    assert one.scores == {"vqa_accuracy": pytest.approx(0.6), "lave_score": 0.5, **looks}
    few = judged_answer(Sample("How many?", "2", answers=("2",)), 1, [lave], [verdict])
    assert "vqa_accuracy" not in few.scores
