"""Asks again by halves what raised when asked together, so that what is to blame fails alone.

def ask(numbers):
    return [1 / number for number in numbers]

by_halves([1, 0, 2, 4], ask, failed=str, until=monotonic() + 60)
# [1.0, "division by zero", 0.5, 0.25]
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Answer = TypeVar("Answer")
Thing = TypeVar("Thing")
# Asking again ends so many seconds, and so many times the seconds of the first try, after that one:
# a judge that is gone raises for each half, maybe only after a long wait.
AGAIN_SECONDS = 60.0
TIMES_FIRST_TRY = 4


class NotAsked(RuntimeError):
    """Stands for the error of what was not asked by itself, as there was no time for it."""


def time_for_more(begun: float) -> float:
    """Returns until when is asked again, by the monotonic clock, after a first try that raised now.

    begun: when it began.
    """
    now = time.monotonic()
    first_try = now - begun
    return now + AGAIN_SECONDS + TIMES_FIRST_TRY * first_try


def by_halves(
    things: Sequence[Thing],
    ask: Callable[[Sequence[Thing]], Sequence[Answer]],
    failed: Callable[[Exception], Answer],
    until: float,
) -> list[Answer]:
    """Returns an answer for each of the things, in order, after `ask` raised for all of them.

    Each half is asked, and of one that raises each half again. failed: returns the answer for what
    raises alone; its error is NotAsked for what was not asked alone by `until`, a time of the
    monotonic clock. For one among n things that raises there are about 2 log2(n) calls more.
    """
    answers: list[Answer] = []
    # A stack whose top is the next part in order, so that answers are appended in order.
    waiting = _halves(things)
    while waiting:
        part = waiting.pop()
        if time.monotonic() > until:
            no_time = NotAsked("what was asked with it failed, and there was no time for more")
            late = failed(no_time)
            answers += [late] * len(part)
            continue
        try:
            answers_of_part = ask(part)
            if len(answers_of_part) != len(part):
                raise ValueError(
                    f"there are {len(answers_of_part)} answers for {len(part)} questions"
                )
        except Exception as error:  # a judge or a metric of a user's own may raise anything
            if len(part) == 1:
                answers.append(failed(error))
            else:
                waiting += _halves(part)
        else:
            answers += answers_of_part
    return answers


def _halves(things: Sequence[Thing]) -> list[Sequence[Thing]]:
    """Returns the second half and the first one, which is the next to be popped."""
    if len(things) < 2:
        return [things]
    middle = len(things) // 2
    return [things[middle:], things[:middle]]
