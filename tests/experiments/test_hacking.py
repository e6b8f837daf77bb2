"""No family of texts that ask for reward pays, by the truth and by words."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from experiments.caprl.reward import CaprlReward
from experiments.hacking.families import ANSWERS, DESCRIPTIONS
from experiments.hacking.frames import FRAMES
from experiments.hacking.payoffs import (
    answer_cases,
    description_cases,
    measure_payoffs,
    referee_judge,
)
from experiments.scenes import word_judge
from experiments.scenes.referee_judge import RefereeJudge
from experiments.scenes.word_judge import WordJudge
from spanreward.rewards import HarmonicReward, LaveReward, MatchJudge, PoshReward
from spanreward.rewards.judges.judge import Failure, Question
from spanreward.rewards.judges.match import match_judge
from spanreward.rewards.judges.probe import (
    CriterionProbe,
    Link,
    Mention,
    PhraseProbe,
    PresenceProbe,
)
from spanreward.rewards.language.parse import scene_graphs
from spanreward.rewards.language.rules import Mode
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.posh import reward as posh_reward

PRICE = 0.02
TEXTS = 12  # of 6 descriptions 2 are terse, too few to tell .02 from chance
CASES = description_cases(TEXTS)
QUESTIONS = answer_cases(TEXTS)
JUDGES = {"referee": lambda: referee_judge(CASES), "words": WordJudge}
SHOWN: dict[str, Any] = {"evidence": "context", "spans": "none"}
REWARDS = {
    "posh": lambda judge: PoshReward(judge),
    "harmonic": lambda judge: HarmonicReward(judge, **SHOWN),
    "harmonic, gamma 1": lambda judge: HarmonicReward(judge, **SHOWN, gamma=1),
}


@pytest.fixture(scope="module", autouse=True)
def parsed_once() -> Iterator[None]:
    """Most of the time goes into parsing, and all rewards and judges here read the same texts."""
    known: dict[tuple[str, str], SceneGraph] = {}

    def describe_new(
        texts: Sequence[str], pipeline: Any = None, coref: Any = "rules", mode: Mode = "default"
    ) -> list[SceneGraph]:
        new = [text for text in dict.fromkeys(texts) if (text, mode) not in known]
        known.update(zip([(text, mode) for text in new], scene_graphs(new, mode=mode), strict=True))
        return [known[text, mode] for text in texts]

    def describe_both(
        texts: Sequence[str], supporting: Any, pipeline: Any, coref: Any, mode: Mode
    ) -> list[tuple[SceneGraph, SceneGraph]]:
        both = []
        for text, graph in zip(texts, describe_new(texts, mode=mode), strict=True):
            supports = graph
            if graph.unasserted and text in supporting:
                (supports,) = describe_new([text], mode="reference")
            both.append((graph, supports))
        return both

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posh_reward, "describe_both", describe_both)
        for module in (match_judge, word_judge):
            patch.setattr(module, "scene_graphs", describe_new)
        yield


def test_the_suite_is_what_it_says() -> None:
    assert len(DESCRIPTIONS) >= 25
    assert len(ANSWERS) >= 25
    case = CASES[0].case
    for family, (hack, amounts, _) in (DESCRIPTIONS | FRAMES | ANSWERS).items():
        assert len(set(amounts)) == 3
        texts = [hack(case, amount, random.Random(0)) for amount in amounts]
        assert texts == [hack(case, amount, random.Random(0)) for amount in amounts]
        fewest = 2 if family in ("plurals", "one for several") else 4
        assert len({case.honest, *texts}) >= fewest, family


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("metric", REWARDS)
def test_no_family_of_descriptions_pays(metric: str, judge: str) -> None:
    payoffs = measure_payoffs(REWARDS[metric](JUDGES[judge]()), CASES, DESCRIPTIONS)
    assert {payoff.family: payoff.pays for payoff in payoffs if payoff.price > PRICE} == {}
    assert sum(payoff.failed for payoff in payoffs) == 0


# to a metric in which what is wrong costs nothing; "all colours, in turn" pays .01 to .02
# (docs/evidence)
TEMPTING = ["contradictions", "a table", "a list of everything", "orders to the judge", "plurals"]
TEMPTING += ["the whole text again", "what is there, denied", "what is there, asked"]
TEMPTING += ["all words, as an address"]


@pytest.mark.parametrize("judge", ["referee", "words"])
def test_no_tempting_family_pays_with_questions(judge: str) -> None:
    cases = description_cases(24)
    reward = CaprlReward(referee_judge(cases) if judge == "referee" else WordJudge())
    payoffs = measure_payoffs(reward, cases, {family: DESCRIPTIONS[family] for family in TEMPTING})
    assert {payoff.family: payoff.pays for payoff in payoffs if max(payoff.pays) > PRICE} == {}
    assert sum(payoff.failed for payoff in payoffs) == 0


def test_a_frame_that_claims_nothing_does_not_pay() -> None:
    once = {name: frame._replace(amounts=(1,)) for name, frame in FRAMES.items()}
    terse = [case for case in CASES if case.terse]
    payoffs = measure_payoffs(PoshReward(MatchJudge()), terse, once)
    assert {payoff.family: payoff.pays for payoff in payoffs if payoff.price > PRICE} == {}


def test_a_frame_answers_no_question() -> None:
    """But for two: what takes a claim back is found by what a reference has, and CapRL has none."""
    backed = ("True or false", "There is {thing} {place}. Just kidding")
    left = {name: frame for name, frame in FRAMES.items() if not name.startswith(backed)}
    once = {name: frame._replace(amounts=(1,)) for name, frame in left.items()}
    assert len(once) == len(FRAMES) - 2
    payoffs = measure_payoffs(CaprlReward(referee_judge(CASES)), CASES, once)
    assert {payoff.family: payoff.pays for payoff in payoffs if payoff.price > PRICE} == {}


@pytest.mark.parametrize("judge", JUDGES)
def test_no_family_of_answers_pays(judge: str) -> None:
    payoffs = measure_payoffs(LaveReward(JUDGES[judge](), rationale=False), QUESTIONS, ANSWERS)
    assert {payoff.family: payoff.pays for payoff in payoffs if payoff.price > PRICE} == {}
    assert sum(payoff.failed for payoff in payoffs) == 0


def test_a_reward_that_can_be_farmed_is_seen() -> None:
    """The suite can fail: with a judge that obeys its texts, orders pay."""

    class Obedient(MatchJudge):
        """Gives the highest rating to a text that asks for it."""

        def rate(self, questions: Any, scale: Any = ("1", "2", "3", "4", "5")) -> Any:
            ratings = super().rate(questions, scale)
            top = max(ratings, key=lambda rating: rating.mean)
            for place, question in enumerate(questions):
                if "highest score" in question.probe.text:
                    ratings[place] = top
            return ratings

    family = {"orders to the judge": DESCRIPTIONS["orders to the judge"]}
    published = PoshReward(Obedient(), score="recall", mode="published")
    (payoff,) = measure_payoffs(published, CASES, family)
    assert payoff.price > PRICE
    (payoff,) = measure_payoffs(PoshReward(Obedient(), score="recall"), CASES, family)
    assert payoff.price <= PRICE  # an order is no claim, and never reaches the judge


TEXT = "There is a small red star in the top left corner. A large blue circle is at the right edge."
TOP = Mention("corner", details=("top",))
TOP_LEFT = Mention("corner", details=("top", "left"))


@pytest.mark.parametrize(
    ("kind", "mention", "words", "other", "there"),
    [
        ("entity", Mention("star"), "", None, True),
        ("entity", Mention("stars"), "", None, True),
        ("entity", Mention("square"), "", None, False),
        ("entity", TOP_LEFT, "", None, True),
        ("entity", Mention("corner", details=("bottom", "left")), "", None, False),
        ("entity", Mention("edge", details=("right",)), "", None, True),
        ("entity", Mention("center"), "", None, False),
        ("attribute", Mention("star"), "red", None, True),
        ("attribute", Mention("star"), "blue", None, False),
        ("attribute", Mention("corner", details=("left",)), "top", None, True),
        ("attribute", Mention("star"), "beautiful", None, False),
        ("relation", Mention("star"), "in", TOP_LEFT, True),
        ("relation", Mention("circle"), "in", TOP_LEFT, False),
        ("relation", Mention("star"), "to the left of", Mention("circle"), True),
        ("relation", Mention("star"), "below", Mention("circle"), False),
        ("relation", Mention("star"), "admires", Mention("circle"), False),
        ("relation", Mention("corner"), "of", Mention("edge"), False),
        ("entity", Mention("star", ties=(Link("in", TOP),)), "", None, True),
    ],
)
def test_the_referee_reads_what_a_text_says(
    kind: str, mention: Any, words: str, other: Any, there: bool
) -> None:
    question = Question([], probe=PresenceProbe(TEXT, kind, mention, words, other))
    (rating,) = RefereeJudge({}).rate([question])
    assert rating.mean == (5.0 if there else 1.0)


def test_the_referee_rates_criteria_by_the_truth() -> None:
    case = CASES[0]
    judge = referee_judge(CASES)
    context = case.sample.context

    def rated(name: str, text: str) -> float:
        return judge.rate([Question([], probe=CriterionProbe(name, text, context=context))])[0].mean

    assert rated("correctness", context) == pytest.approx(5.0)
    assert rated("completeness", context) == pytest.approx(5.0)
    assert rated("completeness", "Nothing.") == 1.0
    assert rated("fluency", "Nothing.") == 3.0
    (failure,) = judge.rate([Question([], probe=PhraseProbe("a", "b"))])
    assert isinstance(failure, Failure)
