"""Requests that are encoded while earlier ones are under way.

requests = StreamedRequests(questions, encode, {"model": "m", "max_tokens": 1})
requests.take(0)                              # encodes the first AHEAD questions
answers, cuts = requests.by_question(answers)     # in the order of the questions
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spanreward.rewards.judges.encoding.chat import AHEAD
from spanreward.rewards.judges.encoding.prompt import Batch
from spanreward.rewards.judges.judge import Failure, Question, T


class StreamedRequests:
    """The bodies of the requests of one call, by place. A part of AHEAD questions is encoded when
    the first of its requests is read. In a part they are sorted, so that those with one beginning
    are neighbours.

    Args:
        questions: at least one.
        encode: returns the encodings of some questions.
        fields: what stands in each request beside its question.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        encode: Callable[[Sequence[Question]], Batch],
        fields: Mapping[str, Any],
    ) -> None:
        self.questions = questions
        self.encode = encode
        self.fields = fields
        self._bodies: dict[int, dict[str, Any] | Failure] = {}  # not yet read
        self._numbers: dict[int, int] = {}  # the question's number, by place
        self._cuts: dict[int, int] = {}  # by the question's number
        self._encoded_parts = 0

    def __len__(self) -> int:
        return len(self.questions)

    def take(self, place: int) -> dict[str, Any] | Failure:
        """Returns the request, or why the question cannot be asked. Each is read once."""
        while place >= self._encoded_parts * AHEAD:
            self._encode_part()
        return self._bodies.pop(place)

    def _encode_part(self) -> None:
        """Encodes the next AHEAD questions, and gives each of them a place: first those that have a
        request, sorted, and then those that have none.
        """
        start = self._encoded_parts * AHEAD
        batch = self.encode(self.questions[start : start + AHEAD])
        place = start
        numbered = zip(batch.inputs, batch.numbers, strict=True)
        for part, number in numbered:
            self._bodies[place] = {**part.fields, **self.fields}
            self._numbers[place] = start + number
            place += 1
        for number, failure in batch.failures.items():
            self._bodies[place] = failure
            self._numbers[place] = start + number
            place += 1
        for number, cut in enumerate(batch.cuts):
            self._cuts[start + number] = cut
        self._encoded_parts += 1

    def by_question(self, answers: Sequence[T]) -> tuple[list[T], list[int]]:
        """Returns the answers, which are by place, in the order of the questions, and how many
        characters of each question's description were cut.
        """
        answered: dict[int, T] = {}
        for place, answer in enumerate(answers):
            # The deadline may have come before a request was read, and then it has no place yet.
            # All in its part are such, so that any order is right for them.
            number = self._numbers.get(place, place)
            answered[number] = answer
        numbers = range(len(self.questions))
        cuts = [self._cuts.get(number, 0) for number in numbers]
        return [answered[number] for number in numbers], cuts
