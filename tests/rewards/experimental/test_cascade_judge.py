"""CascadeJudge: the student where it is sure, the teacher elsewhere and at the audits."""

import pickle
import random
from collections.abc import Sequence
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given, settings, strategies as st

from spanreward import PoshReward, Sample, Status
from spanreward.rewards.experimental.cascade_judge import CascadeJudge, ratings_agree
from spanreward.rewards.judges import CachedJudge, Failure, MatchJudge, Question, Rating, load_judge
from spanreward.rewards.judges.judge import RATING_SCALE, Judge
from spanreward.rewards.judges.usage import Usage
from tests.support.fakes import FakeJudge, asked, certain, prompt_of

PROMPTS = [f"question {number}" for number in range(300)]


class Told(Judge):
    """Answers with what a prompt maps to, and keeps what it was asked and what was done to it."""

    name = ""

    def __init__(self, name: str, answer: Any) -> None:
        self.name = name
        self.answer = answer
        self.asked: list[str] = []
        self.events: list[str] = []

    def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> list[Any]:
        prompts = list(map(prompt_of, questions))
        self.asked += prompts
        self.usage.prompt_tokens += 10 * len(prompts)
        return [self.answer(prompt) for prompt in prompts]

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        return [f"{self.name} writes" for _ in questions]

    def start(self) -> None:
        self.events.append("start")

    def close(self) -> None:
        self.events.append("close")

    def __enter__(self) -> Any:
        self.events.append("wake")
        return self

    def __exit__(self, *error: Any) -> None:
        self.events.append("sleep")


FAILED = Failure(Status.ERROR, "RuntimeError: gone")
NO_RATING = Failure(Status.UNPARSED, "the judge's rating has no probability on any entry")
THINGS = ("circle", "square", "star", "cat", "dog", "bird", "horse", "boat")


def sure_of(entry: int, probability: float = 0.95) -> Rating:
    rest = (1 - probability) / 4
    return Rating({one: probability if one == str(entry) else rest for one in RATING_SCALE})


def gone(*_: Any) -> Any:
    raise RuntimeError("gone")


def pair(student: Any = None, teacher: Any = None, **options: Any) -> CascadeJudge:
    student = Told("student", student or (lambda prompt: sure_of(5)))
    return CascadeJudge(student, Told("teacher", teacher or (lambda prompt: sure_of(1))), **options)


@pytest.mark.parametrize(
    ("options", "alone"),
    [
        ({"sure": 1.01}, FakeJudge),
        ({"audit": 1}, FakeJudge),
        ({"sure": 0, "audit": 1.0}, FakeJudge),
        ({"sure": 0, "audit": 0}, MatchJudge),
    ],
)
def test_where_it_is_never_or_always_sure_it_is_one_of_both(options: Any, alone: Any) -> None:
    teacher = FakeJudge()
    judge = CascadeJudge(MatchJudge(), teacher, **options)
    assert PoshReward(judge).assess(samples()) == PoshReward(alone()).assess(samples())
    assert (teacher.rated == []) is (alone is MatchJudge)


def samples() -> list[Sample]:
    references = ("A small red circle is above a blue square.",)
    texts = ("A red circle.", "A blue square below a circle.", "A red circle on a table.", "")
    return [Sample("Describe.", text, references=references) for text in texts]


def test_the_teacher_gets_what_the_student_is_not_sure_of_refuses_or_fails() -> None:
    answers = {
        "sure": sure_of(5, 0.9),
        "not": sure_of(5, 0.89),
        "refused": Failure(Status.UNPARSED, "no such probe"),
        "late": Failure(Status.TIMEOUT, "too late"),
        "nothing": Rating({}),
    }
    judge = pair(answers.__getitem__, audit=0)
    found = judge.rate(asked(*answers))
    assert found == [sure_of(5, 0.9), *[sure_of(1)] * 4]
    assert judge.teacher.asked == ["not", "refused", "late", "nothing"]
    used = judge.usage
    assert (used.questions, used.student, used.teacher, used.audited) == (5, 1, 4, 0)
    assert used.prompt_tokens == 90  # of both


LATE = Failure(Status.TIMEOUT, "too late")


