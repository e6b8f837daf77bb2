"""A cache of the judge's answers in memory, between the calls of one reward.

    cache = AnswerCache()
    cache.begin()
    cache.complete(questions, partial(judge.write, max_tokens=20))   # asks only the new questions

It keeps keys of the questions. `CachedJudge` keeps answers on disk, for other processes and later
runs.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from spanreward.rewards.judges.judge import Failure, Question
from spanreward.rewards.judges.question import question_keys

T = TypeVar("T")
REMEMBERED = 65_536  # answers, about 20 MB


class Rated(NamedTuple):
    """The value of a Rating, and how many characters the judge did not read."""

    value: float
    cut: int


class AnswerCache:
    """Cache of one judge's answers.

    It forgets the least recently used ones and keeps no Failure.
    """

    def __init__(self) -> None:
        # answers by the keys of their questions, the least recently used first
        self._remembered: OrderedDict[str, Any] = OrderedDict()
        self._new: dict[str, Any] = {}  # since `begin`

    def begin(self) -> None:
        """Makes the answers since the last `begin` known, and forgets the least recently used."""
        self._remembered.update(self._new)
        self._new = {}
        while len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)

    def complete(
        self, questions: Sequence[Question], ask: Callable[[list[Question]], Sequence[T | Failure]]
    ) -> list[T | Failure]:
        """Returns an answer per question, in order. `ask` gets those without a known answer."""
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
            if not isinstance(answer, Failure):  # which is asked about again
                self._new[key] = answer
        return answers
