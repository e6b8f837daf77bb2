"""A judge that analyses before it votes, rates or ranks (MLLM-as-a-Judge, section 3.1)."""

from typing import Any

import pytest

from experiments.agreement.judging import judge_pairs, judge_rankings, judge_scores
from experiments.agreement.judging_sets import Ordered, Preferred, Rated
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Question
from spanreward.rewards.pairwise.questions import Shown
from tests.support.group_judges import ANALYSIS, GroupJudge

GOOD, FAIR = "A red circle above a blue star.", "A red circle with a star."
WORTH = {GOOD: 1.0, FAIR: 0.5}
SHOWN = Shown("Describe.", context="A red circle is above a blue star, on a green ground.")
PAIR = ("1", SHOWN, (FAIR, GOOD), ("x", "y"), "all")
RATED = [Rated("1", SHOWN, (text,), ("x",), "all", 4.0) for text in (FAIR, GOOD)]
FORMS = {
    "pair": (judge_pairs, [Preferred(*PAIR, -1)]),
    "batch": (judge_rankings, [Ordered(*PAIR, (1, 0))]),
    "score": (judge_scores, RATED),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_judge_analyses_first(form: str) -> None:
    judge = GroupJudge(WORTH.__getitem__)
    judged, texts = FORMS[form]
    found: Any = judged(judge, texts, analyse=True)
    if form == "pair":
        assert found[0].outcome == -1
    elif form == "batch":
        assert found == [([1, 0], [1, 0])]
    else:
        assert found[0].mean < found[1].mean
    analyses = judge.written[0]
    decisions = judge.rated[0] if judge.rated else judge.written[1]
    assert len(analyses) == len(decisions) == 2
    for analysis, decision in zip(analyses, decisions, strict=True):
        first, second = analysis.messages[0]["content"], decision.messages[0]["content"]
        assert "Do not decide yet." in first
        assert ANALYSIS not in first
        assert second.count(ANALYSIS) == 1  # braces of the judge's are no placeholders
        text = first[slice(*analysis.description)]
        assert text == second[slice(*decision.description)]
        assert text in WORTH


def test_an_analysis_that_failed_is_a_failed_vote() -> None:
    def no_analysis(question: Question) -> bool:
        return question.probe is None

    judge = GroupJudge(WORTH.__getitem__, fails=no_analysis)
    (votes,) = judge_pairs(judge, FORMS["pair"][1], analyse=True)
    assert votes.failure == Failure(Status.TIMEOUT, "too late")
    ((forward, backward),) = judge_rankings(judge, FORMS["batch"][1], analyse=True)
    for failed in (forward, backward, *judge_scores(judge, FORMS["score"][1], analyse=True)):
        assert failed == votes.failure
    assert not any(judge.rated)