@pytest.mark.parametrize(
    ("teacher", "failure"),
    [(lambda _: LATE, LATE), (gone, FAILED), (lambda _: Rating({}), NO_RATING)],
)
def test_where_an_audit_fails_the_sure_rating_stays(teacher: Any, failure: Failure) -> None:
    answers = {"sure": sure_of(5), "too": sure_of(2), "not": sure_of(5, 0.5)}
    judge = pair(answers.__getitem__, teacher, audit=1)
    assert judge.rate(asked(*answers)) == [sure_of(5), sure_of(2), failure]
    used = judge.usage
    assert (used.questions, used.student, used.teacher) == (3, 2, 1)
    assert (used.audited, used.agreed, used.audits_failed) == (0, 0, 2)


@pytest.mark.parametrize("student", [gone, lambda _: FAILED, lambda _: Rating({})])
def test_a_student_that_raises_is_one_that_fails(student: Any) -> None:
    judge = pair(student, audit=0)
    assert judge.rate(asked("a", "b")) == [sure_of(1)] * 2
    assert (judge.usage.student, judge.usage.teacher, judge.usage.audits_failed) == (0, 2, 0)


def test_a_student_with_too_few_answers_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = pair(audit=0)
    monkeypatch.setattr(judge.student, "rate", lambda questions, scale: [sure_of(5)])
    assert judge.rate(asked("a", "b")) == [sure_of(1)] * 2


def test_with_a_dead_teacher_the_students_rewards_are_left() -> None:
    """At the default share of audits; texts of some length all have an audit somewhere."""
    named = [f"A {colour} {thing} is by a tree." for colour in ("red", "blue") for thing in THINGS]
    text = " ".join(named)
    samples = [Sample("", f"{text} The {thing} sleeps.", references=(text,)) for thing in THINGS]
    judge = CascadeJudge(MatchJudge(), Told("teacher", gone), sure=0.5)
    verdicts = PoshReward(judge).judge_samples(samples)
    assert verdicts == PoshReward(MatchJudge()).judge_samples(samples)
    assert judge.usage.audits_failed > 0


def test_nothing_asked_is_nothing_answered() -> None:
    judge = pair(audit=1)
    assert judge.rate([]) == judge.write([], 3) == []
    assert judge.student.asked == judge.teacher.asked == []
    assert judge.usage == Usage()


def test_a_share_of_what_is_sure_is_audited_and_the_teacher_counts_there() -> None:
    judge = pair(audit=0.2)
    found = judge.rate(asked(*PROMPTS))
    audits = judge.teacher.asked
    assert len(audits) == pytest.approx(0.2 * 300, abs=4 * 7)  # four standard deviations
    assert [rating == sure_of(1) for rating in found] == [prompt in audits for prompt in PROMPTS]
    assert (judge.usage.audited, judge.usage.agreed) == (len(audits), 0)


def test_audits_are_those_of_the_seed_and_of_a_lower_share_and_more() -> None:
    options: Any = ({}, {}, {"seed": 1}, {"audit": 0.05})
    runs = [pair(**{"audit": 0.2, **one}) for one in options]
    for judge in runs:
        judge.rate(asked(*PROMPTS))
    first, again, other, low = (judge.teacher.asked for judge in runs)
    assert first == again
    assert len(set(first) & set(other)) < len(first) / 2
    assert set(low) < set(first)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=4), max_size=12), st.randoms(use_true_random=False))
def test_permuted_in_is_permuted_out_and_alone_is_together(
    prompts: list[str], order: random.Random
) -> None:
    def student(prompt: str) -> Rating | Failure:
        kind = len(prompt) % 3
        return Failure(Status.UNPARSED, "") if kind == 0 else sure_of(4, 0.95 if kind == 1 else 0.5)

    together = pair(student, audit=0.5).rate(asked(*prompts))
    assert [pair(student, audit=0.5).rate(asked(prompt))[0] for prompt in prompts] == together
    places = order.sample(range(len(prompts)), len(prompts))
    mixed = pair(student, audit=0.5).rate(asked(*(prompts[place] for place in places)))
    assert mixed == [together[place] for place in places]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [(5, 4, True), (4, 3, False), (1, 3, True), (5, 1, False), (2, 1, True)],
)
def test_agreement_is_the_side_of_the_scales_middle(first: int, second: int, same: bool) -> None:
    assert ratings_agree(certain(first), certain(second), RATING_SCALE) is same


