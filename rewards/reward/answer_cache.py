"""A cache of the judge's answers in memory. No question is asked twice, neither in one batch nor in
two calls.

    cache = AnswerCache()
    cache.begin()
    cache.complete(questions, lambda new: judge.write(new, max_tokens=20))
    # asks only the new questions

It keeps digests of the questions. `CachedJudge` keeps answers on disk, for other processes and
later runs.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

from spanreward.rewards.judges.judge import Failure, Question

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
        self._kept: OrderedDict[bytes, Any] = OrderedDict()
        self._fresh: dict[bytes, Any] = {}  # since `begin`

    def begin(self) -> None:
        """Starts a new batch. The last batch's answers become known answers."""
        self._kept.update(self._fresh)
        self._fresh = {}
        while len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)

    def complete(
        self,
        questions: Sequence[Question],
        ask: Callable[[list[Question]], Sequence[T | Failure]],
        repeats: bool = False,
    ) -> list[T | Failure]:
        """Returns an answer per question, in order.

        `ask` gets the unknown ones, equal ones once unless `repeats`.
        """
        keys = [digest(question) for question in questions]
        known: dict[bytes, Any] = {key: self._kept[key] for key in keys if key in self._kept}
        if not repeats:
            known |= {key: self._fresh[key] for key in keys if key in self._fresh}
        first: dict[bytes, int] = {}
        for number, key in enumerate(keys):
            first.setdefault(key, number)
        asked = [
            n for n, key in enumerate(keys) if key not in known and (repeats or first[key] == n)
        ]
        found = dict(zip(asked, ask([questions[n] for n in asked]), strict=True)) if asked else {}
        for number, answer in found.items():
            if not isinstance(answer, Failure):
                self._fresh[keys[number]] = answer
        for key in known.keys() & self._kept.keys():
            self._kept.move_to_end(key)
        return [
            known[key] if key in known else found.get(n, found[first[key]])
            for n, key in enumerate(keys)
        ]


def digest(question: Question) -> bytes:
    """Returns a hash of 16 bytes of the question's messages, description, probe and top."""
    asked = f"{question.messages}\0{question.description}\0{question.probe}\0{question.top}"
    return blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=16).digest()
