"""Requests that are encoded while the server answers earlier requests.

requests = StreamedRequests(questions, encode, {"model": "m", "max_tokens": 1})
requests.take(0)                              # encodes the first QUESTIONS_AHEAD questions
answers, cuts = requests.by_question(answers)     # in the order of the questions
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spanreward.rewards.judges.encoding.chat import QUESTIONS_AHEAD
from spanreward.rewards.judges.encoding.prompt import Batch
from spanreward.rewards.judges.judge import Failure, Question, T


class StreamedRequests:
    """The bodies of one call's requests. QUESTIONS_AHEAD questions at a time are encoded, when the
    first of their requests is taken.

    A question's number is its index in `questions`. A request's place is its number in the order of
    sending: 0 for the request that is sent first. Within QUESTIONS_AHEAD questions the requests are
    sorted, so that requests with the same beginning are neighbours.

    Args:
        questions: at least one question.
        encode: returns the encodings of some questions.
        fields: the fields that all requests have, such as max_tokens.
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
        self._bodies: dict[int, dict[str, Any] | Failure] = {}  # by place, until they are taken
        self._numbers: dict[int, int] = {}  # the question's number, by place
        self._cuts: dict[int, int] = {}  # by the question's number
        self._encoded_parts = 0

    def __len__(self) -> int:
        return len(self.questions)

    def take(self, place: int) -> dict[str, Any] | Failure:
        """Returns the request with the number `place` in the order of sending, from 0, or a Failure
        if its question cannot be encoded. Each request can be taken once.
        """
        while place >= self._encoded_parts * QUESTIONS_AHEAD:
            self._encode_part()
        return self._bodies.pop(place)

    def _encode_part(self) -> None:
        """Encodes the next part of the questions (QUESTIONS_AHEAD questions), and stores the
        request of each at its place.

        The requests of the part are sent in the batch's sorted order. The questions that could not
        be encoded come last, with their Failures. If the part's first question has the number 256
        and is sent third, its request has the place 258.
        """
        # The number of the part's first question, and the place of the part's first request.
        first = self._encoded_parts * QUESTIONS_AHEAD
        batch = self.encode(self.questions[first : first + QUESTIONS_AHEAD])
        # The batch counts from 0, so `first` is added to its numbers.
        in_order: list[tuple[int, dict[str, Any] | Failure]] = []  # numbers and requests
        for number, encoded in zip(batch.numbers, batch.inputs, strict=True):
            in_order.append((first + number, {**encoded.fields, **self.fields}))
        for number, failure in batch.failures.items():
            in_order.append((first + number, failure))
        for place, (number, body) in enumerate(in_order, start=first):
            self._bodies[place] = body
            self._numbers[place] = number
        for number, cut in enumerate(batch.cuts, start=first):
            self._cuts[number] = cut
        self._encoded_parts += 1

    def by_question(self, answers: Sequence[T]) -> tuple[list[T], list[int]]:
        """Returns the answers in the order of the questions, and how many characters of each
        question's description were cut.

        answers: in the order of sending: the answer to the request at place 0, at place 1, and so
        on. After a deadline, questions that were never encoded have the same Failure as answer.
        """
        # By the question's number. A part that was never encoded has not been sorted: the number of
        # each of its questions is its place. The numbers of the encoded questions are known.
        answered = dict(enumerate(answers))
        for place, number in self._numbers.items():
            answered[number] = answers[place]
        numbers = range(len(self.questions))
        cuts = [self._cuts.get(number, 0) for number in numbers]
        return [answered[number] for number in numbers], cuts
