"""What a judge has done since it was made, as counters that only grow: a step's share is a difference.

before = copy(judge.usage)
judge.rate(questions)
judge.usage.since(before).prompt_tokens
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Self


@dataclass(slots=True)
class Usage:
    """Counts. Equal questions of one call are answered once, and their tokens, retries and timeouts counted once.

    questions: put to the judge. cached: those of them that were answered without the model. prompt_tokens,
    generated_tokens: of the model. cached_tokens: those of the prompt tokens that were not computed anew (of a server:
    that it tells of). retries: attempts beyond a question's first. timeouts: questions without an answer at the
    deadline. unparsed: answers that are no rating. seconds: in calls, waking and sleeping not counted. wake_seconds,
    sleep_seconds: what those took. peak_memory_bytes: the most that the judge's process held of its device so far, a
    maximum and no sum; 0 where that is not known.
    """

    questions: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    retries: int = 0
    timeouts: int = 0
    unparsed: int = 0
    seconds: float = 0.0
    wake_seconds: float = 0.0
    sleep_seconds: float = 0.0
    peak_memory_bytes: int = 0

    def since(self, before: Self) -> Self:
        """What came after `before`; the peak is the whole one."""
        differences = {field.name: getattr(self, field.name) - getattr(before, field.name) for field in fields(self)}
        return type(self)(**{**differences, "peak_memory_bytes": self.peak_memory_bytes})

    def plus(self, other: Self) -> Self:
        """Both together; the peak is the higher one."""
        sums = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        return type(self)(**{**sums, "peak_memory_bytes": max(self.peak_memory_bytes, other.peak_memory_bytes)})

    @contextmanager
    def clock(self, counter: str) -> Iterator[None]:
        """Add the time of the `with` block to `seconds`, `wake_seconds` or `sleep_seconds`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, counter, getattr(self, counter) + time.perf_counter() - start)
