"""Base class of the judges behind HTTP: server, name, deadline, ratings, and what happens when the
server fails.

Questions are sent as chats (chat_form.py); ServerJudge sends questions without pictures as token
ids. A rating is read from the log-probabilities of one token. Some servers give no
log-probabilities (some models of OpenAI, Gemini and Anthropic). Then a rating is read from one
written answer, or from `samples` written answers. If the server fails, questions are answered with
Failures, and the run goes on. client.py decides which requests are repeated and for how long.
"""

import logging
import sys
import time
import uuid
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

from PIL import Image

from spanreward.rewards.base.checks import check_choice
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files.http_client import run_coroutine
from spanreward.rewards.judges.encoding.chat import (
    MIN_MASS,
    rating_from_logprobs,
    rating_from_top,
)
from spanreward.rewards.judges.encoding.prompt import Batch
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating, count_unparsed
from spanreward.rewards.judges.remote.answer import Served, ServerAnswer
from spanreward.rewards.judges.remote.chat_form import PICTURE_DETAILS, ChatForm
from spanreward.rewards.judges.remote.endpoint import (
    MAX_LOGPROBS,
    AnswerOrFailure,
    Endpoint,
    RequestBody,
)
from spanreward.rewards.judges.remote.logprobs import places_by_entry, why_no_distribution
from spanreward.rewards.judges.remote.streamed import StreamedRequests
from spanreward.rewards.judges.remote.written_answer import (
    answer_in_words,
    numbers_without_logprobs,
    numbers_without_text,
    pooled_rating,
    text_or_failure,
)

K = TypeVar("K", bound=Hashable)
log = logging.getLogger(__name__)
CHAT_PATH = "chat/completions"  # below /v1/
NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
UNBOUNDED_TOKENS = sys.maxsize  # tokens
WRITTEN_TOKENS = 64  # for a rating in words
THINKING_TOKENS = 4096  # in addition, for a model that thinks before it answers
TRIAL_SECONDS = 20.0
# Trial questions: whether the server rates, and whether it takes pictures.
TRIAL_QUESTION = Question(
    [{"role": "user", "content": "Answer with one digit from 1 to 5, and nothing else: 3"}]
)
WHITE_SQUARE = Image.new("RGB", (64, 64), "white")
SEEING_TRIAL = Question(TRIAL_QUESTION.messages, images=(WHITE_SQUARE,))


