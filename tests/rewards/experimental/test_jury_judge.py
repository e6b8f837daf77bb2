"""JuryJudge: the mean of its judges' ratings, and what fails in one fails in all."""

import pickle

import pytest
from hypothesis import given, strategies as st

from spanreward import PoshReward, Sample, Status
from spanreward.rewards.experimental.jury_judge import JuryJudge, mean_rating
from spanreward.rewards.files import http_client
from spanreward.rewards.judges import CachedJudge, Failure, MatchJudge, Question, Rating, load_judge
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.rewards.judges.probe import Mention, PresenceProbe
from spanreward.training.evaluation.answer_scores.metrics import metric_judge_pairs
from spanreward.training.recipe import JudgePart, RewardPart
from tests.support.fakes import FakeJudge, asked, certain, hashed_rating

LATE = Failure(Status.TIMEOUT, "too late")


def test_the_mean_of_two_distributions() -> None:
    answers = (certain(1), Rating({"1": 0.5, "4": 0.5}, 0.6, 7))
    jury = JuryJudge(*(FakeJudge(lambda _, one=one: one) for one in answers))
    (rating,) = jury.rate(asked("a"))
    assert {entry: p for entry, p in rating.probabilities.items() if p} == {"1": 0.75, "4": 0.25}
    assert (rating.mean, rating.mass, rating.cut) == (1.75, 0.8, 7)


distributions = st.lists(st.floats(0.01, 1), min_size=5, max_size=5).map(
    lambda w: Rating({entry: one / sum(w) for entry, one in zip(RATING_SCALE, w, strict=True)})
)


@given(st.lists(distributions, min_size=2, max_size=4))
def test_a_distribution_whose_mean_is_the_mean_of_means(ratings: list[Rating]) -> None:
    together = mean_rating(ratings)
    assert sum(together.probabilities.values()) == pytest.approx(1)
    assert together.mean == pytest.approx(sum(rating.mean for rating in ratings) / len(ratings))


def test_a_failure_of_one_is_the_jurys_and_of_no_other_question() -> None:
    """A mean over those who answered would be more generous where the stricter judge fails."""
    jury = JuryJudge(FakeJudge(), FakeJudge(fails=lambda prompt: prompt == "b"))
    first, second, third = jury.rate(asked("a", "b", "c"))
    assert second == LATE
    assert [first, third] == [mean_rating([hashed_rating(prompt)] * 2) for prompt in ("a", "c")]


class Gone(FakeJudge):
    def rate(self, *_: object) -> list[Rating | Failure]:
        raise RuntimeError("gone")

    write = rate  # type: ignore[assignment]


def test_a_member_that_raises_is_one_that_fails() -> None:
    gone = Failure(Status.ERROR, "RuntimeError: gone")
    assert JuryJudge(FakeJudge(), Gone()).rate(asked("a", "b")) == [gone, gone]
    assert JuryJudge(Gone(), FakeJudge()).write(asked("a"), 3) == [gone]


def test_the_error_of_a_member_is_one_line_without_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(http_client.KEY_VARIABLE, "open-sesame")

    class Refused(Gone):
        def rate(self, *_: object) -> list[Rating | Failure]:
            raise RuntimeError("refused:\n the key open-sesame is not known")

    shown = Failure(Status.ERROR, "RuntimeError: refused: the key *** is not known")
    assert JuryJudge(Refused(), FakeJudge()).rate(asked("a")) == [shown]


def test_posh_with_a_jury_of_equal_judges_is_posh_with_one() -> None:
    samples = [Sample("", "A red dog and a cat.", references=("A red dog sleeps.", "A brown dog."))]
    assert PoshReward("match+match").assess(samples) == PoshReward("match").assess(samples)


def test_by_name_whose_first_judge_writes() -> None:
    jury = load_judge("match+match")
    assert isinstance(jury, JuryJudge)
    assert [type(judge) for judge in jury.judges] == [MatchJudge, MatchJudge]
    assert JuryJudge(FakeJudge(), MatchJudge()).write(asked('Name "A Dog"'), 4) == ["the a dog"]


def test_counted_once_and_cached_with_its_judges(tmp_path: object) -> None:
    jury = JuryJudge(MatchJudge(), MatchJudge())
    probe = PresenceProbe("A cat.", "entity", Mention("dog"), source="A dog.", places=((2, 5),))
    jury.rate([Question([], probe=probe)] * 3)
    assert jury.usage.questions == 3
    assert pickle.loads(pickle.dumps(jury)).name == jury.name
    cached = load_judge(f"match+encoder:{tmp_path}", cache=f"{tmp_path}/ratings.sqlite")
    assert isinstance(cached, CachedJudge)
    assert cached.reads_source


def test_a_recipe_knows_its_judges() -> None:
    """Each of them is no independent referee of the run."""
    judge = JudgePart(name="match+vllm:org/model")
    assert [one.name for one in judge.answering] == ["match", "vllm:org/model"]
    found = metric_judge_pairs([RewardPart(metric="posh", judge=judge)])
    assert found == {("posh", "match"), ("posh", "org/model")}
