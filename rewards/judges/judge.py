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
from operator import is_
from typing import Any, Self, TypeVar

from PIL import Image

from spanreward.rewards.base.by_halves import by_halves, time_for_more
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files.http_client import safe_line
from spanreward.rewards.judges.question import Question, question_keys
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.rows.pictures import PictureError, judges_picture

T = TypeVar("T")
log = logging.getLogger(__name__)
RATING_SCALE = ("1", "2", "3", "4", "5")
# The largest sum of probabilities that still counts as a distribution; .01 is for rounding.
LARGEST_MASS = 1.01
# The beginning of the error for a judge that reads text only and is to be shown pictures.
# `_answers_to_distinct` uses it for single questions, and reward/viewers.py for a whole reward
# before a run.
UNSEEING_MESSAGE = (
    "the judge {judge!r} reads text only, and the metric shows it pictures: take one that sees, "
    "such as vllm:, transformers:, server: or chat: with a vision-language model"
)
IN_WORDS = "evidence='context' with a text that says what the picture shows"
# Asked after an error, to see whether the judge raises for every question (`_answers_or_halves`).
HARMLESS_QUESTION = Question([{"role": "user", "content": "Answer with this one digit: 3"}])


@dataclass(frozen=True, slots=True)
class Rating:
    """A distribution over the scale's entries.

    Attributes:
        probabilities: by entry of the scale, renormalised to sum to 1.
        mass: the probability on the scale before renormalising, in [0, 1].
        cut: how many characters were cut from the end of the question's description, because the
            question was too long for the judge.
        samples: 0 if the distribution was read from log-probabilities. N above 0 if it was read
            from N written answers. A rating from 1 answer does not show how sure the judge is.
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
    """Returns the distribution with mean `level`, on one entry of the scale or on two neighbours.

    3.25 on RATING_SCALE gives .75 on "3" and .25 on "4". level: a number within the scale. The
    entries of the scale must be whole numbers one apart.
    """
    probabilities: dict[str, float] = {}
    for entry in scale:
        distance = abs(float(entry) - level)
        probabilities[entry] = max(0.0, 1 - distance)
    return Rating(probabilities)


@dataclass(frozen=True, slots=True)
class Failure:
    """The result of a question that the judge did not answer.

    Attributes:
        status: UNPARSED, TIMEOUT or ERROR.
        message: the reason, as a clause: "the judge wrote no rating from 1 to 5: 'a dog'".
    """

    status: Status
    message: str


def check_ratings(answers: Sequence[T | Failure]) -> list[T | Failure]:
    """Returns the answers, with a Failure (UNPARSED) in place of each Rating whose probabilities
    are all 0 or NaN.
    """
    unrated = Failure(Status.UNPARSED, "the judge's rating has no probability on any entry")
    checked: list[T | Failure] = []
    for answer in answers:
        # "not > 0" and not "<= 0": a sum of NaN is neither
        is_empty = isinstance(answer, Rating) and not sum(answer.probabilities.values()) > 0
        checked.append(unrated if is_empty else answer)
    return checked


def count_unparsed(usage: Usage, ratings: Iterable[Rating | Failure]) -> None:
    """Adds to `usage.unparsed` the number of ratings that are Failures with the status UNPARSED."""
    for rating in ratings:
        if isinstance(rating, Failure) and rating.status is Status.UNPARSED:
            usage.unparsed += 1


def answer_questions(
    ask: Callable[..., Sequence[T | Failure]],
    questions: Sequence[Question | Failure],
    *arguments: Any,
) -> list[T | Failure]:
    """Returns the answers to the questions, in order. A Failure among the questions is returned in
    its place.

        answer_questions(judge.rate, questions, scale)

    ask: called once as `ask(questions, *arguments)`, with only the questions that are no Failure.
    `ask` is called even if no question is left.
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

    A judge of your own defines `name`, `rate_each` and `write_each`. The defaults of the other
    methods suit a judge that has nothing to start, never sleeps, and answers in this process
    without a time limit. A pickled judge keeps neither its counts nor its open `with` blocks.

    A judge may define `rate` and `write` instead of `rate_each` and `write_each`. Then it counts
    its questions itself. All four methods get only questions that differ. Ratings without
    probability become Failures (`__init_subclass__`).

    Attributes:
        remote: True if the judge answers outside this process and never sleeps. A trainer may then
            run the judge's rewards in a background thread, but never in two threads at once.
        reads_source: True if the judge needs the fields `source` and `places` of a PresenceProbe:
            the text that the question was made from, and the words in that text that are asked
            about.
        sees_pictures: False if the judge reads text only. Each question with pictures is then
            answered with a Failure, and the other questions are asked.
        deadline: the most seconds that the judge takes within the outermost `with judge:`; None is
            no limit.
    """

    remote: bool = False
    sees_pictures: bool = True
    reads_source: bool = False
    deadline: float | None = None
    _depth = 0  # how many `with` of this judge are open
    # Whether a question's messages may be a SharedPrompt. By default the messages are a list,
    # because a judge of a user's own may write them as JSON or give them to a client.
    _takes_shared = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Wraps the `rate` and `write` that a subclass defines: they get equal questions once, and
        their ratings are checked.

        Otherwise a judge that costs money would be asked the same question for each completion of a
        group. And a rating of NaN would reach a score.
        """
        super().__init_subclass__(**options)
        if "rate" in cls.__dict__:
            cls.rate = _rate_distinct(cls.__dict__["rate"])  # type: ignore[method-assign]
        if "write" in cls.__dict__:
            cls.write = _write_distinct(cls.__dict__["write"])  # type: ignore[method-assign]

    def __repr__(self) -> str:  # reads no file and asks no server, unlike `name`
        kind = type(self).__name__.removesuffix("Judge").lower()
        # read from __dict__, because a subclass may define `model` as a property that asks the
        # server
        words = self.__dict__.get("model", "").split()
        return ":".join([kind, *map(str, words)])

    @property
    @abstractmethod
    def name(self) -> str:
        """The model and the settings that decide the answers. Judges with equal names give equal
        answers.
        """

    def reads_text_only(self) -> bool:
        """Returns whether the judge is known to see no pictures. The check downloads nothing: for a
        model whose files are not on this machine it returns False.
        """
        return not self.sees_pictures

    def rate(
        self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE
    ) -> list[Rating | Failure]:
        """Returns one distribution over the scale for each question, in order. A question that the
        judge cannot rate has a Failure with the reason.

        Equal questions are asked once. A rating without probability is a Failure with the status
        UNPARSED.
        """
        self._count_questions(len(questions))
        ask = partial(self.rate_each, scale=scale)
        return check_ratings(_answers_to_distinct(self, questions, ask))

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns one text of at most max_tokens tokens for each question, in order, or a Failure
        with the reason.

        Equal questions are asked once.
        """
        self._count_questions(len(questions))
        ask = partial(self.write_each, max_tokens=max_tokens)
        return _answers_to_distinct(self, questions, ask)

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> Sequence[Rating | Failure]:
        """Returns what `rate` returns. The questions all differ, and there is at least one
        question.
        """
        raise NotImplementedError(f"the judge {self!r} cannot rate: define rate_each.")

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> Sequence[str | Failure]:
        """Returns what `write` returns. The questions all differ, and there is at least one
        question.
        """
        raise NotImplementedError(f"the judge {self!r} cannot write: define write_each.")

    @cached_property
    def usage(self) -> Usage:
        """Counters of the judge's work since the judge was made. `rate` and `write` count the
        questions; the judge's own methods count everything else, such as tokens.
        """
        return Usage()

    def _count_questions(self, questions: int) -> None:
        """Adds to the usage the number of questions of a call; equal questions all count."""
        self.usage.questions += questions

    def start(self) -> None:  # noqa: B027  # most judges have nothing to start
        """Loads or starts what the judge needs, and raises if that fails. Best called before the
        trainer is built.
        """

    def close(self) -> None:  # noqa: B027
        """Ends what `start` started. The next use starts it again."""

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        # In the copy, `usage` is made anew at its first use, and `_depth` is the class's 0.
        state.pop("usage", None)
        state.pop("_depth", None)
        return state

    def __enter__(self) -> Self:
        if self._depth == 0:
            with self.usage.clock("wake_seconds"):
                self._wake()
        self._depth += 1  # counted after `_wake`: if `_wake` raises, no `with` is open
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


def _answers_to_distinct(
    judge: Judge,
    questions: Sequence[Question],
    ask: Callable[[Sequence[Question]], Sequence[Any]],
) -> list[Any]:
    """Returns an answer per question, in order. Equal questions share one answer.

    A question with pictures that the judge cannot see is answered with a Failure. ask: called with
    each of the remaining questions once. `ask` is not called if no question remains.
    """
    keys = question_keys(questions)
    distinct = dict(zip(keys, questions, strict=True))
    by_key: dict[str, Any] = dict(_unseen_pictures(judge, distinct))
    # The pictures of the other questions are converted. A question whose picture cannot be decoded
    # fails here.
    keys_left = [key for key in distinct if key not in by_key]
    questions_left = [distinct[key] for key in keys_left]
    askable: dict[str, Question] = {}
    for key, question in zip(keys_left, _with_seen_pictures(questions_left), strict=True):
        if isinstance(question, Failure):
            by_key[key] = question
        elif judge._takes_shared:  # the judge can read messages that are a SharedPrompt
            askable[key] = question
        else:
            askable[key] = _with_list_of_messages(question)
    if askable:
        answers = _answers_or_halves(list(askable.values()), ask)
        by_key |= zip(askable, answers, strict=True)
    return [by_key[key] for key in keys]


def _unseen_pictures(judge: Judge, questions: Mapping[str, Question]) -> dict[str, Failure]:
    """Returns a Failure for each question with a picture, by the question's key, if the judge reads
    text only. Returns {} if the judge sees pictures.

    `sees_pictures` is read only if a question has a picture, because a local judge must read its
    model's files to know it.
    """
    pictured = [key for key, question in questions.items() if question.images]
    if not pictured or judge.sees_pictures:
        return {}
    unseen = Failure(Status.ERROR, f"{UNSEEING_MESSAGE.format(judge=judge)}, or {IN_WORDS}.")
    return dict.fromkeys(pictured, unseen)


def _with_list_of_messages(question: Question) -> Question:
    """Returns the question with its messages as a list: a SharedPrompt becomes a list."""
    if isinstance(question.messages, list):
        return question
    return replace(question, messages=list(question.messages))


def _answers_or_halves(
    questions: Sequence[Question],
    ask: Callable[[Sequence[Question]], Sequence[Any]],
) -> Sequence[Any]:
    """Returns an answer per question.

    If the judge raises for several questions, they are asked again in halves, until each question
    that raises is found. A question that raises even alone is answered with a Failure.

    The error is raised instead if there is only one question, or if the judge also raises for
    HARMLESS_QUESTION. The text of that question comes from no row, so the judge is down or was
    called wrongly, and no question is to blame.
    """
    start = time.monotonic()
    try:
        return ask(questions)
    except Exception:
        # A single question cannot be halved, and an error for HARMLESS_QUESTION is the judge's own.
        if len(questions) == 1 or _raises_for(HARMLESS_QUESTION, ask):
            raise
        log.exception("a judge raised for %d questions, and is asked by halves", len(questions))
    return by_halves(questions, ask, _failure_of_error, time_for_more(start))


def _raises_for(question: Question, ask: Callable[[Sequence[Question]], Sequence[Any]]) -> bool:
    """Returns whether the judge raises when it is asked only this question."""
    try:
        ask([question])
    except Exception:
        return True
    return False


def _failure_of_error(error: Exception) -> Failure:
    """Returns the Failure of a question for which the judge raised this error."""
    return Failure(Status.ERROR, safe_line(f"{type(error).__name__}: {error}"))


def _with_seen_pictures(questions: Sequence[Question]) -> list[Question | Failure]:
    """Returns the questions with their pictures as every judge sees them (`judges_picture`), in
    order.

    A question with a picture that cannot be decoded becomes a Failure. A picture that several
    questions share is converted once.
    """
    converted: dict[int, Image.Image | Failure] = {}  # by the id of the question's own image
    seen_questions: list[Question | Failure] = []
    for question in questions:
        pictures = [_seen_picture(image, converted) for image in question.images]
        failures = [picture for picture in pictures if isinstance(picture, Failure)]
        unchanged = all(map(is_, pictures, question.images))
        if failures:
            seen_questions.append(failures[0])
        elif unchanged:
            seen_questions.append(question)  # the same object, whose key has been computed
        else:
            seen_questions.append(replace(question, images=tuple(pictures)))
    return seen_questions


def _seen_picture(image: Any, converted: dict[int, Image.Image | Failure]) -> Any:
    """Returns a question's picture as every judge sees it, or a Failure if it cannot be decoded. An
    object that is no PIL image is returned as it is, and the judge refuses it.

    converted: the pictures that were converted before, by the id of the image. The new picture is
    added.
    """
    if not isinstance(image, Image.Image):
        return image
    if id(image) not in converted:
        converted[id(image)] = _converted_picture(image)
    return converted[id(image)]


def _converted_picture(image: Image.Image) -> Image.Image | Failure:
    """Returns the picture as every judge sees it, or a Failure if it cannot be decoded."""
    try:
        return judges_picture(image)
    except PictureError as error:
        return Failure(Status.ERROR, str(error))


def _rate_distinct(rate: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a wrapper of a judge's own `rate`. The wrapper gives `rate` each question once, and
    checks the ratings (`check_ratings`).
    """

    @wraps(rate)
    def rate_distinct(
        self: Judge, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE
    ) -> list[Rating | Failure]:
        # `rate` is the judge's own method, with the scale of this call
        def rate_these(distinct: Sequence[Question]) -> Sequence[Rating | Failure]:
            return rate(self, distinct, scale)

        return check_ratings(_answers_to_distinct(self, questions, rate_these))

    return rate_distinct


