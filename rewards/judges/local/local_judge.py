"""The base class of judges whose weights are on this machine.

LocalJudge finds the model's files. It encodes questions as Prompts and sorts the Prompts, so that
prompts with a common beginning are neighbours. A subclass answers the sorted Prompts, in
`_logprobs` and `_texts`. LocalJudge then returns the answers in the order of the questions. The
model's configuration decides whether the judge sees pictures.

A model in another process gets the questions in parts (`most_together`). While the model answers
one part, this process encodes the next part.
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
    PLAIN_TEMPLATE,
    ChatEncoder,
    chat_template,
    rating_from_logprobs,
    rating_from_top,
)
from spanreward.rewards.judges.encoding.picture_chat import PictureChatEncoder, load_processor
from spanreward.rewards.judges.encoding.prompt import (
    Batch,
    Prompt,
    encode_batch,
    with_converted_images,
)
from spanreward.rewards.judges.judge import (
    Failure,
    Judge,
    Question,
    Rating,
    T,
    count_unparsed,
)
from spanreward.rewards.judges.model_files import files_hash, model_folder

# How many questions the first of several parts has: as many as vLLM answers at once. The part is
# small, because the model waits while the part is encoded.
FIRST_PART = 256
# Models with relative positions, which can read texts of any length.
RELATIVE_POSITION_MODELS = ("t5", "mt5", "umt5")
# the most tokens for a model of RELATIVE_POSITION_MODELS, unless max_length is given
RELATIVE_CONTEXT = 4096


class LocalJudge(Judge):
    """A judge from a hub id, a folder, or `smollm2`. The model loads at the first use. A pickle has
    only the settings.

    Args:
        model: a hub id, a folder, or `smollm2`.
        max_length: the most tokens of a prompt with its answer; None is the model's context. A
            question that is too long loses the end of its description. A question that is too long
            even without its description becomes a Failure.
        min_mass: the least share of the probability, in [0, 1], on the scale. With less, an answer
            is UNPARSED.
        chat_template: the path of a Jinja file, or "plain" for the bare texts of the messages. None
            is the model's own template, or "plain" for an encoder-decoder model (T5), which has no
            template.
    """

    kind: str  # the kind of judge and its dtype, such as "vllm-auto"; `name` begins with it
    # The most questions in one call of the model.
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
        # The copy reads encoder and config from the model's files again.
        state.pop("encoder", None)
        state.pop("config", None)
        return state

    @cached_property
    def name(self) -> str:
        """The judge's kind, its model, the hashes of the model's files and of its chat template,
        and its settings.

        Judges with equal names give equal answers.
        """
        # a text, or a mapping of several templates by name
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
    def sees_pictures(self) -> bool:  # type: ignore[override]  # read from the model's files
        """Whether the model takes pictures and text."""
        return type(self.config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

    def reads_text_only(self) -> bool:
        """Returns whether the model is on this machine and sees no pictures."""
        # A model that is not on this machine counts as unknown, because a download would be slow.
        try:
            model_folder(self.model, download=False)
        except (OSError, ImportError):  # ImportError: the package of smollm2 is missing
            return False
        return super().reads_text_only()

    @cached_property
    def encoder(self) -> ChatEncoder:
        """The encoder of chats, made from the chat template and from the model's tokenizer, or from
        its processor if the model sees pictures.

        Raises ValueError if the template is "plain" and the model sees pictures, or if ChatEncoder
        refuses the tokenizer or the template.
        """
        template = self.chat_template
        if not template and self.config.is_encoder_decoder:
            template = PLAIN_TEMPLATE
        if template == PLAIN_TEMPLATE and self.sees_pictures:
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
        if self.config.model_type in RELATIVE_POSITION_MODELS:
            return self.max_length or RELATIVE_CONTEXT
        longest = self.config.get_text_config().max_position_embeddings
        return min(self.max_length or longest, longest)

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns a rating or a Failure for each question, in order.

        Raises ValueError for a scale with an entry of several tokens. An error during the loading
        of the model is raised too. All other errors become Failures.
        """
        questions = self._with_converted_images(questions)
        ratings: dict[int, Rating | Failure] = {}
        with self, self.usage.clock("seconds"):
            tokens = self.encoder.token_ids_by_entry(scale)
            # One call of the model has one `top`, which nearly all questions of a metric share.
            numbers_by_top: dict[int, list[int]] = {}
            for number, question in enumerate(questions):
                numbers_by_top.setdefault(question.top, []).append(number)
            for top, numbers in numbers_by_top.items():
                alike = [questions[number] for number in numbers]
                ratings_of_alike = self._rate_alike(alike, top, tokens)
                ratings.update(zip(numbers, ratings_of_alike, strict=True))
        count_unparsed(self.usage, ratings.values())
        return [ratings[number] for number in range(len(questions))]

    def _rate_alike(
        self, questions: Sequence[Question], top: int, tokens: Mapping[str, Sequence[int]]
    ) -> list[Rating | Failure]:
        """Returns a rating or a Failure for each question, in order.

        top: the `Question.top` of all these questions. With 0, a rating is read from the tokens of
        the scale's entries, and with N above 0 from the N likeliest tokens.
        tokens: the token ids of each entry of the scale.
        """
        ids = sorted(set(chain.from_iterable(tokens.values())))
        ask = partial(self._logprobs, ids=ids, top=top)
        answers, cuts = self._in_parts(questions, 1, ask)  # a rating is one token
        ratings: list[Rating | Failure] = []
        for answer, cut in zip(answers, cuts, strict=True):
            if isinstance(answer, Failure):
                ratings.append(answer)
            elif top:
                ratings.append(rating_from_top(answer, self.encoder.words, list(tokens), cut))
            else:
                ratings.append(rating_from_logprobs(answer, tokens, self.min_mass, cut))
        return ratings

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns a text or a Failure for each question, in order, by greedy decoding.

        An error during the loading of the model is raised. All other errors become Failures.
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
        """Returns the answer to each question as token ids, by greedy decoding, or a Failure.

        The ids end in the end token if the judge's engine returns the end token. Unlike `write`,
        equal questions are all asked.
        """
        questions = self._with_converted_images(questions)
        with self, self.usage.clock("seconds"):
            ask = partial(self._texts, max_tokens=max_tokens)
            answers, _ = self._in_parts(questions, max_tokens, ask)
        return answers

    @abstractmethod
    def _logprobs(
        self, prompts: Sequence[Prompt], ids: list[int], top: int
    ) -> list[Mapping[int, float] | Failure]:
        """Returns natural log-probabilities of the next token after each prompt, by token id.

        prompts: sorted. ids: the token ids to return if `top` is 0. top: above 0, the `top`
        likeliest tokens are returned instead.
        """

    @abstractmethod
    def _texts(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Sequence[int] | Failure]:
        """Returns the greedy continuation of each prompt, as token ids.

        prompts: sorted. max_tokens: the most tokens of a continuation.
        """

    def _wake(self) -> None:
        self.start()

    def _with_converted_images(self, questions: Sequence[Question]) -> Sequence[Question]:
        """Returns the questions with Pictures in place of PIL images.

        Raises ValueError if a question has images and the model sees no pictures. This can only
        happen in `write_ids`: `rate` and `write` answer such a question with a Failure before.
        """
        if not any(question.images for question in questions):
            return questions
        if not self.sees_pictures:
            raise ValueError(
                f"a question has images, and {self.model} reads text only (its architecture is "
                f"{self.config.model_type}): take an image-text model, such as one of Qwen2.5-VL."
            )
        return with_converted_images(questions)

    def _in_parts(
        self,
        questions: Sequence[Question],
        reserve: int,
        answer: Callable[[Sequence[Prompt]], Sequence[T | Failure]],
    ) -> tuple[list[T | Failure], list[int]]:
        """Returns an answer per question, in order, and how many characters of each question's
        description were cut.

        reserve: the most tokens of an answer. answer: a function that returns the answers to sorted
        prompts, called once for each of `_parts`. During each call, a thread encodes the next
        questions.
        """
        answers: list[T | Failure] = []
        cuts: list[int] = []
        parts = self._parts(questions)
        with ThreadPoolExecutor(max_workers=1) as encoding_thread:
            encoding = encoding_thread.submit(self._encode_batch, parts[0], reserve)
            for number in range(len(parts)):
                # Wait for the encoding of this part. The wait is long only for the first part:
                # later parts are encoded while the model answers.
                with self.usage.clock("encode_seconds"):
                    batch = encoding.result()
                # Start the next encoding before the model answers, so that both run at once.
                if number + 1 < len(parts):
                    encoding = encoding_thread.submit(
                        self._encode_batch, parts[number + 1], reserve
                    )
                answers += batch.by_question(answer(batch.inputs))
                cuts += batch.cuts
        return answers, cuts

    def _parts(self, questions: Sequence[Question]) -> list[Sequence[Question]]:
        """Returns the questions of each call of the model, in order. With at most `most_together`
        questions, there is one part. Otherwise the first part has FIRST_PART questions, and each
        other part at most `most_together`.
        """
        count = len(questions)
        if count <= self.most_together:
            return [questions]
        starts = [0, *range(FIRST_PART, count, self.most_together)]
        bounds = pairwise([*starts, count])
        return [questions[start:end] for start, end in bounds]

    def _encode_batch(self, questions: Sequence[Question], reserve: int) -> Batch:
        """Returns the questions as sorted prompts, each with space for an answer of `reserve`
        tokens.
        """
        budget = self.context - reserve
        questions_ahead = self.encoder.encode_ahead(questions, budget)
        return encode_batch(questions_ahead, self.encoder.prompt, budget)


def rank_index() -> int:
    """Returns the index of this rank's GPU among the GPUs that the process sees.

    A process may see all GPUs of the machine, or only the GPU of its rank (SLURM, Kubernetes). The
    index is 0 without a GPU, and without LOCAL_RANK, which torchrun and accelerate set.
    """
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    return rank % max(1, torch.cuda.device_count())
