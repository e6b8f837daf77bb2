"""Base class of the judges behind HTTP: server, name, deadline, and what happens when the server
fails.

A subclass says how to send a question (ServerJudge: as token ids, ChatJudge: as a chat) and how to
ask for a rating. A server that fails costs answers and never stops the run. endpoint.py says what
is asked again and for how long.
"""

import json
import math
import sys
import time
import uuid
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files.http_client import run
from spanreward.rewards.judges.encoding.chat import MIN_MASS, rating_from_logprobs, rating_from_top
from spanreward.rewards.judges.encoding.prompt import Batch
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating, count_unparsed
from spanreward.rewards.judges.remote.answer import Served, ServerAnswer
from spanreward.rewards.judges.remote.endpoint import Answer, Body, Endpoint

UNBOUNDED = sys.maxsize  # tokens
SPOILT = -9998.0  # vLLM writes -9999 for minus infinity
CALIBRATION = Question(
    [{"role": "user", "content": "Answer with one digit from 1 to 5, and nothing else: 3"}]
)


class RemoteJudge(Judge):
    """A judge on a server, which ranks and machines share.

    The key is read from the environment variable SPANREWARD_API_KEY and nowhere else. A pickle has
    the settings only.

    Args:
        url: http or https, with or without `/v1`. Several servers of one model stand behind one
            url: that of vLLM with `--data-parallel-size`, of its router or of any load balancer.
        model: the server's name for the model.
        min_mass: see LocalJudge.
        deadline: seconds for one call or, within `with judge:`, for all calls together. A question
            without an answer by then is a TIMEOUT.
        concurrency: the most questions under way at a time.
        read_timeout: seconds, per attempt.

    Raises:
        ValueError: for a url that is not http or https, or that is several.
    """

    path: str  # of the server's endpoint, below /v1/
    extras: ClassVar[Body] = {}  # fields of every request that not every server takes
    remote = True
    sees_pictures = False

    def __init__(
        self,
        url: str,
        model: str,
        min_mass: float = MIN_MASS,
        deadline: float = 300.0,
        concurrency: int = 32,
        read_timeout: float = 60.0,
    ) -> None:
        if "," in url:
            raise ValueError(
                "a judge's url is that of one server, such as a load balancer before several: got "
                "a comma"
            )
        self.endpoint = Endpoint(url, deadline, concurrency, read_timeout)
        self.model = model
        self.min_mass = min_mass
        self.deadline = deadline
        self._end = 0.0  # when the deadline of the outermost `with` ends, by the monotonic clock
        self._served: Served | Failure | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "encoder"}

    @property
    def name(self) -> str:
        """Model, its entry in the server's list (origin of the weights, length), how it is asked,
        and settings. If the server does not answer, the name is unique, and nothing is raised.
        """
        served = self.served
        length = f" tokens<={served.max_model_len}" if served and served.max_model_len else ""
        source = f"{served.root or served.id}{length}" if served else f"unseen-{uuid.uuid4().hex}"
        return f"server:{self.model}@{source} {self.asked_as} mass>={self.min_mass}"

    @property
    def served(self) -> Served | None:
        """The model's entry in the server's list; None, and looked up again the next time, without
        an answer.
        """
        found = self._look_up()
        return found if isinstance(found, Served) else None

    def _look_up(self) -> Served | Failure:
        if not isinstance(self._served, Served):
            self._served = run(self.endpoint.look_up(self.model))
        return self._served

    @property
    @abstractmethod
    def asked_as(self) -> str:
        """How a question is encoded, for the judge's name."""

    @abstractmethod
    def _rating_request(
        self, scale: Sequence[str], top: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns a rating's fields, and extras.

        Raises ValueError for a scale that cannot be read from one token.
        """

    def _word(self, token: str) -> str:
        """Returns the text of a token in the server's answer."""
        return token

    @abstractmethod
    def _encoded(self, questions: Sequence[Question], reserve: int) -> Batch:
        """Encodes each question's part of a request as JSON, and leaves space for `reserve`
        tokens.
        """

    def start(self) -> None:
        """Asks a trial question.

        Raises RuntimeError if the server is away, lacks the model, or gives no rating.
        """
        found = self._look_up()
        if isinstance(found, Failure):
            raise RuntimeError(f"{found.message}.")
        (answer,) = self.rate([CALIBRATION])
        if isinstance(answer, Failure):
            raise RuntimeError(
                f"{self.endpoint.url} cannot rate with {self.model!r}: {answer.message}."
            )

    def _wake(self) -> None:
        self._end = time.monotonic() + self.endpoint.deadline

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Answers `rate`. Raises ValueError for images and for entries of several tokens."""
        ratings: dict[int, Rating | Failure] = {}
        for top in dict.fromkeys(question.top for question in questions):
            numbers = [n for n, question in enumerate(questions) if question.top == top]
            fields, extras = self._rating_request(scale, top)
            fields = {**fields, "max_tokens": 1}
            answers, cuts = self._ask([questions[n] for n in numbers], fields, extras)
            for number, answer, cut in zip(numbers, answers, cuts, strict=True):
                if isinstance(answer, Failure):
                    ratings[number] = answer
                else:
                    ratings[number] = self._rating(answer, scale, top, cut)
        count_unparsed(self.usage, ratings.values())
        return [ratings[number] for number in range(len(questions))]

    def _rating(
        self, answer: ServerAnswer, scale: Sequence[str], top: int, cut: int
    ) -> Rating | Failure:
        """Reads a rating as `Question.top` says.

        Leading spaces, also as tokenizers spell them, do not count.
        """
        first = answer.first
        if not first:
            ended = (
                "the server gave no log-probabilities (finish_reason "
                f"{answer.choices[0].get('finish_reason')!r})"
            )
            return Failure(
                Status.UNPARSED,
                f"{ended}: serve the model with them, and see that nothing filters it",
            )
        # of vLLM, in a batch with exact ids
        if len(first) > 1 and sum(value > SPOILT for _, value in first) == 1:
            return Failure(
                Status.UNPARSED,
                "all but one log-probability are those of no token: let nobody else ask it",
            )
        words = [self._word(token) for token, _ in first]
        given = Counter(first)
        repeated = [
            word
            for word, one in zip(words, first, strict=True)
            if given[one] > 1
            and one[1] >= math.log(MIN_MASS)
            and any(entry in word for entry in scale)
        ]
        if repeated:  # one token; two that are only spelled alike would hardly be as likely
            return Failure(
                Status.UNPARSED,
                f"the judge gave the token {repeated[0]!r} twice, which is no distribution",
            )
        values = {place: value for place, (_, value) in enumerate(first)}
        if top:
            return rating_from_top(values, words, scale, cut)
        places = {
            entry: [
                place for place, word in enumerate(words) if word.lstrip(" \u0120\u2581") == entry
            ]
            for entry in scale
        }
        return rating_from_logprobs(values, places, self.min_mass, cut)

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Answers `write` greedily.

        Raises as `rate_each` does.
        """
        answers, _ = self._ask(questions, {"max_tokens": max_tokens}, {"repetition_penalty": 1.0})
        texts = [answer if isinstance(answer, Failure) else answer.text for answer in answers]
        return [
            Failure(Status.UNPARSED, "the server gave no text") if text is None else text
            for text in texts
        ]

    def _ask(
        self, questions: Sequence[Question], fields: Body, extras: Body
    ) -> tuple[list[Answer], list[int]]:
        """Asks with these fields in every request, and returns an answer per question and how many
        characters of its description were cut. extras: fields that not every server takes.
        """
        with self, self.usage.clock("seconds"):
            batch = self._encoded(questions, fields["max_tokens"])
            common = {"model": self.model, "temperature": 0.0}
            bodies = [{**common, **json.loads(asked), **fields} for asked in batch.inputs]
            found: Sequence[Answer] = []
            if bodies:
                extras = {**self.extras, **extras}
                found, retries = run(self.endpoint.ask(self.path, bodies, extras, self.left()))
                self._count(found, retries)
        return batch.by_question(found), batch.cuts

    def left(self) -> float:
        """Seconds of the deadline that are left within `with judge:`."""
        return max(self._end - time.monotonic(), 0.0)

    def _count(self, found: Sequence[Answer], retries: int) -> None:
        usage = self.usage
        usage.retries += retries
        for answer in found:
            if isinstance(answer, Failure):
                usage.timeouts += answer.status is Status.TIMEOUT
            else:
                usage.prompt_tokens += answer.prompt_tokens
                usage.generated_tokens += answer.generated_tokens
                usage.cached_tokens += answer.cached_tokens
