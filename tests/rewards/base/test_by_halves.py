"""What raises among many is found by halves, and the others have their answers, in order."""

import math
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from spanreward.rewards.base.by_halves import AGAIN_SECONDS, NotAsked, by_halves, time_for_more


class Calls:
    """Doubles numbers, raises where one is bad, and counts its calls."""

    def __init__(self, bad: set[int]) -> None:
        self.bad = bad
        self.count = 0

    def __call__(self, numbers: Sequence[int]) -> list[int | str]:
        self.count += 1
        for number in numbers:
            if number in self.bad:
                raise ValueError(f"bad {number}")
        return [2 * number for number in numbers]


def late() -> float:
    return time.monotonic() + 100


@given(st.integers(1, 70), st.sets(st.integers(0, 69), min_size=1))
def test_each_has_its_own_answer(count: int, bad: set[int]) -> None:
    expected = [f"bad {number}" if number in bad else 2 * number for number in range(count)]
    assert by_halves(range(count), Calls(bad), str, late()) == expected


@pytest.mark.parametrize("place", [0, 100, 255])
def test_one_among_many_costs_few_calls(place: int) -> None:
    calls = Calls({place})
    by_halves(range(256), calls, str, late())
    assert calls.count == 2 * math.log2(256)


def test_a_wrong_number_of_answers_is_an_error_too() -> None:
    def ask(numbers: Sequence[int]) -> list[str]:
        return ["one"] if len(numbers) == 1 else []

    assert by_halves([1, 2, 3], ask, str, late()) == ["one"] * 3
    (told,) = by_halves([1], lambda numbers: ["one", "two"], str, late())
    assert "2 answers for 1" in told


def test_after_its_time_nothing_is_asked() -> None:
    calls = Calls({3})
    answers = by_halves(range(8), calls, type, time.monotonic() - 1)
    assert (answers, calls.count) == ([NotAsked] * 8, 0)


def test_asking_again_takes_a_multiple_of_the_first_try() -> None:
    now = time.monotonic()
    assert time_for_more(now - 30) == pytest.approx(now + AGAIN_SECONDS + 4 * 30, abs=1)


def test_what_is_to_end_the_process_is_not_held() -> None:
    def ask(numbers: Sequence[int]) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        by_halves([1, 2], ask, lambda error: 0, late())