class RemoteJudge(Judge):
    """A judge on a server, which several ranks and machines may share.

    The key is read only from the environment variable SPANREWARD_API_KEY, and for OpenAI's own host
    also from OPENAI_API_KEY. A pickle has the settings only.

    Args:
        url: http or https, with or without `/v1`. Several servers of one model must have one common
            url: of vLLM with `--data-parallel-size`, of its router, or of any load balancer.
        model: the server's name for the model.
        min_mass: see LocalJudge.
        deadline: seconds for one call or, within `with judge:`, for all calls together. A question
            without an answer by then is a TIMEOUT.
        concurrency: the most questions under way at a time.
        read_timeout: seconds, per attempt.
        samples: 0 reads a rating from log-probabilities, or from one greedy answer if the server
            gives no log-probabilities. N above 0 reads a rating from N written answers, sampled at
            temperature 1. With N = 1 the answer is greedy.
        detail: how closely the model looks at pictures (low, high, auto or original), for servers
            with that setting. None leaves the choice to the server.

    Raises:
        ValueError: for a url that is not http or https or has a comma, and for an invalid setting.
    """

    remote = True
    _takes_shared = True

    def __init__(
        self,
        url: str,
        model: str,
        min_mass: float = MIN_MASS,
        deadline: float = 300.0,
        concurrency: int = 32,
        read_timeout: float = 60.0,
        samples: int = 0,
        detail: str | None = None,
    ) -> None:
        if "," in url:
            raise ValueError(
                "a judge's url is that of one server, such as a load balancer before several: got "
                "a comma"
            )
        if samples < 0:
            raise ValueError(f"samples is 0 or how many answers make a rating, got {samples}")
        if detail is not None:
            check_choice("detail", detail, PICTURE_DETAILS)
        self.endpoint = Endpoint(url, deadline, concurrency, read_timeout)
        self.model = model
        self.min_mass = min_mass
        self.deadline = deadline
        self.samples = samples
        self.detail = detail
        # the time on the monotonic clock at which the deadline of the outermost `with` ends
        self._deadline_end = 0.0
        self._served: Served | Failure | None = None
        self._sees: bool | None = None  # None: not known yet
        self._gives_logprobs = True
        self._more_tokens = 0  # given to a model that thinks before it answers

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # When they are needed, both are made again from the settings.
        state.pop("encoder", None)
        state.pop("chat_form", None)
        return state

    @cached_property
    def chat_form(self) -> ChatForm:
        return ChatForm(self.detail)

    @property
    def name(self) -> str:
        """The model, the server's address, the model's entry in the server's list (origin of the
        weights, digest, length), the form of the questions, and the settings.

        The address is included, because two servers may have different weights under the same id.
        If the server does not answer, nothing is raised, and the name equals no other name.
        """
        served = self.served
        if served is None:
            # A unique name, so that no cached answer is used for an unknown model.
            source = f"unseen-{uuid.uuid4().hex}"
        else:
            facts = [self.endpoint.url, served.root or served.id]
            if served.digest:
                facts.append(served.digest)
            if served.max_model_len:
                facts.append(f"tokens<={served.max_model_len}")
            source = " ".join(facts)
        settings = f"{self.asked_as} mass>={self.min_mass}"
        if self.samples:
            settings += f" samples={self.samples}"
        if self.detail:
            settings += f" detail={self.detail}"
        return f"server:{self.model}@{source} {settings}"

    @property
    def served(self) -> Served | None:
        """The model's entry in the server's list. Without an answer the value is None, and the next
        use asks again.
        """
        entry = self._look_up()
        return entry if isinstance(entry, Served) else None

    def _look_up(self) -> Served | Failure:
        """Returns the model's entry in the server's list, or a Failure. An entry is kept, and after
        a Failure the next call asks the server again.
        """
        if not isinstance(self._served, Served):
            self._served = run_coroutine(self.endpoint.look_up(self.model))
        return self._served

    @property
    def asked_as(self) -> str:
        """The form of the questions, for the judge's name."""
        return "chat"

    @property
    def sees_pictures(self) -> bool:  # type: ignore[override]  # the server is asked
        """Whether the server takes pictures for this model. To find out, one small picture is sent
        to the server once.

        If the server does not answer at all, the value is True. Each question then fails with its
        own reason.
        """
        if self._sees is None and isinstance(self._look_up(), Served):
            self._sees = self._try_picture()
        return self._sees is not False

    def _try_picture(self) -> bool | None:
        """Returns whether the server answers a question with a small picture. Returns None if that
        is not known: the server may be busy, or may answer no question at all.
        """
        answer = self._ask_trial(SEEING_TRIAL)
        if isinstance(answer, ServerAnswer):
            return True
        if answer.status is Status.TIMEOUT:
            return None
        # The server refused the picture. If the server answers the same question without the
        # picture, the model reads text only.
        if isinstance(self._ask_trial(TRIAL_QUESTION), ServerAnswer):
            log.warning("the model %s reads text only: %s", self.model, answer.message)
            return False
        return None

    def _ask_trial(self, question: Question) -> AnswerOrFailure:
        """Sends a trial question as a chat, which `usage` does not count. The time limit is
        TRIAL_SECONDS, or what is left of the deadline within `with judge:`.
        """
        seconds = TRIAL_SECONDS
        if self._depth:
            seconds = min(TRIAL_SECONDS, self.left())
        fields = {"model": self.model, "max_tokens": 1}
        encode = partial(self.chat_form.encode_batch, budget=UNBOUNDED_TOKENS)
        requests = StreamedRequests([question], encode, fields)
        asking = self.endpoint.ask(CHAT_PATH, requests, {}, seconds)
        answers, _ = run_coroutine(asking)
        return answers[0]

    def start(self) -> None:
        """Asks a trial question.

        Raises RuntimeError if the server is away, lacks the model, or gives no rating.
        """
        entry = self._look_up()
        if isinstance(entry, Failure):
            raise RuntimeError(f"{entry.message}.")
        (answer,) = self.rate([TRIAL_QUESTION])
        if isinstance(answer, Failure):
            raise RuntimeError(
                f"{self.endpoint.url} cannot rate with {self.model!r}: {answer.message}."
            )

    def _wake(self) -> None:
        self._deadline_end = time.monotonic() + self.endpoint.deadline

    def _sleep(self) -> None:
        self.chat_form.forget()

    # How a question is sent. ServerJudge has another way for questions without pictures.

    def _path(self, question: Question) -> str:
        """Returns the server's endpoint for the question, below /v1/."""
        return CHAT_PATH

    def _budget(self, path: str, questions: Sequence[Question], reserve: int) -> int:
        """Returns the most tokens that a question may have, so that `reserve` tokens are left to
        answer.
        """
        return UNBOUNDED_TOKENS

    def _encode_batch(self, path: str, questions: Sequence[Question], budget: int) -> Batch:
        """Returns each question's part of a request. ServerJudge cuts it to `budget` tokens."""
        return self.chat_form.encode_batch(questions, budget)

    def _rating_fields(
        self, path: str, scale: Sequence[str], top: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the request's fields that ask for log-probabilities, and further fields that not
        every server takes.

        top: how many of the likeliest tokens a rating is read from, 0 for MAX_LOGPROBS. Raises
        ValueError for a scale that cannot be read from one token.
        """
        _check_beginnings(scale)
        return {"logprobs": True, "top_logprobs": top or MAX_LOGPROBS}, {}

    def _word(self, token: str) -> str:
        """Returns the text of a token in the server's answer."""
        return token

    # Ratings and texts.

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns a rating or a Failure for each question, in order.

        Raises ValueError for a scale that cannot be read from one token.
        """
        forms: list[tuple[str, int]] = []
        for question in questions:
            forms.append((self._path(question), question.top))
        # Questions with the same endpoint and `top` are sent together. The ratings are then put
        # into the order of the questions.
        ratings: dict[int, Rating | Failure] = {}
        for (path, top), numbers in numbers_by_kind(forms).items():
            alike = [questions[number] for number in numbers]
            rated = self._rate_alike(path, top, alike, scale)
            for number, rating in zip(numbers, rated, strict=True):
                ratings[number] = rating
        count_unparsed(self.usage, ratings.values())
        return [ratings[number] for number in range(len(questions))]

    def _rate_alike(
        self,
        path: str,
        top: int,
        questions: Sequence[Question],
        scale: Sequence[str],
    ) -> list[Rating | Failure]:
        """Rates questions with the same endpoint and `top`, by log-probabilities if the server
        gives them.

        path: the endpoint, below /v1/. top: 0, or how many of the likeliest tokens a rating is read
        from (`Question.top`). Published code reads a rating from the likeliest tokens only. So with
        `top` above 0 a rating is never read from a written answer.
        """
        may_write = top == 0
        if may_write and (self.samples or not self._gives_logprobs):
            return self._rate_in_writing(path, questions, scale)
        fields, extras = self._rating_fields(path, scale, top)
        fields["max_tokens"] = 1
        answers, cuts = self._ask(path, questions, fields, extras)
        ratings: list[Rating | Failure] = []
        for answer, cut in zip(answers, cuts, strict=True):
            if isinstance(answer, Failure):
                ratings.append(answer)
            else:
                ratings.append(self._rating(answer, scale, top, cut))
        # Questions whose answers have no log-probabilities are asked again, for a rating in words.
        missing = numbers_without_logprobs(answers)
        if may_write and missing:
            self._note_missing_logprobs(answers, len(missing))
            unrated = [questions[number] for number in missing]
            written = self._rate_in_writing(path, unrated, scale)
            for number, rating in zip(missing, written, strict=True):
                ratings[number] = rating
        return ratings

    def _note_missing_logprobs(self, answers: Sequence[AnswerOrFailure], missing: int) -> None:
        """Logs that answers had no log-probabilities. If no answer had any, the next calls ask for
        a rating in words at once.

        missing: how many of the answers had no log-probabilities.
        """
        answered = sum(isinstance(answer, ServerAnswer) for answer in answers)
        if missing == answered:
            self._gives_logprobs = False
        log.warning(
            "%s gives no log-probabilities for %s: %d ratings are read from one written answer "
            "each, which is one sample and no distribution (samples=N asks for N)",
            self.endpoint.url,
            self.model,
            missing,
        )

    def _rating(
        self,
        answer: ServerAnswer,
        scale: Sequence[str],
        top: int,
        cut: int,
    ) -> Rating | Failure:
        """Returns the rating that the log-probabilities of an answer give. Returns an UNPARSED
        Failure if no rating can be read.

        top: 0 if only tokens that are exactly an entry of the scale count. Above 0 if a token
        counts for every entry that its text contains, as in PoSh's published code. cut: how many
        characters of the question's description were cut, for `Rating.cut`.
        """
        first = answer.first
        if not first:
            return Failure(
                Status.UNPARSED,
                f"the server gave no log-probabilities ({answer_in_words(answer)}): serve the "
                "model with them, and see that nothing filters it",
            )
        words = [self._word(token) for token, _ in first]
        why = why_no_distribution(first, words, scale)
        if why:
            return Failure(Status.UNPARSED, why)
        rating = self._rating_from_tokens(first, words, scale, top, cut)
        if isinstance(rating, Failure):
            return Failure(rating.status, f"{rating.message} ({answer_in_words(answer)})")
        return rating

    def _rating_from_tokens(
        self,
        first: Sequence[tuple[str, float]],
        words: Sequence[str],
        scale: Sequence[str],
        top: int,
        cut: int,
    ) -> Rating | Failure:
        """Returns the rating that the likeliest tokens at the first position give.

        first: the tokens as the server writes them ("4" or "token_id:19"), each with its natural
        log-probability. words: the texts of the same tokens, as `_word` returns them: "4" for
        "token_id:19". top, cut: as in `_rating`.
        """
        # The tokens have no ids here, so a token's index in the list serves as its id.
        logprobs = dict(enumerate(logprob for _, logprob in first))
        if top:
            return rating_from_top(logprobs, words, scale, cut)
        places = places_by_entry(words, scale)
        return rating_from_logprobs(logprobs, places, self.min_mass, cut)

    def _rate_in_writing(
        self, path: str, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Reads each rating from one greedy answer, or from `samples` sampled answers."""
        times = max(self.samples, 1)
        temperature = 1.0 if times > 1 else 0.0
        # Each question occurs `times` in a row, so its answers are neighbours.
        repeated: list[Question] = []
        for question in questions:
            repeated += [question] * times
        texts, cuts = self._write_texts(path, repeated, WRITTEN_TOKENS, temperature)
        ratings: list[Rating | Failure] = []
        for start in range(0, len(repeated), times):  # where a question's answers begin
            of_question = texts[start : start + times]
            ratings.append(pooled_rating(of_question, scale, cuts[start]))
        for rating in ratings:
            if isinstance(rating, Rating):
                self.usage.written += 1
        return ratings

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns an answer in words to each question, in order, by greedy decoding."""
        texts: dict[int, str | Failure] = {}
        paths = map(self._path, questions)
        for path, numbers in numbers_by_kind(paths).items():
            alike = [questions[number] for number in numbers]
            written, _ = self._write_texts(path, alike, max_tokens, temperature=0.0)
            for number, text in zip(numbers, written, strict=True):
                texts[number] = text
        return [texts[number] for number in range(len(questions))]

    def _write_texts(
        self,
        path: str,
        questions: Sequence[Question],
        max_tokens: int,
        temperature: float,
    ) -> tuple[list[str | Failure], list[int]]:
        """Returns a text per question, and how many characters of each question's description were
        cut.

        A thinking model may use up its tokens before it answers. If an answer ended by its length
        and has no text, the question is asked once more with THINKING_TOKENS more tokens. All later
        questions to the model get these additional tokens, too.
        """
        tokens = max_tokens + self._more_tokens
        answers, cuts = self._ask_for_text(path, questions, tokens, temperature)
        tried = f"{tokens:,}"
        thinking = numbers_without_text(answers)
        if thinking and not self._more_tokens:
            self._note_thinking(max_tokens)
            tokens = max_tokens + self._more_tokens
            tried += f" and then {tokens:,}"
            unanswered = [questions[number] for number in thinking]
            again, _ = self._ask_for_text(path, unanswered, tokens, temperature)
            for number, answer in zip(thinking, again, strict=True):
                answers[number] = answer
        return [text_or_failure(answer, tried) for answer in answers], cuts

    def _ask_for_text(
        self,
        path: str,
        questions: Sequence[Question],
        tokens: int,
        temperature: float,
    ) -> tuple[list[AnswerOrFailure], list[int]]:
        """Asks for answers of at most `tokens` tokens. Returns what `_ask` returns."""
        fields = {"temperature": temperature, "max_tokens": tokens}
        extras = {"repetition_penalty": 1.0}  # no penalty, whatever the model's own settings are
        return self._ask(path, questions, fields, extras)

    def _note_thinking(self, max_tokens: int) -> None:
        """Gives the model THINKING_TOKENS more tokens for every text from now on, and logs it.

        max_tokens: the tokens that the model has used up without an answer.
        """
        self._more_tokens = THINKING_TOKENS
        log.warning(
            "%s spends %d tokens without an answer: %s gets %d more from now on",
            self.endpoint.url,
            max_tokens,
            self.model,
            THINKING_TOKENS,
        )

    def _ask(
        self,
        path: str,
        questions: Sequence[Question],
        fields: RequestBody,
        extras: RequestBody,
    ) -> tuple[list[AnswerOrFailure], list[int]]:
        """Sends the questions with these fields in every request. Returns an answer per question,
        and how many characters of each question's description were cut.

        extras: fields that not every server takes.
        """
        if path == CHAT_PATH:
            extras = {**NO_THINKING, **extras}
        fields = {"model": self.model, "temperature": 0.0, **fields}
        with self, self.usage.clock("seconds"):
            budget = self._budget(path, questions, fields["max_tokens"])
            encode = partial(self._encode_batch, path, budget=budget)
            requests = StreamedRequests(questions, encode, fields)
            asking = self.endpoint.ask(path, requests, extras, self.left())
            answers, retries = run_coroutine(asking)
        self._count_usage(answers, retries)
        return requests.by_question(answers)

    def left(self) -> float:
        """Returns how many seconds of the deadline are left, within `with judge:`."""
        return max(self._deadline_end - time.monotonic(), 0.0)

    def _count_usage(self, answers: Sequence[AnswerOrFailure], retries: int) -> None:
        """Adds the answers of one call to the judge's usage."""
        usage = self.usage
        usage.retries += retries
        for answer in answers:
            if isinstance(answer, Failure):
                if answer.status is Status.TIMEOUT:
                    usage.timeouts += 1
            else:
                usage.prompt_tokens += answer.prompt_tokens
                usage.generated_tokens += answer.generated_tokens
                usage.cached_tokens += answer.cached_tokens


def _check_beginnings(scale: Sequence[str]) -> None:
    """Raises ValueError for a scale with an entry that begins like another entry. On a scale from 1
    to 10 the token "1" may be the beginning of "10".
    """
    for entry in scale:
        longer = [other for other in scale if other != entry and other.startswith(entry)]
        if longer:
            raise ValueError(
                f"the scale's {longer[0]!r} begins like {entry!r}, and a chat shows one token: "
                "choose entries that do not, or ask with the model's tokenizer."
            )


def numbers_by_kind(kinds: Iterable[K]) -> dict[K, list[int]]:
    """Returns the numbers of the questions of each kind: ["a", "b", "a"] gives {"a": [0, 2], "b":
    [1]}.

    kinds: the kind of each question, in order.
    """
    numbers: dict[K, list[int]] = {}
    for number, kind in enumerate(kinds):
        numbers.setdefault(kind, []).append(number)
    return numbers
