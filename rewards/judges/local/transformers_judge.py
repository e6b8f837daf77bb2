"""A judge that runs in this process through transformers. It needs no vLLM, and is slower than vLLM
on a GPU.

    judge = TransformersJudge("smollm2")                     # or a hub id, or a folder
    judge.rate([Question([{"role": "user", "content": "Rate from 1 to 5: ..."}])])

The model may be a text model, an encoder-decoder model such as Flan-T5, or an image-text model. The
model's configuration decides between the three kinds. The judge is tested with the LLaVA,
Qwen2.5-VL and T5 architectures. The judge computes a common beginning of several prompts once, so
it encodes a picture once for all questions that begin with the picture. The model stays on its
device between calls. Under ZeRO-3, call `start()` before the training arguments are made.
"""

import copy
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForSeq2SeqLM,
    GenerationConfig,
)
from transformers.integrations import is_deepspeed_zero3_enabled

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.encoding.chat import MIN_MASS
from spanreward.rewards.judges.encoding.picture_chat import PictureChatEncoder
from spanreward.rewards.judges.encoding.prompt import Prompt, Run, runs_of_prompts
from spanreward.rewards.judges.judge import Failure, T
from spanreward.rewards.judges.local.forward_names import cache_name, selects_positions
from spanreward.rewards.judges.local.local_judge import LocalJudge, rank_index

log = logging.getLogger(__name__)


