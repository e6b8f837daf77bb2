"""Asks a batch that raised again, half by half, so that only the questions at fault fail.

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
# The time limit for asking again is AGAIN_SECONDS + TIMES_FIRST_TRY * (seconds of the first try).
# Without a limit, a judge that is down would raise for each half, perhaps after a long wait.
AGAIN_SECONDS = 60.0
TIMES_FIRST_TRY = 4


class NotAsked(RuntimeError):
    """The error of a question that failed in a batch, with no time left to ask the question
    alone.
    """


def time_for_more(start: float) -> float:
    """Returns the time until which `by_halves` may ask again, by the monotonic clock: after a first
    try of 10 s, it may ask for 60 s + 4 * 10 s from now on.

    This function is called when the first try has raised. start: the time at which the first try
    began, by the monotonic clock.
    """
    now = time.monotonic()
    seconds_of_first_try = now - start
    seconds_from_now = AGAIN_SECONDS + TIMES_FIRST_TRY * seconds_of_first_try
    return now + seconds_from_now


def by_halves(
    things: Sequence[Thing],
    ask: Callable[[Sequence[Thing]], Sequence[Answer]],
    failed: Callable[[Exception], Answer],
    until: float,
) -> list[Answer]:
    """Returns an answer for each of the things, in order. Is called after `ask(things)` raised.

    Each half of the things is asked. If a half raises, each of its own halves is asked, and so on
    down to single things. For a single bad thing among n things, `ask` is called about 2 log2(n)
    times.

    ask: returns the answers for some of the things, or raises.
    failed: returns the answer for a thing from an error: from the error that `ask` raised for the
    thing alone, or from NotAsked if the time was up before.
    until: a time of the monotonic clock, after which `ask` is no longer called.
    """
    answers: list[Answer] = []
    # The top of this stack is the next part in order, so answers are appended in order.
    waiting = _two_halves(things)
    while waiting:
        part = waiting.pop()
        if time.monotonic() > until:
            no_time = NotAsked("what was asked with it failed, and there was no time for more")
            answers += [failed(no_time)] * len(part)
            continue
        try:
            answers += _as_many_answers(ask, part)
        except Exception as error:  # a judge or a metric of a user's own may raise anything
            if len(part) == 1:
                answers.append(failed(error))
            else:
                waiting += _two_halves(part)
    return answers


def _as_many_answers(
    ask: Callable[[Sequence[Thing]], Sequence[Answer]], part: Sequence[Thing]
) -> Sequence[Answer]:
    """Returns the answers of `ask` for some of the things.

    Raises what `ask` raises, and ValueError for more or fewer answers than things.
    """
    answers = ask(part)
    if len(answers) != len(part):
        raise ValueError(f"there are {len(answers)} answers for {len(part)} questions")
    return answers


def _two_halves(things: Sequence[Thing]) -> list[Sequence[Thing]]:
    """Returns [second half, first half], so that `pop` takes the first half first. A single thing
    is returned as [things].
    """
    if len(things) < 2:
        return [things]
    middle = len(things) // 2
    return [things[middle:], things[:middle]]
