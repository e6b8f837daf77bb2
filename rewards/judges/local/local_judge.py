"""Base class of the judges whose weights are on this machine: model files, encoding, order of
answers, and counts.

LocalJudge turns questions into Prompts, sorted so that common beginnings are neighbours, and puts
the answers back into the order of the questions. A subclass answers the Prompts, in `_logprobs`
and `_texts`. The model's configuration says whether it sees pictures.

Where the model runs in another process, it gets the questions in parts (`most_together`). While it
answers one part, the next one is encoded here.
"""

import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import torch
from transformers import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING, AutoConfig, AutoTokenizer

from spanreward.rewards.judges.encoding.chat import (
    MIN_MASS,
    PLAIN,
    ChatEncoder,
    chat_template,
    rating_from_logprobs,
    rating_from_top,
)
from spanreward.rewards.judges.encoding.picture_chat import PictureChatEncoder, load_processor
from spanreward.rewards.judges.encoding.prompt import Batch, Prompt, encoded, ready
from spanreward.rewards.judges.judge import (
    Failure,
    Judge,
    Question,
    Rating,
    T,
    count_unparsed,
)
from spanreward.rewards.judges.model_files import files_hash, model_folder

# Questions of the first of several parts, for which the model waits: as many as vLLM answers at
# once.
FIRST_PART = 256
# models whose positions are relative, so that they read texts of any length
RELATIVE = ("t5", "mt5", "umt5")
RELATIVE_CONTEXT = 4096  # tokens that these are given


