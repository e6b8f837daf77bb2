"""The judge's earlier answers, so that no question is asked twice: within a batch, over its parts, over calls.

    memo = Memo()
    memo.begin()
    memo.complete(questions, lambda new: judge.write(new, max_tokens=20))     # asks what is not known yet

In memory only, as digests and values; over processes and runs that is what `CachedJudge` is for.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

from rewards.judges.judge import Failure, Question

T = TypeVar("T")
REMEMBERED = 65_536  # answers, about 20 MB


class Memo:
    """Bounded: the least recently used are forgotten. A Failure is not kept. One Memo is for one judge."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Any] = OrderedDict()
        self._fresh: dict[bytes, Any] = {}  # since `begin`

    def begin(self) -> None:
        """A new batch: what the last one asked is now known from before."""
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
        """An answer per question, in order. `ask` gets the unknown ones: each once in a batch, or with its repeats.

        A question is always answered with the same type.
        """
        keys = [digest(question) for question in questions]
        known: dict[bytes, Any] = {key: self._kept[key] for key in keys if key in self._kept}
        if not repeats:
            known |= {key: self._fresh[key] for key in keys if key in self._fresh}
        first: dict[bytes, int] = {}
        for number, key in enumerate(keys):
            first.setdefault(key, number)
        asked = [n for n, key in enumerate(keys) if key not in known and (repeats or first[key] == n)]
        found = dict(zip(asked, ask([questions[n] for n in asked]), strict=True)) if asked else {}
        for number, answer in found.items():
            if not isinstance(answer, Failure):
                self._fresh[keys[number]] = answer
        for key in known.keys() & self._kept.keys():
            self._kept.move_to_end(key)
        return [known[key] if key in known else found.get(n, found[first[key]]) for n, key in enumerate(keys)]


def digest(question: Question) -> bytes:
    """16 bytes that stand for what is asked: the messages, what of them may be cut, the probe, how it is read."""
    asked = f"{question.messages}\0{question.description}\0{question.probe}\0{question.top}"
    return blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=16).digest()
