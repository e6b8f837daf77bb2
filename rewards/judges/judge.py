"""The interface of a judge: it rates questions on a scale of single tokens, and writes short texts.

    question = Question(messages=[{"role": "user", "content": "Rate from 1 to 5: ..."}])
    ratings = judge.rate([question])
    ratings[0].mean                    # 3.7, unless ratings[0] is a Failure

A judge never raises because of one question: it returns a Failure in that question's place. `with
judge:` keeps the judge awake over several calls and may be nested. Metrics build Questions; judges
know nothing of metrics.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from typing import Any, Self, TypeVar

from PIL import Image

from spanreward.rewards.base.by_halves import by_halves, time_for_more
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files.http_client import legible
from spanreward.rewards.judges.question import Question, question_keys
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.rows.pictures import PictureError, judges_picture

T = TypeVar("T")
log = logging.getLogger(__name__)
RATING_SCALE = ("1", "2", "3", "4", "5")
# of all tokens or entries together, with room for rounding; more is no distribution
LARGEST_MASS = 1.01
# what is said of a judge without eyes, of a question or of a whole plan
UNSEEING = (
    "the judge {judge!r} reads text only, and the metric shows it pictures: take one that sees, "
    "such as vllm:, transformers:, server: or chat: with a vision-language model"
)
IN_WORDS = "evidence='context' with a text that says what the picture shows"
HARMLESS_QUESTION = Question([{"role": "user", "content": "Answer with this one digit: 3"}])


@dataclass(frozen=True, slots=True)
class Rating:
    """A distribution over the scale's entries.

    Attributes:
        probabilities: by entry of the scale, renormalised to sum to 1.
        mass: the probability on the scale before renormalising, in [0, 1].
        cut: how many characters at the end of the question's description were cut because they did
            not fit.
        samples: 0 for a distribution from log-probabilities. Above 0, so many written answers were
            read, and 1 is no distribution.
    """

    probabilities: Mapping[str, float]
    mass: float = 1.0
    cut: int = 0
    samples: int = 0

    @property
    def mean(self) -> float:
        """Expectation of the scale's value, in the scale's units (HarmonicEval eq. 1; PoSh section
        5).
        """
        shares = self.probabilities.items()
        return sum(float(entry) * probability for entry, probability in shares)


def rating_of(level: float, scale: Sequence[str]) -> Rating:
    """Returns the distribution with mean `level` on one entry of the scale, or on two
    neighbours.

    3.25 on RATING_SCALE gives .75 on "3" and .25 on "4". level: within the scale, whose entries
    are whole numbers one apart.
    """
    probabilities: dict[str, float] = {}
    for entry in scale:
        distance = abs(float(entry) - level)
        probabilities[entry] = max(0.0, 1 - distance)
    return Rating(probabilities)


@dataclass(frozen=True, slots=True)
class Failure:
    """Stands where an answer is missing.

    Attributes:
        status: UNPARSED, TIMEOUT or ERROR.
        message: says why, in a clause.
    """

    status: Status
    message: str


def sound(answers: Sequence[T | Failure]) -> list[T | Failure]:
    """Returns a judge's answers.

    A Rating without probability, or of NaN, is a Failure (UNPARSED).
    """
    unrated = Failure(Status.UNPARSED, "the judge's rating has no probability on any entry")
    checked: list[T | Failure] = []
    for answer in answers:
        # "not > 0" and not "<= 0": a sum of NaN is neither
        is_empty = isinstance(answer, Rating) and not sum(answer.probabilities.values()) > 0
        checked.append(unrated if is_empty else answer)
    return checked


def count_unparsed(usage: Usage, ratings: Iterable[Rating | Failure]) -> None:
    """Adds to `usage.unparsed` how many of the ratings are UNPARSED."""
    for rating in ratings:
        if isinstance(rating, Failure) and rating.status is Status.UNPARSED:
            usage.unparsed += 1


def answered(
    ask: Callable[..., Sequence[T | Failure]],
    questions: Sequence[Question | Failure],
    *arguments: Any,
) -> list[T | Failure]:
    """Returns the answers to the questions, in order, with each Failure in its place.

    answered(judge.rate, questions, scale)

    ask: gets only the questions that are no Failure, maybe none, and then `arguments`.
    """
    answerable = [question for question in questions if isinstance(question, Question)]
    answers = iter(ask(answerable, *arguments))
    in_order: list[T | Failure] = []
    for question in questions:
        if isinstance(question, Failure):
            in_order.append(question)
        else:
            in_order.append(next(answers))
    return in_order


class Judge(ABC):
    """Base class of all judges.

    A judge of your own defines `name`, `rate_each` and `write_each`, which get questions that all
    differ. The defaults of the rest suit a judge that has nothing to start, never sleeps, and
    answers in this process without a time limit. A pickle has neither counts nor open `with`.

    A judge may also define `rate` and `write` themselves, and then counts its questions itself.
    They too get only questions that differ, and their ratings are checked (`__init_subclass__`).

    Attributes:
        remote: True if the judge answers outside this process and never sleeps. A trainer may ask
            it and its rewards in a thread, but in one at a time.
        reads_source: True if a PresenceProbe must say which text, and which of its words, the
            question is made from.
        sees_pictures: False if the judge reads text only. A question with pictures is then a
            Failure, which costs that question and no other.
        deadline: the most seconds that the judge takes within the outermost `with judge:`; None is
            no limit.
    """

    remote: bool = False
    sees_pictures: bool = True
    reads_source: bool = False
    deadline: float | None = None
    _depth = 0  # how many `with` of this judge are open
    # Whether it may get a SharedPrompt. A judge of a user's own gets the messages as a list, which
    # it may write as JSON or give to a client.
    _takes_shared = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Lets a judge that defines `rate` or `write` itself get each question once, too.

        Otherwise a judge that people pay for would be asked the same for each completion of a
        group, and a rating of NaN would reach a score.
        """
        super().__init_subclass__(**options)
        if "rate" in cls.__dict__:
            cls.rate = _rate_distinct(cls.__dict__["rate"])  # type: ignore[method-assign]
        if "write" in cls.__dict__:
            cls.write = _write_distinct(cls.__dict__["write"])  # type: ignore[method-assign]

    def __repr__(self) -> str:  # unlike `name` it reads no file and asks no server
        kind = type(self).__name__.removesuffix("Judge").lower()
        # __dict__, because a model that is a property may ask the server
        words = self.__dict__.get("model", "").split()
        return ":".join([kind, *map(str, words)])

    @property
    @abstractmethod
    def name(self) -> str:
        """Model and settings. Judges with equal names give equal answers."""

    def reads_text_only(self) -> bool:
        """Returns whether the judge is known to see no pictures. Nothing is downloaded for it, so a
        model whose files are not here yet is not known.
        """
        return not self.sees_pictures

    def rate(
        self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE
    ) -> list[Rating | Failure]:
        """Returns one distribution over the scale for each question, in order, or a Failure that
        says why not.

        Equal questions are asked once. A rating without probability is UNPARSED.
        """
        self._count_questions(len(questions))
        ask = partial(self.rate_each, scale=scale)
        return sound(_distinctly(self, questions, ask))

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns one text of at most max_tokens tokens for each question, in order, or a Failure.

        Equal questions are asked once.
        """
        self._count_questions(len(questions))
        ask = partial(self.write_each, max_tokens=max_tokens)
        return _distinctly(self, questions, ask)

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> Sequence[Rating | Failure]:
        """Answers `rate` for questions that all differ, at least one."""
        raise NotImplementedError(f"the judge {self!r} cannot rate: define rate_each.")

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> Sequence[str | Failure]:
        """Answers `write` for questions that all differ, at least one."""
        raise NotImplementedError(f"the judge {self!r} cannot write: define write_each.")

    @cached_property
    def usage(self) -> Usage:
        """Counters of what the judge has done since it was made. `rate` and `write` count the
        questions, and the judge itself the rest.
        """
        return Usage()

    def _count_questions(self, questions: int) -> None:
        """Counts the questions of a call, with repeated ones."""
        self.usage.questions += questions

    def start(self) -> None:  # noqa: B027  # most judges have nothing to start
        """Loads or starts what the judge needs; best called before the trainer is built.

        Raises if that fails.
        """

    def close(self) -> None:  # noqa: B027
        """Ends what `start` started. The next use starts it again."""

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        # both are made anew: `usage` at its first use, `_depth` by the class's 0
        state.pop("usage", None)
        state.pop("_depth", None)
        return state

    def __enter__(self) -> Self:
        if self._depth == 0:
            with self.usage.clock("wake_seconds"):
                self._wake()
        self._depth += 1  # not before: after an error of `_wake` no `with` is open
        return self

    def __exit__(self, *error: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            with self.usage.clock("sleep_seconds"):
                self._sleep()

    def _wake(self) -> None:  # noqa: B027
        """Called at the beginning of the outermost `with judge:`."""

    def _sleep(self) -> None:  # noqa: B027
        """Called at the end of the outermost `with judge:`."""


def _distinctly(
    judge: Judge,
    questions: Sequence[Question],
    ask: Callable[[Sequence[Question]], Sequence[Any]],
) -> list[Any]:
    """Returns an answer per question, in order. `ask` gets those that differ and that the judge can
    see, and is not called without a question.
    """
    keys = question_keys(questions)
    distinct = dict(zip(keys, questions, strict=True))
    by_key: dict[str, Any] = {}
    # A judge that reads text only fails at each question with a picture. `pictured` stands first:
    # what a judge sees may have to be read from its model's files.
    pictured = [key for key, question in distinct.items() if question.images]
    if pictured and not judge.sees_pictures:
        unseen = Failure(Status.ERROR, f"{UNSEEING.format(judge=judge)}, or {IN_WORDS}.")
        by_key = dict.fromkeys(pictured, unseen)
    # The others get their pictures as all judges see them. One that cannot be seen fails here.
    keys_left = [key for key in distinct if key not in by_key]
    questions_left = [distinct[key] for key in keys_left]
    askable: dict[str, Question] = {}
    for key, question in zip(keys_left, _with_pictures(questions_left), strict=True):
        if isinstance(question, Failure):
            by_key[key] = question
        elif judge._takes_shared:
            askable[key] = question
        else:
            askable[key] = _with_a_list(question)
    if askable:
        answers = _answers(list(askable.values()), ask)
        by_key |= zip(askable, answers, strict=True)
    return [by_key[key] for key in keys]


def _with_a_list(question: Question) -> Question:
    """Returns the question with its messages as a list."""
    if isinstance(question.messages, list):
        return question
    return replace(question, messages=list(question.messages))


def _answers(
    questions: Sequence[Question],
    ask: Callable[[Sequence[Question]], Sequence[Any]],
) -> Sequence[Any]:
    """Returns an answer per question. Where a judge raises for several, it is asked by halves, and
    a question for which it raises alone is a Failure.

    A judge that also raises for HARMLESS_QUESTION, which no row wrote, is down or asked wrongly.
    Then no question is to blame, and the error is raised.
    """
    start = time.monotonic()
    try:
        return ask(questions)
    except Exception:
        # nothing is left to halve, or the judge itself is at fault
        if len(questions) == 1 or _raises_for(HARMLESS_QUESTION, ask):
            raise
        log.exception("a judge raised for %d questions, and is asked by halves", len(questions))
    return by_halves(questions, ask, _unanswered, time_for_more(start))


def _raises_for(question: Question, ask: Callable[[Sequence[Question]], Sequence[Any]]) -> bool:
    """Returns whether the judge raises for this question alone."""
    try:
        ask([question])
    except Exception:
        return True
    return False


def _unanswered(error: Exception) -> Failure:
    """Returns the answer to a question for which the judge raised this error."""
    return Failure(Status.ERROR, legible(f"{type(error).__name__}: {error}"))


def _with_pictures(questions: Sequence[Question]) -> list[Question | Failure]:
    """Returns the questions with their pictures as every judge sees them (`judges_picture`), or why
    one cannot be seen. A picture of several questions is converted once.
    """
    converted: dict[int, Image.Image | Failure] = {}  # by the id of the question's own image
    ready: list[Question | Failure] = []
    for question in questions:
        images: list[Any] = []
        failure = None  # of the question's first picture that cannot be seen
        has_new_image = False
        for image in question.images:
            picture = image  # what is no image is the judge's to refuse
            if isinstance(image, Image.Image):
                if id(image) not in converted:
                    converted[id(image)] = _converted_picture(image)
                picture = converted[id(image)]
            if failure is None and isinstance(picture, Failure):
                failure = picture
            if picture is not image:
                has_new_image = True
            images.append(picture)
        if failure is not None:
            ready.append(failure)
        elif has_new_image:
            ready.append(replace(question, images=tuple(images)))
        else:
            ready.append(question)  # the same object, whose key has been computed
    return ready


def _converted_picture(image: Image.Image) -> Image.Image | Failure:
    """Returns the picture as every judge sees it, or why it cannot be seen."""
    try:
        return judges_picture(image)
    except PictureError as error:
        return Failure(Status.ERROR, str(error))


def _rate_distinct(rate: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a judge's own `rate`, which gets questions that differ, and whose ratings are
    checked.
    """

    @wraps(rate)
    def rate_distinct(
        self: Judge, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE
    ) -> list[Rating | Failure]:
        def rate_these(distinct: Sequence[Question]) -> Sequence[Rating | Failure]:
            return rate(self, distinct, scale)

        return sound(_distinctly(self, questions, rate_these))

    return rate_distinct


