"""MLLM-as-a-Judge's other forms: a group ranked in one question, and a score."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spanreward import PairwiseReward, Sample, Status, Verdict
from spanreward.rewards.judges.probe import RankingProbe
from spanreward.rewards.pairwise.ranking import read_ranking, votes_of
from tests.support.group_judges import GroupJudge

CONTEXT = "A red circle is above a blue star, on a green ground."
GOOD, FAIR = "A red circle above a blue star.", "A red circle with a star."
POOR = "A circle is shown."
WORTH = {GOOD: 1.0, FAIR: 0.5, POOR: 0.25}


def group(*texts: str) -> list[Sample]:
    return [Sample("Describe.", text, context=CONTEXT) for text in texts]


def ranked(*texts: str, form: Any = "batch", **settings: Any) -> tuple[list[Verdict], GroupJudge]:
    judge = GroupJudge(WORTH.__getitem__, **settings)
    return PairwiseReward(judge, form=form).assess(group(*texts)), judge


def scores(verdicts: Sequence[Verdict]) -> list[float]:
    return [verdict.score for verdict in verdicts if verdict.score is not None]


@pytest.mark.parametrize(
    ("answer", "ranking"),
    [
        ("2, 3, 1", [1, 2, 0]),
        ("Text 2 > Text 3 > Text 1", [1, 2, 0]),
        ("Of the 3 texts:\n2,3,1\n", [1, 2, 0]),
        ("[[2]], [[3]], [[1]]", [1, 2, 0]),
        ("2, 3", None),
        ("2, 3, 3", None),
        ("1, 2, 3, 4", None),
        ("Text 2 is the best", None),
        ("\u0662, \u0663, \u0661", None),
        ("", None),
    ],
)
def test_a_ranking_in_an_answer(answer: str, ranking: list[int] | None) -> None:
    assert read_ranking(answer, 3) == ranking


@given(st.permutations(range(5)))
def test_a_ranking_that_was_written_is_read(ranking: list[int]) -> None:
    assert read_ranking(", ".join(str(place + 1) for place in ranking), 5) == ranking


@given(st.permutations(range(4)))
def test_two_equal_rankings_decide_every_pair_and_mirror_each_other(ranking: list[int]) -> None:
    for one, other in permutations(range(4), 2):
        votes = votes_of((ranking, ranking), one, other)
        assert votes.outcome == (1 if ranking.index(one) < ranking.index(other) else -1)
        assert sorted(votes.slots) == [False, True]


def test_a_group_is_ranked_from_both_ends() -> None:
    (fair, poor, good), judge = ranked(FAIR, POOR, GOOD)
    assert good.score > fair.score > poor.score
    assert (good.parts["won"], good.parts["first_slot"]) == (1, 0.5)
    ((forward, backward),) = judge.written
    assert forward.probe == RankingProbe("Describe.", (FAIR, POOR, GOOD), CONTEXT)
    assert backward.probe.texts == (GOOD, POOR, FAIR)
    for question in (forward, backward):
        content = question.messages[0]["content"]
        assert all(content.count(text) == 1 for text in (GOOD, FAIR, POOR))
        assert content[slice(*question.description)] == GOOD  # the longest


def test_a_ranking_says_what_the_pairs_say() -> None:
    by_pairs, _ = ranked(FAIR, POOR, GOOD, form="pair")
    by_rank, _ = ranked(FAIR, POOR, GOOD)
    assert scores(by_rank) == pytest.approx(scores(by_pairs), abs=1e-9)


def test_a_judge_that_repeats_the_order_decides_nothing() -> None:
    verdicts, _ = ranked(GOOD, FAIR, POOR, ranks=lambda texts: "1, 2, 3")
    for verdict in verdicts:
        assert verdict.score == pytest.approx(0.5, abs=1e-6)
        parts = ("tied", "orders_disagree", "first_slot")
        assert [verdict.parts[part] for part in parts] == [1, 1, 1]


def test_an_unreadable_ranking_is_no_score() -> None:
    verdicts, _ = ranked(
        GOOD, FAIR, POOR, ranks=lambda texts: "I cannot tell." if texts[0] == GOOD else "1, 2, 3"
    )
    for verdict in verdicts:
        assert (verdict.score, verdict.status) == (None, Status.UNPARSED)
        assert "3 texts: 'I cannot tell.'" in verdict.note


def test_equal_and_empty_texts_are_not_shown() -> None:
    verdicts, judge = ranked(GOOD, POOR, "", GOOD)
    assert [len(question.probe.texts) for question in judge.written[0]] == [2, 2]
    assert verdicts[2].status is Status.EMPTY
    assert verdicts[0].score == pytest.approx(verdicts[3].score)
    assert verdicts[0].parts["tied"] == pytest.approx(1 / 3)
    alike, silent = ranked(GOOD, GOOD)
    assert silent.written == [] or silent.written == [[]]
    assert scores(alike) == pytest.approx([0.5, 0.5], abs=1e-6)


def test_a_score_is_the_mean_of_the_rating() -> None:
    verdicts, judge = ranked(GOOD, FAIR, "", form="score")
    assert scores(verdicts) == pytest.approx([1.0, 0.5, 0.0])
    assert verdicts[1].parts["rating"] == 3.0
    for question, text in zip(judge.rated[0], (GOOD, FAIR), strict=True):
        assert question.messages[0]["content"][slice(*question.description)] == text
    (failed,), _ = ranked(GOOD, form="score", fails=lambda question: True)
    assert failed.status is Status.TIMEOUT


@pytest.mark.parametrize("form", ["pair", "batch", "score"])
def test_the_cost_is_what_is_asked(form: str) -> None:
    texts = [f"a red circle {number}" for number in range(8)]
    judge = GroupJudge(lambda text: int(text[-1]) / 8)
    reward = PairwiseReward(judge, form=form)
    reward.assess(group(*texts))
    asked = [question for call in (*judge.rated, *judge.written) for question in call]
    cost = reward.cost(4, 1)
    assert cost.questions * 8 == len(asked)
    assert cost.prompt_tokens > 60 * cost.questions
    assert cost.written_tokens >= cost.questions * (96 if form == "batch" else 1)
