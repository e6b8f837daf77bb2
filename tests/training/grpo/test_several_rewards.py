"""Rewards beside each other: normalised (GDPO, arXiv 2601.05242), watched, or by columns."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset

from experiments.scenes.parts import TINY, scenes_part
from experiments.scenes.truth import Truth
from spanreward.rewards import LaveReward, MatchJudge, PoshReward, Sample, Span, Status, Verdict
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.data.load import load_data
from spanreward.training.evaluation.answer_scores.answer import judged_answer
from spanreward.training.evaluation.answer_scores.evaluate import evaluate_sides
from spanreward.training.evaluation.answers.held_out import held_out
from spanreward.training.evaluation.answers.prompts import prompts_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.grpo.trainer import NothingScored
from spanreward.training.policy import load_policy
from tests.support.batches import batch_of, lines_of, weights_of
from tests.support.tiny_trainer import Scored, Scripted

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


# SUM: each group of four has a sample deviation of 1
@pytest.mark.parametrize(("aggregation", "std"), [(SUM, (6 / 7) ** 0.5), (DECOUPLED, 1)])
def test_without_span_credit_it_is_trl_bit_for_bit(make: Any, aggregation: Any, std: float) -> None:
    found = []
    settings = {**aggregation, "reward_weights": [1.0, 1.0, 0.5, 0.25], "max_steps": 1}
    for kind in ({"stock": True}, {"span_coef": 0.0}):
        trainer = make(*rewards(), **settings, **kind)
        advantages = batch_of(trainer, TEXTS * 2)["advantages"]
        trainer.train()
        losses = [line["loss"] for line in lines_of(trainer)]
        found.append((advantages, losses, weights_of(trainer)))
    (advantages, losses, trained), (ours, our_losses, our_trained) = found
    assert torch.equal(advantages, ours)
    assert advantages.std() == pytest.approx(std, abs=0.01)
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
    """By hand: each separates one completion of four, by 1 and by .01, and both count alike."""
    both = scripted("wide", 1.0, 0.0, 0.0, 0.0), scripted("narrow", 0.0, 0.01, 0.0, 0.0)
    wide = torch.tensor([0.75, -0.25, -0.25, -0.25] * 2) / (0.5 + 1e-4)
    narrow = torch.tensor([-0.0025, 0.0075, -0.0025, -0.0025] * 2) / (0.005 + 1e-4)
    expected = (wide + narrow) / ((wide + narrow).std() + 1e-4)
    decoupled = advantages_of(make, *both, **DECOUPLED)
    torch.testing.assert_close(decoupled, expected, atol=1e-4, rtol=0)
    assert expected[1] > 0.9
    assert advantages_of(make, *both, **SUM)[1] < -0.4


def test_a_row_that_a_reward_does_not_judge_has_the_others(make: Any) -> None:
    """A group that one reward has no column for is normalised by the other alone."""
    lacking = Scripted(dict.fromkeys(TEXTS, Verdict(None, Status.NOT_APPLICABLE)), "lacking")
    metric = scripted("metric", 0.1, 0.2, 0.3, 0.4)
    both = advantages_of(make, metric, lacking, **DECOUPLED)
    assert torch.equal(both, advantages_of(make, metric, **DECOUPLED))


# Watched rewards.

LENGTHS = ["A star.", "A red star.", "A blue star.", "A square and a red star."] * 2
FAILED = Verdict(None, Status.ERROR, note="the judge is away")
WEIGHTS = {"reward_weights": [1.0, 0.0]}


def by_length(sample: Sample) -> float:
    return len(sample.completion) / 100


def failing(sample: Sample) -> Verdict:
    """Fails on three of four, and marks a word of the fourth."""
    if len(sample.completion) > 8:
        return FAILED
    spans = (Span(0, 1, 0.0, -0.5, "entity", "", 0), Span(2, 6, 1.0, 0.5, "entity", "", 1))
    return Verdict(0.9, spans=spans)


def endless(completions: list[Any], **_: Any) -> list[float]:
    return [math.inf] * len(completions)


@pytest.mark.parametrize("settings", [{**SUM, "span_coef": 0.5}, DECOUPLED], ids=["sum", "gdpo"])
@pytest.mark.parametrize("watched", [Scored(failing, "watched"), endless], ids=["fails", "inf"])
def test_it_changes_no_advantage(make: Any, settings: dict[str, Any], watched: Any) -> None:
    settings = {"max_failed_fraction": 0.0, **settings}
    expected = batch_of(make(Scored(by_length), **settings), LENGTHS)["advantages"]
    trainer = make(Scored(by_length), watched, **WEIGHTS, **settings)
    output = batch_of(trainer, LENGTHS)["advantages"]
    assert torch.equal(output, expected)
    assert output.std() > 0.1
    metrics = trainer._metrics["train"]
    assert metrics["judge/failed_fraction"] == [0.0]
    if watched is not endless:
        assert metrics["watched/failed_fraction"] == [0.75]


def test_its_failures_stop_no_run(make: Any) -> None:
    away = Scored(lambda _: FAILED, "away")
    settings = {"dynamic_sampling": True, "max_failed_fraction": 0.0, "max_completion_length": 8}
    trainer = make(Scored(by_length), away, **WEIGHTS, **settings)
    health = RewardHealthCallback(trainer.recorders)
    trainer.add_callback(health)
    trainer.train()
    assert (trainer.state.global_step, health.stopped) == (2, "")
    first, _ = lines_of(trainer)
    assert first["away/failed_fraction"] == 1
    assert first["learning/rows"] > 0


def test_its_scores_are_none_where_the_others_have_none(make: Any) -> None:
    none = Verdict(None, Status.NOT_APPLICABLE)
    some = Scored(lambda sample: none if "blue" in sample.completion else by_length(sample))
    watched = Scored(lambda _: 0.5, "watched")
    advantages = batch_of(make(some, watched, **WEIGHTS), LENGTHS)["advantages"]
    three = torch.tensor([7, 11, 24]) / 100
    expected = (three - three.mean()) / (three.std() + 1e-4)
    assert advantages[[0, 1, 3]].tolist() == pytest.approx(expected.tolist(), abs=1e-4)
    assert advantages[2] == 0
    with pytest.raises(NothingScored, match="none of this step's 8"):
        batch_of(make(Scored(lambda _: none), watched, **WEIGHTS), LENGTHS)


# Captions and questions in one run.

CAPTIONS_AND_QUESTIONS = scenes_part(ask="both", count=16)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_data(CAPTIONS_AND_QUESTIONS)


def posh_and_lave() -> list[Any]:
    return [PoshReward(MatchJudge()), LaveReward(MatchJudge(), rationale=False)]


def texts_for(dataset: Dataset) -> list[str]:
    """Four descriptions of the first picture, and two right and two wrong answers on the second."""
    right = max(set(dataset[1]["answers"]), key=dataset[1]["answers"].count)
    described = [dataset[0]["reference"][0], "A red star.", "There is a circle.", "Two stars."]
    return [*described, right, right, "x", "y"]


@pytest.mark.parametrize("stock", [True, False])
def test_a_group_has_its_columns_rewards(make: Any, dataset: Dataset, stock: bool) -> None:
    """A group of questions has LAVE's advantages alone, a group of captions PoSh's."""
    texts = texts_for(dataset)
    both = make(*posh_and_lave(), data=dataset, stock=stock)
    advantages = batch_of(both, texts)["advantages"]
    assert advantages.shape == (8,)
    # TRL's standard deviation of the group, and its floor
    half = 0.5 / (np.std([1, 1, 0, 0], ddof=1) + 1e-4)
    assert advantages[4:].tolist() == pytest.approx([half, half, -half, -half], abs=1e-4)
    posh = batch_of(make(PoshReward(MatchJudge()), data=dataset, stock=stock), texts)["advantages"]
    assert advantages[:4].tolist() == pytest.approx(posh[:4].tolist(), abs=1e-6)
    assert abs(advantages[:4]).max() > 0.5


def test_a_column_that_is_none_is_no_failure(make: Any, dataset: Dataset) -> None:
    texts = texts_for(dataset)
    plain = make(*posh_and_lave(), data=dataset, max_failed_fraction=0.0)
    scalar = batch_of(plain, texts)["advantages"]
    assert plain._metrics["train"]["judge/failed_fraction"] == [0.0]
    judged = [Status.OK] * 4 + [Status.NOT_APPLICABLE] * 4
    for recorder, statuses in zip(plain.recorders, (judged, judged[::-1]), strict=True):
        assert [verdict.status for verdict in recorder.verdicts] == statuses
    spans = batch_of(make(*posh_and_lave(), data=dataset, span_coef=0.5), texts)["advantages"]
    added = spans - scalar.unsqueeze(1)
    assert added[0].abs().max() > 0
    assert added[6:].abs().max() == 0  # a wrong answer has no credit


def test_questions_are_evaluated_by_vqa_accuracy(tmp_path: Path) -> None:
    for part in load_policy(TINY, seed=0):
        part.save_pretrained(tmp_path)
    data = held_out(scenes_part(ask="both", split="test", count=16), 6)
    judged = [*posh_and_lave(), Truth()]
    setup = Setup(
        {"base": [str(tmp_path)]}, [0], prompts_of(data), parts=[], rewards=judged, max_tokens=4
    )
    scores = evaluate_sides(setup, tmp_path / "answers").scores["base"]
    described = [True, False] * 3
    of_descriptions = {"truth_f1": True, "posh_f1": True, "vqa_accuracy": False}
    for metric, there in {**of_descriptions, "lave_score": False}.items():
        lacking = np.isnan(scores[metric][0]).tolist()
        assert lacking == [row is not there for row in described], metric
    assert not np.isnan(scores["length"]).any()


def test_vqa_accuracy_of_an_answer() -> None:
    lave, verdict = LaveReward(MatchJudge(), rationale=False), Verdict(0.5, parts={"score": 0.5})
    sample = Sample("How many?", "Two.", answers=("2",) * 2 + ("3",) * 8)
    one = judged_answer(sample, 1, [lave], [verdict])
    looks = {"overlap": 1.0, "words": 1.0, "length": 1.0, "truncated": 0.0, "degenerate": 0.0}
    assert one.scores == {"vqa_accuracy": pytest.approx(0.6), "lave_score": 0.5, **looks}
    few = judged_answer(Sample("How many?", "2", answers=("2",)), 1, [lave], [verdict])
    assert "vqa_accuracy" not in few.scores
