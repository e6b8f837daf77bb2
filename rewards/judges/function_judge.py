"""A judge from a function of yours, such as a client of a model or a rule.

    judge = FunctionJudge("my client, my-model", lambda text: client.ask(text))
    # its answer contains the rating
    judge = FunctionJudge("rule", lambda text: 5 if "circle" in text else 1)  # the rating itself
    judge = FunctionJudge("json", lambda text: json.loads(ask(text + " Answer as JSON."))["rating"])

For an OpenAI-compatible server use `load_judge("server:URL#MODEL")`: it reads the distribution over
the ratings.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files.http_client import safe_line
from spanreward.rewards.judges.judge import (
    LARGEST_MASS,
    Failure,
    Judge,
    Question,
    Rating,
    rating_of,
)
from spanreward.rewards.judges.written_rating import read_written_rating


class FunctionJudge(Judge):
    """Judge that calls a function for each question, one question after another.

    If the function raises, the question gets a Failure with the status ERROR. If its answer has no
    rating, the status is UNPARSED.

    Args:
        name: identifies the model and its settings. A cache expects equal answers from judges with
            equal names.
        function: takes the prompt as a text. Returns a number within the scale, a mapping from the
            scale's entries to probabilities, or a text that contains a rating.
    """

    name = ""
    sees_pictures = False  # the function gets a text
    _takes_shared = True

    def __init__(self, name: str, function: Callable[[str], Any]) -> None:
        self.name = name
        self.function = function

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns the rating in the function's answer to each question."""
        read = partial(self._rating, scale=scale)
        return [self._ask(question, read) for question in questions]

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns the function's answers as texts. The function does not get `max_tokens`."""
        return [self._ask(question, str) for question in questions]

    def _ask(self, question: Question, read: Callable[[Any], Any]) -> Any:
        """Returns `read(answer)` for the function's answer, or a Failure if the function or `read`
        raises.
        """
        text = "\n\n".join(message["content"] for message in question.messages)
        try:
            with self.usage.clock("seconds"):
                answer = self.function(text)
            if isinstance(answer, Failure):
                return answer
            return read(answer)
        except Exception as error:  # the function is not ours and may raise anything
            why = safe_line(f"{self.name}: {type(error).__name__}: {error}")
            return Failure(Status.ERROR, why)

    def _rating(self, answer: Any, scale: Sequence[str]) -> Rating | Failure:
        """Returns the rating in an answer, or a Failure (UNPARSED) that quotes the answer."""
        rating = as_rating(answer, scale)
        if rating is None:
            self.usage.unparsed += 1
            why = f"{self.name} gave no rating from {scale[0]} to {scale[-1]}: {answer!r}"
            return Failure(Status.UNPARSED, why[:200])
        return rating


def as_rating(answer: Any, scale: Sequence[str]) -> Rating | None:
    """Returns an answer as a distribution over the scale, or None if the answer is no rating.

    On a scale from 1 to 5, the number 3.5 becomes half on "3" and half on "4", and 7 gives None.
    The mapping {"4": 0.6, "5": 0.2} gives .75 on "4", .25 on "5", and a mass of .8. A text is read
    by `read_written_rating`.
    """
    if isinstance(answer, Mapping):
        return _rating_of_shares(answer, scale)
    if isinstance(answer, int | float):
        return _rating_of_number(answer, scale)
    return read_written_rating(str(answer), scale)


def _rating_of_shares(shares: Mapping[Any, Any], scale: Sequence[str]) -> Rating | None:
    """Returns a mapping from entries to probabilities as a Rating, or None if the probabilities are
    outside [0, 1], or if their sum is 0 or above LARGEST_MASS.

    An entry may be a number: {4: 1.0} means {"4": 1.0}. An entry that is missing has probability 0.
    """
    by_entry = {str(entry): share for entry, share in shares.items()}
    on_scale = {entry: float(by_entry.get(entry, 0.0)) for entry in scale}
    mass = sum(on_scale.values())
    in_range = all(0 <= share <= 1 for share in on_scale.values())
    if not in_range or not 0 < mass <= LARGEST_MASS:
        return None
    probabilities = {entry: share / mass for entry, share in on_scale.items()}
    return Rating(probabilities, min(mass, 1.0))


def _rating_of_number(number: float, scale: Sequence[str]) -> Rating | None:
    """Returns a number as a Rating, or None if the number is not on the scale: 7 on a scale from 1
    to 5, or any number on a scale of letters.
    """
    if not all(entry.isdecimal() for entry in scale):
        return None
    lowest = float(scale[0])
    highest = float(scale[-1])
    if lowest <= number <= highest:
        return rating_of(number, scale)
    return None
