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
    """Counts since the judge was made. Equal questions of one call are asked once, so their tokens,
    retries and timeouts are counted once.

    Attributes:
        questions: questions to the judge; equal questions all count.
        cached: questions answered without the model.
        prompt_tokens, generated_tokens: tokens that the model read and wrote.
        cached_tokens: prompt tokens that were found in a prefix cache. For a server: 0 if the
            server does not report them.
        retries: attempts after a question's first.
        timeouts: questions without an answer at the deadline.
        unparsed: answers that are not a rating.
        written: ratings read from written answers, because the server gives no log-probabilities.
        seconds: time in calls, without waking and sleeping.
        cpu_seconds: CPU time of this process during `seconds`, summed over all threads. Encoding,
            sending and reading are included, and also the work of other threads, such as the parse
            of the next completions.
        encode_seconds: the part of `seconds` in which the model waited for its prompts to be
            encoded.
        wake_seconds, sleep_seconds: time in which the judge woke and fell asleep.
        peak_memory_bytes: the most device memory that the judge's process has held; 0 if unknown.
            This field is a maximum, and the other fields are sums.
        student, teacher: answers by each judge of a cascade.
        audited, agreed: questions of a cascade's audits, and audits in which both judges agreed.
        audits_failed: questions of a cascade's audits for which the teacher gave no answer.
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
        """Returns the counts since `before`, an earlier copy. The peak is the maximum over the
        whole time.
        """
        differences = {}
        for field in fields(self):
            now = getattr(self, field.name)
            differences[field.name] = now - getattr(before, field.name)
        # The peak of the time since `before` is not known.
        differences["peak_memory_bytes"] = self.peak_memory_bytes
        return type(self)(**differences)

    def plus(self, other: Self) -> Self:
        """Returns the sum of two usages. The peak is the higher of the two peaks."""
        sums = {}
        for field in fields(self):
            value = getattr(self, field.name)
            sums[field.name] = value + getattr(other, field.name)
        sums["peak_memory_bytes"] = max(self.peak_memory_bytes, other.peak_memory_bytes)
        return type(self)(**sums)

    @contextmanager
    def clock(self, counter: str) -> Iterator[None]:
        """Adds the time of the `with` block to a counter, even if the block raises.

        counter: the name of an attribute in seconds, such as "wake_seconds". For "seconds" the CPU
        time is added to `cpu_seconds` too.
        """
        start = time.perf_counter()
        cpu_start = time.process_time()
        try:
            yield
        finally:
            if counter == "seconds":
                self.cpu_seconds += time.process_time() - cpu_start
            elapsed = time.perf_counter() - start
            # The counter is read after the block, because the block itself may have added to it.
            setattr(self, counter, getattr(self, counter) + elapsed)
