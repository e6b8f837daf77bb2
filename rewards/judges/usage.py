"""Counters of a judge's work. They only grow, so a step's share is a difference.

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
    """Counts since the judge was made. Equal questions of one call are asked once; their tokens,
    retries and timeouts count once.

    Attributes:
        questions: questions to the judge, with repeated ones.
        cached: questions answered without the model.
        prompt_tokens, generated_tokens: of the model.
        cached_tokens: prompt tokens that a prefix cache saved; of a server, if it reports them.
        retries: attempts after a question's first.
        timeouts: questions without an answer at the deadline.
        unparsed: answers that are not a rating.
        written: ratings read from written answers, where a server gives no log-probabilities.
        seconds: time in calls, without waking and sleeping.
        cpu_seconds: what this process computed meanwhile, in all threads: encoding, sending and
            reading, and the parse of the next completions.
        encode_seconds: the part of `seconds` in which the model had nothing to answer, because its
            prompts were being encoded.
        wake_seconds, sleep_seconds: time in which the judge woke and fell asleep.
        peak_memory_bytes: the most device memory that the judge's process has held, a maximum and
            not a sum; 0 if unknown.
        student, teacher: answers by each judge of a cascade.
        audited, agreed: questions of its audits, and agreement there.
        audits_failed: questions of its audits that the teacher failed on.
    """

    questions: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    retries: int = 0
    timeouts: int = 0
    unparsed: int = 0
    written: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    encode_seconds: float = 0.0
    wake_seconds: float = 0.0
    sleep_seconds: float = 0.0
    peak_memory_bytes: int = 0
    student: int = 0
    teacher: int = 0
    audited: int = 0
    agreed: int = 0
    audits_failed: int = 0

    def since(self, before: Self) -> Self:
        """Returns the difference to `before`. The peak is that of the whole time."""
        differences = {}
        for field in fields(self):
            now = getattr(self, field.name)
            differences[field.name] = now - getattr(before, field.name)
        # a maximum has no difference
        differences["peak_memory_bytes"] = self.peak_memory_bytes
        return type(self)(**differences)

    def plus(self, other: Self) -> Self:
        """Returns the sum of both. The peak is the higher one."""
        sums = {}
        for field in fields(self):
            value = getattr(self, field.name)
            sums[field.name] = value + getattr(other, field.name)
        sums["peak_memory_bytes"] = max(self.peak_memory_bytes, other.peak_memory_bytes)
        return type(self)(**sums)

    @contextmanager
    def clock(self, counter: str) -> Iterator[None]:
        """Adds the time of the `with` block to a counter of seconds, also where the block raises.

        counter: the attribute's name. With `seconds` it also counts `cpu_seconds`.
        """
        start = time.perf_counter()
        cpu_start = time.process_time()
        try:
            yield
        finally:
            if counter == "seconds":
                self.cpu_seconds += time.process_time() - cpu_start
            elapsed = time.perf_counter() - start
            # read now and not before: the block may have counted here too
            setattr(self, counter, getattr(self, counter) + elapsed)