class TransformersJudge(LocalJudge):
    """A judge that runs in this process through transformers.

    Args:
        model: a hub id, a folder, or `smollm2`.
        dtype: the dtype of the weights, as torch spells it; "auto" is bfloat16 on CUDA and float32
            on a CPU.
        batch_size: the most prompts in one forward pass. A batch that does not fit into memory is
            halved.
        device: the torch device. None is the rank's GPU (LOCAL_RANK, which torchrun and accelerate
            set), or the CPU without CUDA.
        max_length, min_mass, chat_template: see LocalJudge.
    """

    def __init__(
        self,
        model: str,
        dtype: str = "auto",
        batch_size: int = 16,
        device: str | None = None,
        max_length: int | None = None,
        min_mass: float = MIN_MASS,
        chat_template: str | None = None,
    ) -> None:
        super().__init__(model, max_length, min_mass, chat_template)
        self.batch_size = batch_size
        if not device:
            device = "cpu"
            if torch.cuda.is_available():
                device = f"cuda:{rank_index()}"
        self.device = device
        if dtype == "auto":
            dtype = "bfloat16" if self.device.startswith("cuda") else "float32"
        self.dtype = dtype
        self.kind = f"transformers-{self.dtype}"
        self._model: Any = None
        # `start` sets both attributes, with the functions of forward_names.py.
        self._cache_name: str | None = None
        self._selects_positions = False

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state["_model"] = None
        return state

    def start(self) -> None:
        """Loads the model. Raises RuntimeError under ZeRO-3, which would partition the judge's
        weights.
        """
        if self._model is not None:
            return
        if is_deepspeed_zero3_enabled():
            raise RuntimeError(
                "ZeRO-3 is on, and would partition the judge with the policy: call judge.start() "
                "before the training arguments are made."
            )
        kind: Any
        if self.sees_pictures:
            kind = AutoModelForImageTextToText
        elif self.config.is_encoder_decoder:
            kind = AutoModelForSeq2SeqLM
        else:
            kind = AutoModelForCausalLM
        model = kind.from_pretrained(
            self.folder,
            dtype=self.dtype,
            trust_remote_code=False,
        )
        model = model.to(self.device)
        model.generation_config = _greedy_settings(model.generation_config)
        self._cache_name = cache_name(model)
        self._selects_positions = selects_positions(model)
        self._model = model.eval()

    def close(self) -> None:
        """Drops the judge's reference to the model. Python frees the memory if no other object
        refers to the model.
        """
        self._model = None

    def _logprobs(
        self, prompts: Sequence[Prompt], ids: list[int], top: int
    ) -> list[Mapping[int, float] | Failure]:
        """Returns log-probabilities (`LocalJudge._logprobs`), by one forward pass of each
        prompt.
        """
        if top:
            answers = self._in_runs(prompts, partial(self._logprobs_of_likeliest, top))
        else:
            answers = self._in_runs(prompts, partial(self._logprobs_of_ids, ids))
        self.usage.generated_tokens += len(prompts)  # one token per prompt
        return answers

    def _logprobs_of_ids(
        self,
        ids: list[int],
        rows: list[Prompt],
        shared: int,
        cache: Any,
    ) -> list[Mapping[int, float]]:
        """Returns the log-probabilities of the token ids `ids` after each row.

        rows: prompts that have their first `shared` tokens in common. cache: the keys and values of
        these `shared` tokens; None if `shared` is 0.
        """
        suffixes = [row.ids[shared:] for row in rows]
        table = self._next_token_logprobs(suffixes, cache)
        logprobs: list[Mapping[int, float]] = []
        for values in table[:, ids].tolist():
            logprobs.append(dict(zip(ids, values, strict=True)))
        return logprobs

    def _logprobs_of_likeliest(
        self,
        top: int,
        rows: list[Prompt],
        shared: int,
        cache: Any,
    ) -> list[Mapping[int, float]]:
        """Returns the log-probabilities of the `top` likeliest token ids after each row.

        rows: prompts that have their first `shared` tokens in common. cache: the keys and values of
        these `shared` tokens; None if `shared` is 0.
        """
        suffixes = [row.ids[shared:] for row in rows]
        table = self._next_token_logprobs(suffixes, cache)
        values, indices = table.topk(top)
        likeliest: list[Mapping[int, float]] = []
        pairs = zip(indices.tolist(), values.tolist(), strict=True)
        for ids_of_row, values_of_row in pairs:
            likeliest.append(dict(zip(ids_of_row, values_of_row, strict=True)))
        return likeliest

    def _texts(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Sequence[int] | Failure]:
        """Returns greedy continuations as token ids (`LocalJudge._texts`)."""
        answers = self._in_runs(prompts, partial(self._continuations, max_tokens))
        for text in answers:
            if not isinstance(text, Failure):
                self.usage.generated_tokens += len(text)
        return answers

    def _in_runs(
        self,
        prompts: Sequence[Prompt],
        ask: Callable[[list[Prompt], int, Any], Sequence[T]],
    ) -> list[T | Failure]:
        """Returns an answer per prompt, in order.

        ask: called as `ask(batch, shared, cache)`, returns an answer per prompt of a batch. The
        cache has the keys and values of the first `shared` tokens of all prompts of the batch.
        """
        answers: list[T | Failure] = []
        for run in self._runs(prompts):
            prompts_of_run = prompts[run.start : run.stop]
            answers += self._answers_of_run(prompts_of_run, run.shared, ask)
        self.usage.prompt_tokens += sum(len(prompt.ids) for prompt in prompts)
        if self.device.startswith("cuda"):
            self.usage.peak_memory_bytes = torch.cuda.max_memory_allocated(self.device)
        return answers

    def _answers_of_run(
        self,
        prompts: Sequence[Prompt],
        shared: int,
        ask: Callable[[list[Prompt], int, Any], Sequence[T]],
    ) -> list[T | Failure]:
        """Returns an answer per prompt, in order. The first `shared` tokens, which all prompts have
        in common, are computed once. If this fails, every answer is a Failure.

        ask: see `_in_runs`.
        """
        cache = None
        try:
            if shared:
                cache = self._cache_of_beginning(prompts[0], shared)
        except RuntimeError as error:  # usually out of memory
            failure = self._logged_failure(error, len(prompts))
            return [failure] * len(prompts)
        # Put prompts of similar length into one batch, so that a batch has little padding.
        numbers = range(len(prompts))
        by_length = sorted(numbers, key=lambda number: len(prompts[number].ids))
        answers: dict[int, T | Failure] = {}  # by the index of the prompt
        for first in range(0, len(prompts), self.batch_size):
            batch = by_length[first : first + self.batch_size]
            rows = [prompts[number] for number in batch]
            answers_of_batch = self._ask_by_halves(rows, shared, cache, ask)
            answers.update(zip(batch, answers_of_batch, strict=True))
        # All prompts except the first save the common beginning.
        self.usage.cached_tokens += shared * (len(prompts) - 1)
        return [answers[number] for number in numbers]

    def _runs(self, prompts: Sequence[Prompt]) -> Iterable[Run]:
        """Returns runs of the sorted prompts. The prompts of a run share a beginning, which is
        computed once.

        Some models cannot reuse a beginning: an encoder reads a prompt as a whole, and a model may
        have no cache. For these models, all prompts are one run with an empty beginning.
        """
        if self.config.is_encoder_decoder or self._cache_name is None:
            return [Run(0, len(prompts), 0)]
        return runs_of_prompts(prompts)

    def _ask_by_halves(
        self,
        rows: list[Prompt],
        shared: int,
        cache: Any,
        ask: Callable[[list[Prompt], int, Any], Sequence[T]],
    ) -> Sequence[T | Failure]:
        """Returns `ask(rows, shared, cache)`. If memory runs out, each half of the rows is asked
        separately.

        A single row that does not fit becomes a Failure. Another RuntimeError makes a Failure of
        every row.
        """
        try:
            return ask(rows, shared, cache)
        except torch.OutOfMemoryError as error:
            if len(rows) == 1:
                return [self._logged_failure(error, 1)]
            log.warning(
                "%s: out of memory with %d questions at a time, trying half", self.model, len(rows)
            )
        except RuntimeError as error:
            return [self._logged_failure(error, len(rows))] * len(rows)
        # Ask the halves outside of `except`, because within `except` the traceback still holds the
        # tensors of the batch that was too large.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.usage.retries += len(rows)
        half = len(rows) // 2
        return [
            *self._ask_by_halves(rows[:half], shared, cache, ask),
            *self._ask_by_halves(rows[half:], shared, cache, ask),
        ]

    def _logged_failure(self, error: RuntimeError, questions: int) -> Failure:
        """Logs the error with its traceback, and returns the Failure for the questions.

        questions: how many questions failed, for the log.
        """
        log.error("the judge failed on %d questions", questions, exc_info=error)
        return Failure(Status.ERROR, f"{self.model}: {error}")

    @torch.inference_mode()
    def _cache_of_beginning(self, prompt: Prompt, length: int) -> Any:
        """Returns the keys and values of the first `length` tokens of a prompt.

        The first `length` tokens include all pictures of the prompt.
        """
        inputs: Mapping[str, Any] = {}
        if prompt.pictures:
            assert isinstance(self.encoder, PictureChatEncoder)
            tensors = self.encoder.inputs(prompt, length)
            inputs = tensors.to(self._model.device, self._model.dtype)
        # In Qwen's models, `rope_deltas` keeps how far the pictures of the last call shifted the
        # positions of the later text. Reset `rope_deltas`, because this call has other pictures.
        self._model.base_model.rope_deltas = None
        ids = torch.tensor([prompt.ids[:length]], device=self.device)
        # The logits are not needed. With a vocabulary of 150,000, the logits of one position
        # instead of thousands save gigabytes.
        selection = {"logits_to_keep": 1} if self._selects_positions else {}
        output = self._model(input_ids=ids, **inputs, use_cache=True, **selection)
        return output[self._cache_name]

    @torch.inference_mode()
    def _next_token_logprobs(self, suffixes: list[tuple[int, ...]], cache: Any) -> torch.Tensor:
        """Returns log-probabilities of the next token after each suffix, with the shape
        (len(suffixes), vocabulary).

        suffixes: the ids of each prompt after the common beginning. cache: the keys and values of
        the common beginning, or None.

        The padding is on the right. A causal model does not see the tokens on the right, so no mask
        is needed.
        """
        inputs = padded_inputs(suffixes, self.device)
        if self.config.is_encoder_decoder:
            return self._first_token_logprobs(inputs, len(suffixes))
        arguments: dict[str, Any] = {
            "input_ids": inputs["input_ids"],
            "use_cache": cache is not None,
        }
        arguments |= self._cache_argument(cache, len(suffixes))
        last_places = [len(suffix) - 1 for suffix in suffixes]
        last = torch.tensor(last_places, device=self.device)
        # Compute logits only at positions where a row ends. `places` has the index of each row's
        # last position among these positions.
        places = last
        if self._selects_positions:
            arguments["logits_to_keep"] = last.unique()  # sorted
            places = torch.searchsorted(arguments["logits_to_keep"], last)
        rows = torch.arange(len(suffixes), device=self.device)
        logits = self._model(**arguments).logits[rows, places]
        return logits.float().log_softmax(-1)

    def _first_token_logprobs(self, inputs: dict[str, torch.Tensor], rows: int) -> torch.Tensor:
        """Returns log-probabilities of the first token that the decoder of an encoder-decoder model
        writes, with the shape (rows, vocabulary). The encoder reads the prompts, and the decoder
        gets its start token.

        inputs: the padded prompts, by the name of the model's argument.
        """
        start = self._model.generation_config.decoder_start_token_id
        decoder_ids = torch.full((rows, 1), start, device=self.device)
        logits = self._model(**inputs, decoder_input_ids=decoder_ids).logits[:, -1]
        return logits.float().log_softmax(-1)

    def _cache_argument(self, cache: Any, rows: int) -> dict[str, Any]:
        """Returns the argument of `forward` with the cache, copied for this many rows; {} without a
        cache.
        """
        if cache is None:
            return {}
        return {str(self._cache_name): repeated_cache(cache, rows)}

    @torch.inference_mode()
    def _continuations(
        self,
        max_tokens: int,
        rows: list[Prompt],
        shared: int,
        cache: Any,
    ) -> list[Sequence[int]]:
        """Returns the greedy continuation of each row, without the end token.

        max_tokens: the most tokens of a continuation. rows: prompts that have their first `shared`
        tokens in common. cache: the keys and values of these `shared` tokens; None if `shared`
        is 0.

        The padding is between the common beginning and the rest, because `generate` continues all
        rows from the same column. For an encoder-decoder model, the padding is at the end.
        """
        ids = [row.ids for row in rows]
        if self.config.is_encoder_decoder:
            inputs = padded_inputs(ids, self.device)
            first = 1  # the column after the decoder's start token
        else:
            inputs = padded_inputs(ids, self.device, shared)
            first = inputs["input_ids"].shape[1]  # the column after the prompts
        earlier = self._cache_argument(cache, len(rows))
        texts = self._model.generate(
            **inputs, **earlier, max_new_tokens=max_tokens, do_sample=False
        )
        ends = self._model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        continuations: list[Sequence[int]] = []
        for text in texts[:, first:].tolist():
            continuations.append(_before_first(stops, text))
        return continuations