def test_agreement_on_a_scale_of_letters_is_the_likeliest_entry() -> None:
    mostly_a = Rating({"A": 0.6, "B": 0.4})
    assert ratings_agree(mostly_a, Rating({"A": 0.9, "B": 0.1}), ("A", "B", "C"))
    assert not ratings_agree(mostly_a, Rating({"A": 0.2, "C": 0.8}), ("A", "B", "C"))


def test_both_wake_and_sleep_together_and_once_each() -> None:
    judge = pair()
    judge.start()
    with judge, judge:
        judge.rate(asked("a"))
    judge.close()
    for one in (judge.student, judge.teacher):
        assert one.events == ["start", *["wake"] * 3, *["sleep"] * 3, "close"]


def test_both_sleep_after_an_error_and_close_though_one_cannot(monkeypatch: Any) -> None:
    judge = pair()
    with pytest.raises(RuntimeError, match="gone"), judge:
        gone()
    assert judge.student.events == judge.teacher.events == ["wake", "sleep"]
    monkeypatch.setattr(judge.teacher, "close", gone)
    with pytest.raises(RuntimeError, match="gone"):
        judge.close()
    assert judge.student.events[-1] == "close"


def test_a_teacher_that_cannot_wake_leaves_no_student_awake() -> None:
    teacher = MagicMock(**{"__enter__.side_effect": RuntimeError("no memory")})
    student = Told("student", certain)
    with pytest.raises(RuntimeError, match="no memory"), CascadeJudge(student, teacher):
        pass
    assert student.events == ["wake", "sleep"]


def test_texts_are_the_teachers(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = pair()
    assert judge.write(asked("a", "b"), 3) == ["teacher writes"] * 2
    assert (judge.usage.questions, judge.usage.teacher) == (2, 2)
    monkeypatch.setattr(judge.teacher, "write", gone)
    assert judge.write(asked("a", "b"), 3) == [FAILED] * 2


def test_what_only_the_student_refused_is_not_unparsed() -> None:
    judge = CascadeJudge(MatchJudge(), Told("teacher", lambda prompt: sure_of(1)))
    judge.student.usage.unparsed = judge.student.usage.timeouts = 3
    judge.teacher.usage.unparsed = 2
    assert (judge.usage.unparsed, judge.usage.timeouts) == (2, 0)


def test_what_a_cascade_needs_is_what_one_of_both_needs() -> None:
    plain, reading, limited = FakeJudge(), FakeJudge(), FakeJudge()
    reading.reads_source, limited.deadline = True, 7.0
    assert CascadeJudge(reading, plain).reads_source
    assert not CascadeJudge(plain, plain).reads_source
    assert CascadeJudge(plain, limited).deadline == 7
    assert CascadeJudge(limited, limited).deadline == 14
    assert CascadeJudge(plain, plain).deadline is None


def test_by_its_name_and_pickled_as_settings() -> None:
    judge: Any = load_judge("cascade", student="match", teacher="match", sure=0.8, seed=3)
    assert isinstance(judge, CascadeJudge)
    PoshReward(judge).assess(samples())
    copy = pickle.loads(pickle.dumps(judge))
    assert (copy.sure, copy.audit, copy.seed, copy.usage) == (0.8, 0.02, 3, Usage())


def test_another_setting_or_judge_is_another_name(tmp_path: Any) -> None:
    judges = [pair(), pair(sure=0.8), pair(audit=0.1), pair(seed=1)]
    judges.append(CascadeJudge(FakeJudge(), FakeJudge()))
    assert len({judge.name for judge in judges}) == len(judges)
    assert pair().name == pair().name
    cached = [CachedJudge(pair(audit=0.5), tmp_path / "ratings.sqlite") for _ in range(2)]
    first, again = (judge.rate(asked(*PROMPTS[:20])) for judge in cached)
    assert first == again
    assert cached[1].judge.student.asked == []
    assert cached[0].usage.student + cached[0].usage.teacher == cached[0].usage.questions == 20


@pytest.mark.parametrize("name", ["sure", "audit"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), "0.9", True, None])
def test_a_share_that_is_none_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"cascade's {name} "):
        pair(**{name: value})
