"""Captions and questions in one run: rewards go by the columns a row has, in TRL's own trainer and
in ours.
"""

from pathlib import Path
from typing import Any

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
from tests.support.batches import batch_of

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
    described = [dataset[0]["reference"][0], "A red star.", "There is a circle.", "Two stars."]
    return [*described, right, right, "x", "y"]


@pytest.mark.parametrize("stock", [True, False])
def test_each_group_has_the_rewards_of_its_columns(
    make: Any, dataset: Dataset, stock: bool
) -> None:
    """A group of questions has LAVE's advantages alone, a group of captions PoSh's: as if each were
    trained alone.
    """
    texts = texts_for(dataset)
    both = make(*rewards(), data=dataset, stock=stock)
    advantages = batch_of(both, texts)["advantages"]
    assert advantages.shape == (8,)
    # TRL's standard deviation of the group, and its floor
    half = 0.5 / (np.std([1, 1, 0, 0], ddof=1) + 1e-4)
    assert advantages[4:].tolist() == pytest.approx([half, half, -half, -half], abs=1e-4)
    posh = batch_of(make(PoshReward(MatchJudge()), data=dataset, stock=stock), texts)["advantages"]
    assert advantages[:4].tolist() == pytest.approx(posh[:4].tolist(), abs=1e-6)
    assert abs(advantages[:4]).max() > 0.5


def test_a_column_that_is_none_is_no_failure_and_spans_of_both_reach_their_tokens(
    make: Any, dataset: Dataset
) -> None:
    texts = texts_for(dataset)
    plain = make(*rewards(), data=dataset, max_failed_fraction=0.0)
    scalar = batch_of(plain, texts)["advantages"]
    assert plain._metrics["train"]["judge/failed_fraction"] == [0.0]
    judged = [Status.OK] * 4 + [Status.NOT_APPLICABLE] * 4
    for recorder, statuses in zip(plain.recorders, (judged, judged[::-1]), strict=True):
        assert [verdict.status for verdict in recorder.verdicts] == statuses
    spans = batch_of(make(*rewards(), data=dataset, span_coef=0.5), texts)["advantages"]
    added = spans - scalar.unsqueeze(1)
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
    of_descriptions = {
        "truth_f1": True,
        "posh_f1": True,
        "vqa_accuracy": False,
        "lave_score": False,
    }
    for metric, there in of_descriptions.items():
        lacking = np.isnan(scores[metric][0]).tolist()
        assert lacking == [row is not there for row in described], metric
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
