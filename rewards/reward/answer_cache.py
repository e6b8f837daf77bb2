"""A cache of the judge's answers in memory, for all calls of one reward.

    cache = AnswerCache()
    cache.begin()
    cache.complete(questions, partial(judge.write, max_tokens=20))   # asks only the new questions

The cache holds a hash of each question, not the question. `CachedJudge` keeps answers on disk, for
other processes and later runs.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from spanreward.rewards.judges.judge import Failure, Question
from spanreward.rewards.judges.question import question_keys

T = TypeVar("T")
MAX_REMEMBERED_ANSWERS = 65_536  # answers in the cache, at most; about 20 MB


class Rated(NamedTuple):
    """An answer to a rating question.

    Attributes:
        value: the mean rating.
        cut: how many characters of the question's description the judge did not read.
    """

    value: float
    cut: int


class AnswerCache:
    """Cache of one judge's answers.

    A full cache drops the least recently used answers. A Failure is never stored, so the question
    of a Failure is asked again.
    """

    def __init__(self) -> None:
        # answers by the hashes of their questions, the least recently used first
        self._remembered: OrderedDict[str, Any] = OrderedDict()
        self._new: dict[str, Any] = {}  # answers since the last `begin`

    def begin(self) -> None:
        """Makes the answers since the last `begin` known: `complete` asks their questions no more.

        Also drops the least recently used answers of a full cache.
        """
        self._remembered.update(self._new)
        self._new = {}
        while len(self._remembered) > MAX_REMEMBERED_ANSWERS:
            self._remembered.popitem(last=False)

    def complete(
        self, questions: Sequence[Question], ask: Callable[[list[Question]], Sequence[T | Failure]]
    ) -> list[T | Failure]:
        """Returns an answer per question, in order. Of three questions of which the first is known,
        `ask` gets the last two.

        ask: gets the questions without a known answer, and returns their answers in order.
        """
        keys = question_keys(questions)
        unknown = []
        for key, question in zip(keys, questions, strict=True):
            if key not in self._remembered:
                unknown.append(question)
        new_answers: Iterator[T | Failure] = iter(())
        if unknown:
            new_answers = iter(ask(unknown))
        answers: list[T | Failure] = []
        for key in keys:
            if key in self._remembered:
                self._remembered.move_to_end(key)
                answers.append(self._remembered[key])
                continue
            answer = next(new_answers)
            answers.append(answer)
            if not isinstance(answer, Failure):  # a failed question is asked again
                self._new[key] = answer
        return answers
