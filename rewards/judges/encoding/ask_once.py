"""Equal questions are asked once, and those with a shared beginning as neighbours: what all judges of prose share.

answers, cuts = ask_once(questions, encode, ask)      # ask gets the distinct encodings, sorted
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rewards.judges.judge import Failure, Question
from rewards.verdict import Status

T = TypeVar("T")


def ask_once(
    questions: Sequence[Question],
    encode: Callable[[Question], tuple[Any, int]],
    ask: Callable[[list[Any]], Sequence[T | Failure]],
) -> tuple[list[T | Failure], list[int]]:
    """An answer per question, in order, and how many characters of its description were cut.

    encode: to something hashable that sorts by its beginning, and what that cut: two descriptions may be equal once
    they are. A question for which it raises ValueError is a Failure; others are asked. ask is not called for nothing.
    """
    cuts = [0] * len(questions)
    answers: list[T | Failure] = [Failure(Status.ERROR, "not asked")] * len(questions)
    places: dict[Any, list[int]] = {}
    for number, question in enumerate(questions):
        try:
            key, cuts[number] = encode(question)
            places.setdefault(key, []).append(number)
        except ValueError as error:
            answers[number] = Failure(Status.ERROR, str(error))
    order = sorted(places)
    if order:
        for key, answer in zip(order, ask(order), strict=True):
            for number in places[key]:
                answers[number] = answer
    return answers, cuts