class LocalJudge(Judge):
    """A judge from a hub id, a folder, or `smollm2`. The model loads at the first use. A pickle has
    the settings only.

    Args:
        model: a hub id, a folder, or `smollm2`.
        max_length: the most tokens of a prompt with its answer; None is the model's context. A
            longer question loses the end of its description, and is a Failure if that is not
            enough.
        min_mass: the share of the probability, in [0, 1], that must be on the scale; with less, an
            answer is UNPARSED.
        chat_template: a Jinja file in place of the model's own template, or "plain" for the bare
            text. None is the model's own, and "plain" for an encoder-decoder model (T5), which has
            none.
    """

    kind: str  # the judge's kind and number format, with which its name begins
    # Questions in one call of the model. The next ones are encoded while it answers.
    most_together: int = sys.maxsize
    _takes_shared = True

    def __init__(
        self,
        model: str,
        max_length: int | None = None,
        min_mass: float = MIN_MASS,
        chat_template: str | None = None,
    ) -> None:
        self.model = model
        self.max_length = max_length
        self.min_mass = min_mass
        self.chat_template = chat_template

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # Both are read again of the model's files where they are needed.
        state.pop("encoder", None)
        state.pop("config", None)
        return state

    @cached_property
    def name(self) -> str:
        """Kind, model, hashes of the model's files and of the chat template in use, and settings.

        Judges with equal names give equal answers.
        """
        # a str, or several by name, of which the tokenizer takes one
        template = str(self.encoder.tokenizer.chat_template)
        return (
            f"{self.kind}:{self.model}@{files_hash(self.folder)} "
            f"template@{sha256(template.encode()).hexdigest()[:12]} "
            f"mass>={self.min_mass} tokens<={self.context}"
        )

    @property
    def folder(self) -> Path:
        """The folder with the model's files."""
        return model_folder(self.model)

    @cached_property
    def config(self) -> Any:
        """The model's configuration."""
        return AutoConfig.from_pretrained(self.folder, trust_remote_code=False)

    @property
    def sees_pictures(self) -> bool:  # type: ignore[override]  # its files say it
        """Whether the model takes pictures beside text."""
        return type(self.config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

    def reads_text_only(self) -> bool:
        # What is not here yet is not known, and is not downloaded to be known.
        try:
            model_folder(self.model, download=False)
        except (OSError, ImportError):  # ImportError: of smollm2's package
            return False
        return super().reads_text_only()

    @cached_property
    def encoder(self) -> ChatEncoder:
        """The model's chat template with its tokenizer, or with its processor if it sees
        pictures.

        Raises ValueError for a template of bare text where the model sees pictures, and as
        ChatEncoder does.
        """
        template = self.chat_template
        if not template and self.config.is_encoder_decoder:
            template = PLAIN
        if template == PLAIN and self.sees_pictures:
            raise ValueError(
                f"{self.model} sees pictures, which plain text does not show: leave out "
                "chat_template."
            )
        if self.sees_pictures:
            processor: Any = load_processor(self.folder)
            if template:
                processor.chat_template = chat_template(template, processor.tokenizer)
            return PictureChatEncoder(processor)
        tokenizer: Any = AutoTokenizer.from_pretrained(self.folder, trust_remote_code=False)
        if template:
            tokenizer.chat_template = chat_template(template, tokenizer)
        return ChatEncoder(tokenizer)

    @property
    def context(self) -> int:
        """The most tokens of a prompt with its answer."""
        if self.config.model_type in RELATIVE:
            return self.max_length or RELATIVE_CONTEXT
        longest = self.config.get_text_config().max_position_embeddings
        return min(self.max_length or longest, longest)

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Answers `rate`. Raises ValueError for a scale with an entry of several tokens, and what
        loading the model raises, and nothing else.
        """
        questions = self._ready(questions)
        ratings: dict[int, Rating | Failure] = {}
        with self, self.usage.clock("seconds"):
            tokens = self.encoder.scale(scale)
            ids = sorted(set(chain.from_iterable(tokens.values())))
            # One call of the model has one `top`. Nearly all questions of a metric have the same.
            numbers_by_top: dict[int, list[int]] = {}
            for number, question in enumerate(questions):
                numbers_by_top.setdefault(question.top, []).append(number)
            for top, numbers in numbers_by_top.items():
                alike = [questions[number] for number in numbers]
                ask = partial(self._logprobs, ids=ids, top=top)
                answers, cuts = self._in_parts(alike, 1, ask)  # a rating is one token
                with_cuts = zip(numbers, answers, cuts, strict=True)
                for number, answer, cut in with_cuts:
                    if isinstance(answer, Failure):
                        ratings[number] = answer
                    elif top:
                        words = self.encoder.words
                        ratings[number] = rating_from_top(answer, words, scale, cut)
                    else:
                        ratings[number] = rating_from_logprobs(answer, tokens, self.min_mass, cut)
        count_unparsed(self.usage, ratings.values())
        return [ratings[number] for number in range(len(questions))]

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Answers `write` greedily.

        Raises as `rate_each` does.
        """
        texts: list[str | Failure] = []
        for answer in self.write_ids(questions, max_tokens):
            if isinstance(answer, Failure):
                texts.append(answer)
            else:
                texts.append(self.encoder.decode(answer))
        return texts

    def write_ids(
        self, questions: Sequence[Question], max_tokens: int
    ) -> list[Sequence[int] | Failure]:
        """Like `write_each`, but returns token ids, with the end token if the judge's engine
        returns it. Equal questions are asked each.
        """
        questions = self._ready(questions)
        with self, self.usage.clock("seconds"):
            ask = partial(self._texts, max_tokens=max_tokens)
            answers, _ = self._in_parts(questions, max_tokens, ask)
        return answers

    @abstractmethod
    def _logprobs(
        self, prompts: Sequence[Prompt], ids: list[int], top: int
    ) -> list[Mapping[int, float] | Failure]:
        """Returns log-probabilities (natural) after each of the sorted prompts: of these ids or the
        likeliest `top`.
        """

    @abstractmethod
    def _texts(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Sequence[int] | Failure]:
        """Returns the greedy continuation of each prompt, as token ids. The prompts are sorted."""

    def _wake(self) -> None:
        self.start()

    def _ready(self, questions: Sequence[Question]) -> Sequence[Question]:
        """Returns the questions with Pictures in place of images.

        Raises ValueError if the model sees no pictures. `rate` and `write` come here with none of
        these; `write_ids` may.
        """
        if not any(question.images for question in questions):
            return questions
        if not self.sees_pictures:
            raise ValueError(
                f"a question has images, and {self.model} reads text only (its architecture is "
                f"{self.config.model_type}): take an image-text model, such as one of Qwen2.5-VL."
            )
        return ready(questions)

    def _in_parts(
        self,
        questions: Sequence[Question],
        reserve: int,
        answer: Callable[[Sequence[Prompt]], Sequence[T | Failure]],
    ) -> tuple[list[T | Failure], list[int]]:
        """Returns an answer per question, in order, and how many characters of its description were
        cut. `answer` gets sorted prompts, first FIRST_PART and then `most_together` at a time, and
        the next ones are encoded meanwhile.

        reserve: tokens that are left to the answer.
        """
        answers: list[T | Failure] = []
        cuts: list[int] = []
        parts = [questions]
        if len(questions) > self.most_together:
            count = len(questions)
            starts = [0, *range(FIRST_PART, count, self.most_together)]
            bounds = pairwise([*starts, count])
            parts = [questions[start:end] for start, end in bounds]
        with ThreadPoolExecutor(max_workers=1) as encoding_thread:
            encoding = encoding_thread.submit(self._encoded, parts[0], reserve)
            for number in range(len(parts)):
                # the time in which the model waits; long only for the first part
                with self.usage.clock("encode_seconds"):
                    batch = encoding.result()
                # before the model is asked, so that both work at once
                if number + 1 < len(parts):
                    encoding = encoding_thread.submit(self._encoded, parts[number + 1], reserve)
                answers += batch.by_question(answer(batch.inputs))
                cuts += batch.cuts
        return answers, cuts

    def _encoded(self, questions: Sequence[Question], reserve: int) -> Batch:
        """Encodes questions, and leaves space for `reserve` tokens of the answer."""
        budget = self.context - reserve
        questions_ahead = self.encoder.ahead(questions, budget)
        return encoded(questions_ahead, self.encoder.prompt, budget)


def rank_index() -> int:
    """Returns the index of this rank's GPU among those that the process sees: all of the machine,
    or only its own, as SLURM and Kubernetes may give it. 0 without LOCAL_RANK, which torchrun and
    accelerate set, and without a GPU.
    """
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    return rank % max(1, torch.cuda.device_count())