def _greedy_settings(settings: Any) -> GenerationConfig:
    """Returns the end tokens and the decoder's start token of a model's generation settings, and
    nothing else: a repetition penalty among the settings would change the greedy texts.
    """
    ends = settings.eos_token_id  # one id, or a list of ids
    end = ends[0] if isinstance(ends, list) else ends
    return GenerationConfig(
        eos_token_id=ends,
        pad_token_id=end,
        decoder_start_token_id=settings.decoder_start_token_id,
    )


def _before_first(stops: set[int], tokens: list[int]) -> list[int]:
    """Returns the tokens before the first token of `stops`, or all tokens without such a token."""
    for place, token in enumerate(tokens):
        if token in stops:
            return tokens[:place]
    return tokens


def padded_inputs(
    rows: Sequence[Sequence[int]],
    device: str,
    start: int | None = None,
) -> dict[str, torch.Tensor]:
    """Returns "input_ids" and "attention_mask", both with the shape (len(rows), width), where width
    is the length of the longest row.

    rows: token ids. start: the padding is inserted after the first `start` ids of each row; None is
    the end of each row. The mask is 0 at the padding and 1 at the ids. The rows [1, 2, 3] and
    [1, 4] with start=1 give the ids [1, 2, 3] and [1, 0, 4], and the masks [1, 1, 1] and [1, 0, 1].
    """
    width = max(map(len, rows))
    ids = []
    mask = []
    for row in rows:
        place = len(row) if start is None else start
        pad = [0] * (width - len(row))  # the same zeros for the ids and for the mask
        ids.append([*row[:place], *pad, *row[place:]])
        before = [1] * place
        after = [1] * (len(row) - place)
        mask.append([*before, *pad, *after])
    return {
        "input_ids": torch.tensor(ids, device=device),
        "attention_mask": torch.tensor(mask, device=device),
    }


def repeated_cache(cache: Any, rows: int) -> Any:
    """Returns a copy of the keys and values of one row, repeated for `rows` rows.

    A copy is needed, because the model writes into the cache.
    """
    past = copy.deepcopy(cache)
    past.batch_repeat_interleave(rows)
    return past
