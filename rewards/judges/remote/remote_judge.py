"""What the judges behind HTTP share: the server or servers, a name, a deadline, and what is done when one fails.

A subclass says how a question is put (ServerJudge: as token ids; ChatJudge: as a chat) and how a rating is asked for.
A server that fails costs answers, never the run: see `endpoint.py` for what is asked again, and until when; `pool.py`
for several servers of one model. A spawned
server that ends in the middle of a call is started again once, within the call's deadline for the answers.
"""

import json
import logging
import math
import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rewards.cache_folder import CACHE
from rewards.judges.encoding.ask_once import ask_once
from rewards.judges.encoding.chat import MIN_MASS, rating_from_logprobs, rating_from_top
from rewards.judges.judge import RATING_SCALE, Failure, Judge, Question, Rating, by_reading
from rewards.judges.model_files import files_hash, model_folder
from rewards.judges.remote.endpoint import Endpoint, Served, ServerAnswer
from rewards.judges.remote.pool import Pool
from rewards.judges.remote.spawned_server import HOST, Spawned
from rewards.judges.usage import Usage
from rewards.verdict import Status

log = logging.getLogger(__name__)


class RemoteJudge(Judge):
    """A judge that a server answers for, or several with one model, shared by ranks and machines.

    A server that others run is only asked; one of our own is started by `spawn`. The key is taken from the environment
    variable SPANREWARD_API_KEY, and only from there. Pickled as its settings.

    Args:
        url: http or https, with or without `/v1`; several servers of one model with commas between (see Pool).
        model: as the server calls it.
        spawn: start a server for `model` (a folder, a hub id or `smollm2`) at the url, which must be on 127.0.0.1. It
            runs until `close` or the end of this process, and logs to `server-PORT.log` in the cache folder. One
            process starts it, others use it by its url without `spawn`.
        options: further arguments of vLLM's server, where it is spawned.
        min_mass: see LocalJudge.
        deadline: seconds that one call may take or, within `with judge:`, all calls together; what has no answer by
            then is a TIMEOUT.
        concurrency: questions under way at a time, at each server.
        connect_timeout: seconds, per attempt.
        read_timeout: seconds, per attempt.
        start_deadline: seconds that a spawned server may take to come up.

    Raises:
        ValueError: for a url that is not http or https, or not one on 127.0.0.1 where a server is to be spawned.
    """

    path: str  # of the server's API, below /v1/
    remote = True

    def __init__(
        self,
        url: str,
        model: str,
        spawn: bool = False,
        options: Sequence[str] = (),
        min_mass: float = MIN_MASS,
        deadline: float = 300.0,
        concurrency: int = 32,
        connect_timeout: float = 5.0,
        read_timeout: float = 60.0,
        start_deadline: float = 900.0,
    ) -> None:
        urls = [one.strip() for one in url.split(",")]
        first = Endpoint(urls[0], deadline, concurrency, connect_timeout, read_timeout)
        if spawn and (len(urls) > 1 or first.host != HOST):
            raise ValueError(f"a spawned server listens on {HOST} only, not {url!r}: give http://{HOST}:PORT")
        self.endpoint: Endpoint | Pool = first
        if len(urls) > 1:
            self.endpoint = Pool(urls, deadline, concurrency, connect_timeout, read_timeout)
        self.port = first.port
        self.model = model
        self.spawn = spawn
        self.options = tuple(options)
        self.min_mass = min_mass
        self.start_deadline = start_deadline
        self.deadline = deadline + (start_deadline if spawn else 0.0)  # with the time to start a server anew
        self._depth = 0
        self._name: str | None = None
        self._served: Served | None = None
        self._server: Spawned | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "usage": Usage(), "_depth": 0, "_server": None}

    @property
    def name(self) -> str:
        """What is served, how it is asked, and the settings: equal names give equal answers, whatever the url.

        What is served is a hash of the model's files for a spawned server, otherwise what the server's list of models
        says: where the weights are from and how long a question may be, but not when weights change under one name.
        Without a server the name is one that never comes again, and nothing is raised.
        """
        if self._name is None:
            weights = files_hash(model_folder(self.model)) if self.spawn else self._weights()
            served_as = " ".join((weights or f"unseen-{uuid.uuid4().hex}", *self.options))
            name = f"server:{self.model}@{served_as} {self.asked_as} mass>={self.min_mass}"
            if weights is None:
                return name
            self._name = name
        return self._name

    @property
    def served(self) -> Served | None:
        """What the server says of the model; None, and asked again the next time, where it says nothing.

        Raises ValueError where two servers say different things.
        """
        if self._served is None:
            self._served = self.endpoint.served(self.model)
        return self._served

    def _weights(self) -> str | None:
        """What the server says it has read, and the tokens that it takes."""
        served = self.served
        if served is None:
            return None
        context = f" tokens<={served.max_model_len}" if served.max_model_len else ""
        return f"{served.root or served.id}{context}"

    @property
    @abstractmethod
    def asked_as(self) -> str:
        """How a question becomes what the server reads, as a part of the judge's name."""

    @abstractmethod
    def _rating_request(self, scale: Sequence[str], top: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """How a rating is asked for, read as `Question.top` says: the request's fields, and those that not every server
        takes. Raises ValueError for a scale that cannot be read so.
        """

    def _word(self, token: str) -> str:
        """The text of a token as the server names it."""
        return token

    @abstractmethod
    def _room(self, questions: Sequence[Question], reserve: int) -> int | None:
        """The tokens that the server takes of a question, `reserve` of the answer aside; None where that is not known
        or does not matter.
        """

    @abstractmethod
    def _input(self, question: Question, room: int | None) -> tuple[str, int]:
        """The question's part of a request, in JSON, and how many characters of its description were cut for it.

        Raises ValueError for what cannot be put.
        """

    def start(self) -> None:
        """Before a run: start the server if it is ours, else find out whether it serves the model. Raises RuntimeError
        where it does not, ValueError where two servers do not serve the same, and whatever keeps ours from coming up.
        """
        self._spawn()
        if not self.spawn and self.served is None:
            raise RuntimeError(
                f"{self.endpoint.url}: /v1/models does not list the judge's model {self.model!r}, or does not answer: "
                "start the server, or name the model as it does."
            )

    def _spawn(self) -> None:
        """Start the server, if it is ours and does not run."""
        if self.spawn and (self._server is None or not self._server.alive):
            self.close()
            port = self.port
            self._server = Spawned(
                model_folder(self.model),
                self.model,
                port,
                self.options,
                self.start_deadline,
                CACHE / f"server-{port}.log",
            )

    def close(self) -> None:
        """End the server, if it is ours; the next use starts it again."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def __enter__(self) -> Self:
        with self.usage.clock("wake_seconds"):
            self._spawn()
        if self._depth == 0:
            self.endpoint.begin()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The server stays as it is: it has its own memory, and others may use it."""
        self._depth -= 1
        if self._depth == 0:
            self.endpoint.finish()

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        """One Rating per question, in order, from the distribution of the answer's first token.

        Raises ValueError for questions with images and for a scale that cannot be read from one token; what keeps a
        spawned server from coming up; nothing else.
        """
        ratings = by_reading(questions, lambda asked, top: self._rate(asked, scale, top))
        self.usage.unparsed += sum(isinstance(one, Failure) and one.status is Status.UNPARSED for one in ratings)
        return ratings

    def _rate(self, questions: Sequence[Question], scale: Sequence[str], top: int) -> list[Rating | Failure]:
        """The ratings of questions that are read alike."""
        fields, extras = self._rating_request(scale, top)
        answers, cuts = self._ask(questions, {**fields, "max_tokens": 1}, extras)
        return [
            answer if isinstance(answer, Failure) else self._rating(answer, scale, top, cut)
            for answer, cut in zip(answers, cuts, strict=True)
        ]

    def _rating(self, answer: ServerAnswer, scale: Sequence[str], top: int, cut: int) -> Rating | Failure:
        """A token stands for the entry that it is as a whole, leading spaces aside, or see `Question.top`."""
        logprobs = answer.choices[0].logprobs
        first = logprobs.first() if logprobs is not None else []
        if not first:
            return Failure(Status.UNPARSED, "the server gave no log-probabilities: serve the model with them")
        words = [self._word(token) for token, _ in first]
        values = {place: math.nan if value is None else value for place, (_, value) in enumerate(first)}
        if top:
            return rating_from_top(values, words, scale, cut)
        places = {entry: [place for place, word in enumerate(words) if word.lstrip(" ") == entry] for entry in scale}
        return rating_from_logprobs(values, places, self.min_mass, cut)

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """One greedy text of at most max_tokens tokens per question, in order. Raises as `rate` does."""
        answers, _ = self._ask(questions, {"max_tokens": max_tokens}, {"repetition_penalty": 1.0})
        return [answer if isinstance(answer, Failure) else _text(answer) for answer in answers]

    def _ask(
        self, questions: Sequence[Question], fields: Mapping[str, Any], extras: Mapping[str, Any]
    ) -> tuple[list[ServerAnswer | Failure], list[int]]:
        """Ask in sorted order, equal questions once, restore the order; and what was cut of each description. What
        cannot be encoded is a Failure.
        """
        if any(question.images for question in questions):
            raise ValueError("this version's server judges read text only, and a question has images")

        def ask(inputs: list[str]) -> list[ServerAnswer | Failure]:
            bodies = [{"model": self.model, "temperature": 0.0, **json.loads(one), **fields} for one in inputs]
            found, retries = self.endpoint.ask(self.path, bodies, extras, self._alive)
            self._count(found, retries)
            lost = [number for number, answer in enumerate(found) if isinstance(answer, Failure)]
            if lost and not self._alive():
                again = self._ask_anew([bodies[number] for number in lost], extras)
                for number, answer in zip(lost, again, strict=True):
                    found[number] = answer
            return found

        self.usage.questions += len(questions)
        with self, self.usage.clock("seconds"):
            room = self._room(questions, fields["max_tokens"])
            return ask_once(questions, lambda question: self._input(question, room), ask)

    def _alive(self) -> bool:
        """False where the server is ours and has ended."""
        return not self.spawn or (self._server is not None and self._server.alive)

    def _ask_anew(
        self, bodies: Sequence[Mapping[str, Any]], extras: Mapping[str, Any]
    ) -> Sequence[ServerAnswer | Failure]:
        """Start our server again and ask it; Failures where it does not come up, or ends once more."""
        log.warning(
            "the server for %s ended with %d questions unanswered, and is started anew", self.model, len(bodies)
        )
        try:
            self._spawn()
        except RuntimeError as error:
            return [Failure(Status.ERROR, f"the server for {self.model} ended in a call: {error}")] * len(bodies)
        found, retries = self.endpoint.ask(self.path, bodies, extras, self._alive)
        self._count(found, retries + len(bodies))
        return found

    def _count(self, found: Sequence[ServerAnswer | Failure], retries: int) -> None:
        usage = self.usage
        usage.retries += retries
        for answer in found:
            if isinstance(answer, Failure):
                usage.timeouts += answer.status is Status.TIMEOUT
            elif answer.usage is not None:
                details = answer.usage.prompt_tokens_details
                usage.prompt_tokens += answer.usage.prompt_tokens
                usage.generated_tokens += answer.usage.completion_tokens
                usage.cached_tokens += (details.cached_tokens or 0) if details is not None else 0


def _text(answer: ServerAnswer) -> str | Failure:
    choice = answer.choices[0]
    text = choice.message.content if choice.message is not None else choice.text
    return Failure(Status.UNPARSED, "the server gave no text") if text is None else text