def _write_distinct(write: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a judge's own `write`, which gets questions that differ."""

    @wraps(write)
    def write_distinct(
        self: Judge, questions: Sequence[Question], max_tokens: int
    ) -> list[str | Failure]:
        def write_these(distinct: Sequence[Question]) -> Sequence[str | Failure]:
            return write(self, distinct, max_tokens)

        return _distinctly(self, questions, write_these)

    return write_distinct


@contextmanager
def closing(judges: Iterable[Judge]) -> Iterator[None]:
    """Closes all judges at the end of the `with`, also after an exception."""
    with ExitStack() as ends:
        for judge in judges:
            ends.callback(judge.close)
        yield


def heard(count: int, ask: Callable[[], Sequence[T | Failure]]) -> list[T | Failure]:
    """Returns `count` answers of one judge of several, or as many Failures if it raises: the
    others' answers stay.
    """
    if not count:
        return []
    try:
        numbered = zip(range(count), ask(), strict=True)  # raises for another number of answers
        return sound([answer for _, answer in numbered])
    except Exception as error:  # a judge of a user's own may raise anything
        log.exception("one judge of several raised")
        return [Failure(Status.ERROR, f"{type(error).__name__}: {error}")] * count


class OuterJudge(Judge):
    """A judge that asks these judges, and is as strict as the strictest of them.

    A `with` wakes all of them.

    Attributes:
        questions: how many it was asked, with repeated ones.
    """

    def __init__(self, *judges: Judge) -> None:
        self.judges = judges
        self.questions = 0
        # They are asked one after another, so their times add up.
        limits = [judge.deadline for judge in judges if judge.deadline]
        self.deadline = sum(limits) if limits else None
        self.reads_source = any(judge.reads_source for judge in judges)
        self.remote = all(judge.remote for judge in judges)
        self._entered: list[ExitStack] = []  # one for each `with`

    def __repr__(self) -> str:
        return f"{super().__repr__()}({', '.join(map(repr, self.judges))})"

    @property
    def sees_pictures(self) -> bool:  # type: ignore[override]  # a local judge reads its files first
        """Whether all of them see."""
        return all(judge.sees_pictures for judge in self.judges)

    def reads_text_only(self) -> bool:
        """Returns whether one of them is known to see no pictures."""
        return any(judge.reads_text_only() for judge in self.judges)

    @property
    def judge(self) -> Judge:
        """The first of them."""
        return self.judges[0]

    @property
    def name(self) -> str:
        return ", ".join(judge.name for judge in self.judges)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "questions": 0}

    def _count_questions(self, questions: int) -> None:
        self.questions += questions

    def start(self) -> None:
        for judge in self.judges:
            judge.start()

    def close(self) -> None:
        with closing(self.judges):  # each is closed, also after one that raises
            pass

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for judge in self.judges:
                stack.enter_context(judge)
            # All are awake, and stay so. If one had raised, `stack` would have let the others
            # sleep again.
            self._entered.append(stack.pop_all())
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)
