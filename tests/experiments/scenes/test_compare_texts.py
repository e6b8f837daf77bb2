"""What WordJudge says of several texts: by words, against the context or the row's criteria."""

from typing import Any

import pytest

from experiments.scenes.word_judge import WordJudge
from spanreward.rewards import CriteriaReward, PairwiseReward, Sample, Status
from spanreward.rewards.judges import Failure, Question, Rating
from spanreward.rewards.judges.probe import MeetsProbe, PairProbe, QualityProbe, RankingProbe

CONTEXT = "A large red circle is above a small blue star."
GOOD, TERSE, WRONG = CONTEXT, "A red circle.", "A green square is here."
PAIRS = ("A", "B", "C")


def rate(probe: object, scale: tuple[str, ...] = PAIRS) -> Rating:
    (answer,) = WordJudge().rate([Question([{"role": "user", "content": "?"}], probe=probe)], scale)
    assert isinstance(answer, Rating)
    return answer


@pytest.mark.parametrize(
    ("first", "second", "letter"),
    [(GOOD, TERSE, "A"), (TERSE, GOOD, "B"), (WRONG, TERSE, "B"), (GOOD, GOOD, "C")],
)
def test_what_says_more_that_is_right_is_better(first: str, second: str, letter: str) -> None:
    probe = PairProbe("Describe.", first, second, CONTEXT)
    for scale in (PAIRS, (*PAIRS, "D")):
        assert rate(probe, scale).probabilities[letter] == 1


def test_criteria_of_the_row_are_looked_up_in_the_text() -> None:
    criteria = ("Says that there is a blue star.",)
    assert rate(PairProbe("Describe.", GOOD, WRONG, CONTEXT, criteria)).probabilities["A"] == 1
    probes = [MeetsProbe(criteria[0], text, "Describe.") for text in (GOOD, WRONG)]
    good, wrong = (rate(probe, tuple("12345")).mean for probe in probes)
    assert good > 3 > wrong


def test_a_rating_and_a_ranking() -> None:
    probes = [QualityProbe("Describe.", text, CONTEXT) for text in (GOOD, TERSE, WRONG)]
    levels = [rate(probe, tuple("12345")).mean for probe in probes]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] > 4 > levels[1] > levels[2]
    probe = RankingProbe("Describe.", (WRONG, GOOD, TERSE), CONTEXT)
    assert WordJudge().write([Question([], probe=probe)], 9) == ["2, 3, 1"]


def test_without_a_context_there_is_nothing_to_look_up() -> None:
    for probe in (PairProbe("Describe.", GOOD, TERSE), QualityProbe("Describe.", GOOD)):
        (answer,) = WordJudge().rate([Question([], probe=probe)])
        assert isinstance(answer, Failure)
        assert answer.status is Status.UNPARSED
        assert "sees no pictures" in answer.message
    (ranked,) = WordJudge().write([Question([], probe=RankingProbe("Describe.", (GOOD, TERSE)))], 9)
    assert isinstance(ranked, Failure)


@pytest.mark.parametrize("options", [{}, {"form": "batch"}, {"form": "score"}])
def test_both_rewards_run_with_the_judge_that_needs_no_model(options: dict[str, str]) -> None:
    group = [Sample("Describe.", text, context=CONTEXT) for text in (TERSE, GOOD, WRONG)]
    terse, good, wrong = (one.score for one in PairwiseReward(WordJudge(), **options).assess(group))
    assert good > terse > wrong


@pytest.mark.parametrize("form", ["pointwise", "pairwise"])
def test_criteria_with_the_judge_that_needs_no_model(form: str) -> None:
    criteria = ("Says that there is a large red circle.", "Says that there is a small blue star.")
    told: dict[str, Any] = {"context": CONTEXT, "criteria": criteria, "anchor": TERSE}
    rows = [Sample("Describe.", text, **told) for text in (GOOD, WRONG)]
    good, wrong = CriteriaReward(WordJudge(), form=form).assess(rows)
    assert good.score > wrong.score
