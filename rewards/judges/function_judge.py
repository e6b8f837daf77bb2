"""A judge from a function of yours, such as a client of a model or a rule.

    judge = FunctionJudge("my client, my-model", lambda text: client.ask(text))     # its answer contains the rating
    judge = FunctionJudge("rule", lambda text: 5 if "circle" in text else 1)        # the rating itself
    judge = FunctionJudge("json", ask, "{question}\n\nAnswer as JSON.", lambda text: json.loads(text)["rating"])

For an OpenAI-compatible server use `load_judge("server:URL#MODEL")`: it reads the distribution over the ratings.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spanreward.rewards.judges.judge import LARGEST_MASS, RATING_SCALE, Failure, Judge, Question, Rating, rating_of
from spanreward.rewards.templates import fill, placeholders
from spanreward.rewards.verdict import Status

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
DENOMINATOR = re.compile(r"\s*(?:/|\bout of)\s*\d+")


class FunctionJudge(Judge):
    """Judge that calls a function for each question, one after another.

    An exception in the function or in `parse` becomes a Failure with status ERROR; an answer without a rating is
    UNPARSED.

    Args:
        name: identifies the model and its settings. A cache expects equal answers from judges with equal names.
        function: takes the prompt as a text. Returns a number within the scale, a mapping from the scale's entries to
            probabilities, or a text that contains a rating.
        prompt: the text for the function; `{question}` stands for the question.
        parse: converts an answer of another form to one of these.
    """

    text_only = True

    def __init__(
        self,
        name: str,
        function: Callable[[str], Any],
        prompt: str = "{question}",
        parse: Callable[[Any], Any] | None = None,
    ) -> None:
        if placeholders(prompt) != {"question"}:
            raise ValueError(f"a FunctionJudge's prompt has the placeholder {{question}} and no other, got {prompt!r}")
        self._name = name
        self.function = function
        self.prompt = prompt
        self.parse = parse

    @property
    def name(self) -> str:
        return self._name

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        return [self._ask(question, lambda answer: self._rating(answer, scale)) for question in questions]

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns the function's answers as texts. The function does not get `max_tokens`."""
        return [self._ask(question, str) for question in questions]

    def _ask(self, question: Question, read: Callable[[Any], Any]) -> Any:
        if question.images:
            raise ValueError(f"{self.name} reads text only, and the question has pictures: set evidence='context'")
        self.usage.questions += 1
        text = fill(self.prompt, question="\n\n".join(message["content"] for message in question.messages))
        try:
            with self.usage.clock("seconds"):
                answer = self.function(text)
            return answer if isinstance(answer, Failure) else read(answer)
        except Exception as error:  # the functions are not ours and may raise anything
            return Failure(Status.ERROR, f"{self.name}: {type(error).__name__}: {error}")

    def _rating(self, answer: Any, scale: Sequence[str]) -> Rating | Failure:
        parsed = answer if self.parse is None else self.parse(answer)
        rating = parsed if isinstance(parsed, Failure) else as_rating(parsed, scale)
        if rating is None:
            self.usage.unparsed += 1
            why = f"{self.name} gave no rating from {scale[0]} to {scale[-1]}: {parsed!r}"
            return Failure(Status.UNPARSED, why[:200])
        return rating


def as_rating(answer: Any, scale: Sequence[str]) -> Rating | None:
    """Converts an answer to a distribution over the scale; None if it is not a rating.

    A number between two entries is divided between them, so that the distribution's mean is the number.
    """
    if isinstance(answer, Mapping):
        given = {str(entry): share for entry, share in answer.items()}
        shares = {entry: float(given.get(entry, 0.0)) for entry in scale}
        mass = sum(shares.values())
        usable = all(0 <= share <= 1 for share in shares.values()) and 0 < mass <= LARGEST_MASS
        return Rating({entry: share / mass for entry, share in shares.items()}, min(mass, 1.0)) if usable else None
    if isinstance(answer, int | float):
        rates = all(entry.isdecimal() for entry in scale) and float(scale[0]) <= answer <= float(scale[-1])
        return rating_of(answer, scale) if rates else None
    return read_rating(str(answer), scale)


def read_rating(text: str, scale: Sequence[str]) -> Rating | None:
    """Reads the last number of the text, or for a scale of letters the last word that is an entry.

    A number after "/" or "out of" does not count: "3/5" is a 3.
    """
    text = DENOMINATOR.sub("", text)
    if scale[0].isdecimal():
        numbers = NUMBER.findall(text)
        return as_rating(float(numbers[-1]), scale) if numbers else None
    found = [word for word in re.findall(r"\w+", text) if word in scale]
    return Rating({entry: float(entry == found[-1]) for entry in scale}) if found else None
