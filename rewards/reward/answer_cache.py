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
        # known answers by the hashes of their questions, the least recently used first
        self._remembered: OrderedDict[str, Any] = OrderedDict()
        self._since_begin: dict[str, Any] = {}  # answers that become known with the next `begin`

    def begin(self) -> None:
        """Makes all earlier answers known, so that `complete` does not ask their questions again.

        An answer that comes after this call stays unknown until the next call of `begin`. Also
        drops the least recently used answers of a full cache.
        """
        self._remembered.update(self._since_begin)
        self._since_begin = {}
        while len(self._remembered) > MAX_REMEMBERED_ANSWERS:
            self._remembered.popitem(last=False)

    def complete(
        self, questions: Sequence[Question], ask: Callable[[list[Question]], Sequence[T | Failure]]
    ) -> list[T | Failure]:
        """Returns an answer per question, in order. Of three questions of which the first is known,
        `ask` gets the last two.

        ask: gets the questions without a known answer, and returns their answers in order. The
        answers become known with the next `begin`.
        """
        keys = question_keys(questions)  # a hash of each question
        # ask the unknown questions
        unknown = []
        for key, question in zip(keys, questions, strict=True):
            if key not in self._remembered:
                unknown.append(question)
        answers_to_unknown: Iterator[T | Failure] = iter(())
        if unknown:
            answers_to_unknown = iter(ask(unknown))
        # put the known answers and the new answers into the order of the questions
        answers: list[T | Failure] = []
        for key in keys:
            if key in self._remembered:
                self._remembered.move_to_end(key)  # is now the most recently used answer
                answers.append(self._remembered[key])
            else:
                answer = next(answers_to_unknown)
                answers.append(answer)
                if not isinstance(answer, Failure):  # a failed question is asked again
                    self._since_begin[key] = answer
        return answers
