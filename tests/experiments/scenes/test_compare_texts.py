"""What WordJudge says of several texts: by words, against the context or the row's criteria."""

import pytest

from experiments.scenes.word_judge import WordJudge
from spanreward.rewards import CriteriaReward, PairwiseReward, Sample, Status
from spanreward.rewards.judges import Failure, Question, Rating
from spanreward.rewards.judges.probe import MeetsProbe, PairProbe, QualityProbe, RankingProbe

CONTEXT = "A large red circle is above a small blue star."
GOOD, TERSE, WRONG = (
    "A large red circle is above a small blue star.",
    "A red circle.",
    "A green square is here.",
)
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
    assert rate(PairProbe("Describe.", first, second, CONTEXT)).probabilities[letter] == 1
    assert (
        rate(PairProbe("Describe.", first, second, CONTEXT), ("A", "B", "C", "D")).probabilities[
            letter
        ]
        == 1
    )


def test_criteria_of_the_row_are_looked_up_in_the_text() -> None:
    criteria = ("Says that there is a blue star.",)
    assert rate(PairProbe("Describe.", GOOD, WRONG, CONTEXT, criteria)).probabilities["A"] == 1
    scale = ("1", "2", "3", "4", "5")
    good, wrong = (
        rate(MeetsProbe(criteria[0], text, "Describe."), scale).mean for text in (GOOD, WRONG)
    )
    assert good > 3 > wrong


def test_a_rating_and_a_ranking() -> None:
    scale = ("1", "2", "3", "4", "5")
    levels = [
        rate(QualityProbe("Describe.", text, CONTEXT), scale).mean for text in (GOOD, TERSE, WRONG)
    ]
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
    scores = [
        verdict.score or 0 for verdict in PairwiseReward(WordJudge(), **options).assess(group)
    ]
    assert scores[1] > max(scores[0], scores[2])
    if "schedule" not in options:  # of three one sits out
        assert scores[0] > scores[2]


@pytest.mark.parametrize("form", ["pointwise", "pairwise"])
def test_criteria_with_the_judge_that_needs_no_model(form: str) -> None:
    criteria = ("Says that there is a large red circle.", "Says that there is a small blue star.")
    rows = [
        Sample("Describe.", text, context=CONTEXT, criteria=criteria, anchor=TERSE)
        for text in (GOOD, WRONG)
    ]
    good, wrong = (
        verdict.score or 0 for verdict in CriteriaReward(WordJudge(), form=form).assess(rows)
    )
    assert good > wrong
