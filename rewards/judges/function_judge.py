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
            return Failure(Status.ERROR, f"{self.name}: {type(error).__name__}: {error}")

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
        by_entry: dict[str, Any] = {}
        for entry, share in answer.items():
            by_entry[str(entry)] = share  # {4: 1.0} means {"4": 1.0}
        shares: dict[str, float] = {}
        for entry in scale:
            shares[entry] = float(by_entry.get(entry, 0.0))
        mass = sum(shares.values())
        in_range = all(0 <= share <= 1 for share in shares.values())
        if not in_range or not 0 < mass <= LARGEST_MASS:
            return None
        probabilities = {entry: share / mass for entry, share in shares.items()}
        return Rating(probabilities, min(mass, 1.0))
    if isinstance(answer, int | float):
        if not all(entry.isdecimal() for entry in scale):
            return None  # a number has no meaning on a scale of letters
        lowest = float(scale[0])
        highest = float(scale[-1])
        if lowest <= answer <= highest:
            return rating_of(answer, scale)
        return None
    return read_written_rating(str(answer), scale)
