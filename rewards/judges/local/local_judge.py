"""What the judges with weights on this machine share: which files a model is, its encoder, order, and counts.

A subclass answers Prompts, sorted so that those with a shared beginning are neighbours; LocalJudge turns questions into
them and puts the answers back into the questions' order. Whether a model sees pictures or reads text only its
configuration says.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from transformers import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING, AutoConfig, AutoTokenizer

from rewards.judges.encoding.ask_once import ask_once
from rewards.judges.encoding.chat import MIN_MASS, ChatEncoder, rating_from_logprobs, rating_from_top
from rewards.judges.encoding.picture import ready
from rewards.judges.encoding.picture_chat import PictureChatEncoder, load_processor
from rewards.judges.encoding.prompt import Prompt
from rewards.judges.judge import RATING_SCALE, Failure, Judge, Question, Rating, by_reading
from rewards.judges.model_files import files_hash, model_folder
from rewards.judges.usage import Usage
from rewards.verdict import Status

T = TypeVar("T")


class LocalJudge(Judge):
    """A judge from a hub id, a folder, or `smollm2`. Opened at the first use, pickled as its settings.

    Args:
        model: a hub id, a folder, or `smollm2`.
        max_length: tokens of a prompt with its answer; the model's own context when None. A longer question loses the
            end of its description, and is a Failure where that is not enough.
        min_mass: the share of the probability, in [0, 1], that must fall on the scale; an answer with less is UNPARSED.
    """

    def __init__(self, model: str, max_length: int | None = None, min_mass: float = MIN_MASS) -> None:
        self.model = model
        self.max_length = max_length
        self.min_mass = min_mass
        self._depth = 0
        self._name: str | None = None
        self._encoder: ChatEncoder | None = None
        self._config: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "usage": Usage(), "_depth": 0, "_encoder": None, "_config": None}

    @property
    def kind(self) -> str:
        """The judge's kind and number format, as the beginning of its name."""
        raise NotImplementedError(f"{type(self).__name__} must say its kind")

    @property
    def name(self) -> str:
        """Kind, model, a hash of the model's files, and the settings: equal names give equal answers."""
        if self._name is None:
            model = f"{self.kind}:{self.model}@{files_hash(self.folder)}"
            self._name = f"{model} mass>={self.min_mass} tokens<={self.context}"
        return self._name

    @property
    def folder(self) -> Path:
        """Where the model's files are."""
        return model_folder(self.model)

    @property
    def config(self) -> Any:
        """The model's configuration."""
        if self._config is None:
            self._config = AutoConfig.from_pretrained(self.folder)
        return self._config

    @property
    def sees_pictures(self) -> bool:
        """Whether the model takes pictures; otherwise it reads text only."""
        return type(self.config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

    @property
    def encoder(self) -> ChatEncoder:
        """The model's tokenizer, or processor, and chat template."""
        if self._encoder is None:
            self._encoder = (
                PictureChatEncoder(load_processor(self.folder))
                if self.sees_pictures
                else ChatEncoder(AutoTokenizer.from_pretrained(self.folder))
            )
        return self._encoder

    @property
    def context(self) -> int:
        """How many tokens a prompt and its answer may have."""
        longest = self.config.get_text_config().max_position_embeddings
        return min(self.max_length or longest, longest)

    def start(self) -> None:
        """Load the model, unless it is loaded. Raises whatever keeps it from loading."""
        raise NotImplementedError(f"{type(self).__name__} must define start()")

    def _open(self) -> None:
        """Load the model for the questions that come now."""
        self.start()

    def close(self) -> None:
        """Let the model go; the next use loads it again."""
        raise NotImplementedError(f"{type(self).__name__} must define close()")

    def __enter__(self) -> Self:
        if self._depth == 0:
            with self.usage.clock("wake_seconds"):
                self._open()
                self._wake()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            with self.usage.clock("sleep_seconds"):
                self._sleep()

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        """One Rating per question, in order, from the distribution of the answer's first token.

        Raises ValueError for a scale with an entry of several tokens, for images that are no PIL images and for images
        put to a model that reads text only, and whatever keeps the model from loading; nothing else.
        """
        ratings = by_reading(self._ready(questions), lambda asked, top: self._rate(asked, scale, top))
        self.usage.unparsed += sum(isinstance(one, Failure) and one.status is Status.UNPARSED for one in ratings)
        return ratings

    def _rate(self, questions: Sequence[Question], scale: Sequence[str], top: int) -> list[Rating | Failure]:
        """The ratings of questions that are read alike."""
        with self, self.usage.clock("seconds"):
            tokens = self.encoder.scale(scale)
            ids = sorted({number for several in tokens.values() for number in several})
            answers, cuts = self._answer(
                questions, 1, lambda prompts: self._top(prompts, top) if top else self._logprobs(prompts, ids)
            )
        return [
            answer
            if isinstance(answer, Failure)
            else rating_from_top(answer, self.encoder.words, scale, cut)
            if top
            else rating_from_logprobs(answer, tokens, self.min_mass, cut)
            for answer, cut in zip(answers, cuts, strict=True)
        ]

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """One greedy text of at most max_tokens tokens per question, in order. Raises as `rate` does."""
        answers = self.write_ids(questions, max_tokens)
        return [answer if isinstance(answer, Failure) else self.encoder.decode(answer) for answer in answers]

    def write_ids(self, questions: Sequence[Question], max_tokens: int) -> list[Sequence[int] | Failure]:
        """What `write` gives, as token ids, the one that ends the answer included where it was written."""
        questions = self._ready(questions)
        with self, self.usage.clock("seconds"):
            answers, _ = self._answer(questions, max_tokens, lambda prompts: self._texts(prompts, max_tokens))
        return answers

    def _logprobs(self, prompts: Sequence[Prompt], ids: list[int]) -> list[Mapping[int, float] | Failure]:
        """Of the token that follows each prompt: the natural log-probabilities of these ids. Prompts are sorted."""
        raise NotImplementedError(f"{type(self).__name__} must define _logprobs(prompts, ids)")

    def _top(self, prompts: Sequence[Prompt], count: int) -> list[Mapping[int, float] | Failure]:
        """Of the token that follows each prompt: the likeliest ids with their natural log-probabilities."""
        raise NotImplementedError(f"{type(self).__name__} must define _top(prompts, count)")

    def _texts(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Sequence[int] | Failure]:
        """The greedy continuation of each prompt, as token ids. Prompts are sorted."""
        raise NotImplementedError(f"{type(self).__name__} must define _texts(prompts, max_tokens)")

    def _wake(self) -> None:
        """At the beginning of the outermost `with judge:`, after `start`."""

    def _sleep(self) -> None:
        """At the end of the outermost `with judge:`."""

    def _ready(self, questions: Sequence[Question]) -> Sequence[Question]:
        """The questions with Pictures for images. Raises ValueError where the model can see none."""
        if not any(question.images for question in questions):
            return questions
        if not self.sees_pictures:
            raise ValueError(
                f"a question has images, and the judge {self.model} reads text only (its architecture is "
                f"{self.config.model_type}): take an image-text model, such as one of Qwen2.5-VL or LLaVA."
            )
        return ready(questions)

    def _answer(
        self, questions: Sequence[Question], reserve: int, ask: Callable[[list[Prompt]], list[T | Failure]]
    ) -> tuple[list[T | Failure], list[int]]:
        """Encode, ask in sorted order, equal prompts once, restore the order; and what was cut of each description.
        What cannot be encoded is a Failure.
        """
        self.usage.questions += len(questions)
        return ask_once(questions, lambda question: self._encode(question, reserve), ask)

    def _encode(self, question: Question, reserve: int) -> tuple[Prompt, int]:
        """What the model reads, and how many characters of its description were cut to make it and the answer fit.
        Raises ValueError where that is not enough.
        """
        return self.encoder.prompt(question, self.context - reserve)
