"""WordJudge on criteria: what words can tell, and "does not know" for the rest."""

from typing import Any

import pytest

from experiments.scenes import word_judge
from experiments.scenes.rate_criteria import statements
from experiments.scenes.word_judge import WordJudge
from spanreward.rewards import HarmonicReward
from spanreward.rewards.base.verdict import Sample, Status
from spanreward.rewards.judges.judge import Failure, Question
from spanreward.rewards.judges.probe import CriterionProbe
from spanreward.rewards.language.parse import scene_graphs
from tests.support.fakes import deviation

CONTEXT = (
    "A large blue square sits in the bottom right corner. A small red circle sits in the "
    "top left corner."
)
UNIFORM = dict.fromkeys("12345", 0.2)


def rate(name: str, text: str, context: str = CONTEXT, sentence: str = "") -> Any:
    question = Question([], probe=CriterionProbe(name, text, context, sentence))
    return WordJudge().rate([question])[0]


def test_by_hand() -> None:
    """Entity 5 and attribute 1 in "A blue circle.", and one statement that is unknown."""
    rating = rate("correctness", "A red circle.", "A blue circle.")
    unknown = dict.fromkeys("234", 0.2 / 3)
    assert rating.probabilities == pytest.approx({"1": 1.2 / 3, **unknown, "5": 1.2 / 3})
    assert rating.mean == pytest.approx((5 + 1 + 3) / 3)


@pytest.mark.parametrize("name", ["clarity", "fluency", "conciseness", "safety", "overall"])
def test_what_words_cannot_tell_is_not_known(name: str) -> None:
    rating = rate(name, CONTEXT, context="")
    assert rating.probabilities == pytest.approx(UNIFORM)
    assert (rating.mean, deviation(rating)) == pytest.approx((3.0, 2**0.5))


def test_saying_more_that_is_right_is_more_complete_and_surer() -> None:
    part, all_of_it = "A small red circle sits in the top left corner.", CONTEXT
    assert rate("completeness", part).mean < rate("completeness", all_of_it).mean
    assert deviation(rate("correctness", part)) > deviation(rate("correctness", all_of_it))
    assert rate("correctness", all_of_it).mean > 4.8


def test_saying_what_is_wrong_is_less_correct_and_not_less_complete() -> None:
    wrong = CONTEXT + " A green star is at the left edge."
    assert rate("correctness", wrong).mean < rate("correctness", CONTEXT).mean
    assert rate("completeness", wrong).mean == pytest.approx(rate("completeness", CONTEXT).mean)


def test_saying_a_right_thing_again_makes_it_two_things() -> None:
    """The second circle and its colour are not there; one statement is unknown."""
    once, twice = "A red circle.", "A red circle. A red circle."
    assert rate("correctness", once, once).mean == pytest.approx((5 + 5 + 3) / 3)
    assert rate("correctness", twice, once).mean == pytest.approx((5 + 5 + 1 + 1 + 3) / 5)
    assert rate("correctness", twice, twice).mean == pytest.approx((4 * 5 + 3) / 5)
    assert rate("correctness", twice, "Two red circles.").mean > 4
    assert rate("completeness", twice, once) == rate("completeness", once, once)


def test_what_says_nothing_is_not_known_to_be_correct() -> None:
    assert rate("correctness", "!!!").probabilities == pytest.approx(UNIFORM)


def test_a_sentence_is_looked_up_in_its_place() -> None:
    right = "A small red circle sits in the top left corner."
    wrong = "A green star is at the left edge."
    text = f"{right} {wrong}"
    assert rate("correctness", text, sentence=right).mean > 4.5
    assert rate("correctness", text, sentence=wrong).mean < 2
    less = rate("completeness", text, sentence=wrong).mean
    assert rate("completeness", text, sentence=right).mean > less
    assert rate("completeness", text, sentence=right) == rate("completeness", right)


def test_which_of_two_circles_is_meant() -> None:
    two = "A red circle is above a square. A blue circle is below a star."
    assert rate("correctness", "A red circle is above a square.", two).mean > 4
    swapped = rate("correctness", "A blue circle is above a square.", two).mean
    assert swapped < rate("correctness", "A red circle is above a square.", two).mean


def test_statements() -> None:
    (graph,) = scene_graphs(["A small red circle is above a square."])
    said = [(s.kind, s.mention.head, s.words) for s in statements(graph)]
    circle = [("entity", "circle", ""), ("attribute", "circle", "small")]
    circle.append(("attribute", "circle", "red"))
    assert said == [*circle, ("entity", "square", ""), ("relation", "circle", "above")]
    assert [s.words for s in statements(graph, (2, 7))] == ["small"]


def test_a_picture_it_cannot_see_is_a_failure_that_says_what_to_do() -> None:
    rating = rate("correctness", "A cat.", context="")
    assert isinstance(rating, Failure)
    assert rating.status is Status.UNPARSED
    sample = Sample("", "A cat.", images=("x.png",))
    (verdict,) = HarmonicReward(WordJudge(), spans="none").assess([sample])
    assert verdict.status is Status.NOT_APPLICABLE
    assert "evidence='context'" in rating.message


def test_all_answers_are_the_same_one_by_one() -> None:
    probes = []
    for text in ("A red circle.", CONTEXT, "!!!", "A red circle."):
        for name in ("correctness", "fluency", "completeness"):
            probes.append(CriterionProbe(name, text, CONTEXT))
    together = WordJudge().rate([Question([], probe=probe) for probe in probes])
    assert together == [WordJudge().rate([Question([], probe=probe)])[0] for probe in probes]


def test_through_the_reward_better_descriptions_score_higher() -> None:
    reward = HarmonicReward(WordJudge(), evidence="context")
    texts = [CONTEXT, "A small red circle sits in the top left corner."]
    texts += ["A small green circle sits in the top left corner.", "A green star."]
    verdicts = reward.assess([Sample("", text, context=CONTEXT) for text in texts])
    scores = [verdict.score for verdict in verdicts]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4


def test_remembered_texts_are_bounded_in_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are forgotten together, answers stay; a text longer than all is read, too."""
    monkeypatch.setattr(word_judge, "REMEMBERED", 100)

    def asked(number: int, length: int = 1) -> Question:
        text = f"Dog {number} sits by a red circle. " * length
        return Question([], probe=CriterionProbe("completeness", text, "A red circle."))

    judge = WordJudge()
    numbers = [0, 1, 2, 3, 0, 4, 5, 0]
    for number in numbers:
        assert judge.rate([asked(number)]) == WordJudge().rate([asked(number)])
        assert sum(map(len, judge._indexes)) <= 200
    together = [asked(number) for number in numbers]
    assert judge.rate(together) == WordJudge().rate(together)
    assert judge.rate([asked(9, length=10)]) == WordJudge().rate([asked(9, length=10)])