def _write_distinct(write: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a wrapper of a judge's own `write`. The wrapper gives `write` each question once."""

    @wraps(write)
    def write_distinct(
        self: Judge, questions: Sequence[Question], max_tokens: int
    ) -> list[str | Failure]:
        def write_these(distinct: Sequence[Question]) -> Sequence[str | Failure]:
            return write(self, distinct, max_tokens)

        return _answers_to_distinct(self, questions, write_these)

    return write_distinct


@contextmanager
def closing(judges: Iterable[Judge]) -> Iterator[None]:
    """Closes all of the judges at the end of the `with`, also after an exception."""
    with ExitStack() as ends:
        for judge in judges:
            ends.callback(judge.close)
        yield


def answers_or_failures(count: int, ask: Callable[[], Sequence[T | Failure]]) -> list[T | Failure]:
    """Returns the answers of one judge of a jury or a cascade, or `count` Failures if the judge
    raises. So an error of one judge does not lose the answers of the other judges.

    count: the number of questions. ask: asks the judge; called only if `count` is above 0.
    """
    if not count:
        return []
    try:
        numbered = zip(range(count), ask(), strict=True)  # raises for more or fewer answers
        return check_ratings([answer for _, answer in numbered])
    except Exception as error:  # a judge of a user's own may raise anything
        log.exception("one judge of several raised")
        return [_failure_of_error(error)] * count


class OuterJudge(Judge):
    """Base class of a judge that asks other judges, such as a jury or a cascade.

    `with` wakes all of the inner judges. The outer judge is remote, or sees pictures, only if all
    inner judges do.

    Attributes:
        judges: the inner judges, in order.
        questions: how many questions the outer judge was asked; equal questions all count.
        deadline: the sum of the inner judges' deadlines, in seconds. None if no judge has a
            deadline.
        reads_source: True if any inner judge needs the source of a question.
    """

    def __init__(self, *judges: Judge) -> None:
        self.judges = judges
        self.questions = 0
        # The inner judges are asked one after another, so their deadlines are added.
        limits = [judge.deadline for judge in judges if judge.deadline]
        self.deadline = sum(limits) if limits else None
        self.reads_source = any(judge.reads_source for judge in judges)
        self.remote = all(judge.remote for judge in judges)
        self._entered: list[ExitStack] = []  # one for each open `with`

    def __repr__(self) -> str:
        return f"{super().__repr__()}({', '.join(map(repr, self.judges))})"

    @property
    def sees_pictures(self) -> bool:  # type: ignore[override]  # a local judge reads its files
        """Whether all inner judges see pictures."""
        return all(judge.sees_pictures for judge in self.judges)

    def reads_text_only(self) -> bool:
        """Returns whether at least one inner judge is known to see no pictures."""
        return any(judge.reads_text_only() for judge in self.judges)

    @property
    def judge(self) -> Judge:
        """The first of the inner judges."""
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
        with closing(self.judges):  # closes every judge, even if closing one raises
            pass

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for judge in self.judges:
                stack.enter_context(judge)
            # All judges woke, so `pop_all` keeps them awake until `__exit__`. If a judge had
            # raised, `stack` would have put the judges before it to sleep again.
            self._entered.append(stack.pop_all())
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)
