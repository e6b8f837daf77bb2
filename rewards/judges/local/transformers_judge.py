"""A judge that runs in this process through transformers. It needs no engine, and is slower than
vLLM on a GPU.

    judge = TransformersJudge("smollm2")                     # or a hub id, or a folder
    judge.rate([Question([{"role": "user", "content": "Rate from 1 to 5: ..."}])])

It takes text models, also encoder-decoder models such as Flan-T5, and image-text models (by their
configuration), and is tested with the LLaVA, Qwen2.5-VL and T5 architectures. A common beginning of
a call's prompts is computed once, so a picture is encoded once for all questions that begin with
it. The model stays on its device between calls. Under ZeRO-3, call `start()` before the training
arguments are made.
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
from spanreward.rewards.judges.encoding.prompt import Prompt, Run, runs
from spanreward.rewards.judges.judge import Failure, T
from spanreward.rewards.judges.local.forward_names import cache_name, selects_positions
from spanreward.rewards.judges.local.local_judge import LocalJudge, rank_index

log = logging.getLogger(__name__)


class TransformersJudge(LocalJudge):
    """A judge that runs in this process through transformers.

    Args:
        model: a hub id, a folder, or `smollm2`.
        dtype: of the weights, as torch spells it; "auto" is bfloat16 on CUDA and float32 on a CPU.
        batch_size: prompts in one forward pass. A batch that does not fit into memory is halved.
        device: None is the rank's GPU (LOCAL_RANK, which torchrun and accelerate set), or the CPU
            without CUDA.
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
        self._cache_name: str | None = None  # of the model's forward, known once it is loaded
        self._selects_positions = False

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state["_model"] = None
        return state

    def start(self) -> None:
        """Loads the model. Raises RuntimeError under ZeRO-3, which would partition the judge."""
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
        # A model's own settings may have a repetition penalty, which changes greedy texts.
        ends = model.generation_config.eos_token_id
        end = ends[0] if isinstance(ends, list) else ends
        start = model.generation_config.decoder_start_token_id
        model.generation_config = GenerationConfig(
            eos_token_id=ends, pad_token_id=end, decoder_start_token_id=start
        )
        self._cache_name = cache_name(model)
        self._selects_positions = selects_positions(model)
        self._model = model.eval()

    def close(self) -> None:
        """Lets go of the model. Its memory is free once nobody else holds it."""
        self._model = None

    def _logprobs(
        self, prompts: Sequence[Prompt], ids: list[int], top: int
    ) -> list[Mapping[int, float] | Failure]:
        """Returns log-probabilities as LocalJudge says, by one forward pass of each prompt."""
        if top:
            answers = self._in_runs(prompts, partial(self._likeliest, top))
        else:
            answers = self._in_runs(prompts, partial(self._of_ids, ids))
        self.usage.generated_tokens += len(prompts)  # the one token after each
        return answers

    def _of_ids(
        self,
        ids: list[int],
        rows: list[Prompt],
        shared: int,
        cache: Any,
    ) -> list[Mapping[int, float]]:
        """Returns the log-probabilities of these ids after each row."""
        suffixes = [row.ids[shared:] for row in rows]
        table = self._after(suffixes, cache)
        logprobs: list[Mapping[int, float]] = []
        for values in table[:, ids].tolist():
            logprobs.append(dict(zip(ids, values, strict=True)))
        return logprobs

    def _likeliest(
        self,
        top: int,
        rows: list[Prompt],
        shared: int,
        cache: Any,
    ) -> list[Mapping[int, float]]:
        """Returns the log-probabilities of the likeliest `top` ids after each row."""
        suffixes = [row.ids[shared:] for row in rows]
        table = self._after(suffixes, cache)
        values, indices = table.topk(top)
        likeliest: list[Mapping[int, float]] = []
        pairs = zip(indices.tolist(), values.tolist(), strict=True)
        for ids_of_row, values_of_row in pairs:
            likeliest.append(dict(zip(ids_of_row, values_of_row, strict=True)))
        return likeliest

    def _texts(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Sequence[int] | Failure]:
        answers = self._in_runs(prompts, partial(self._continued, max_tokens))
        for text in answers:
            if not isinstance(text, Failure):
                self.usage.generated_tokens += len(text)
        return answers

    def _in_runs(
        self,
        prompts: Sequence[Prompt],
        ask: Callable[[list[Prompt], int, Any], Sequence[T]],
    ) -> list[T | Failure]:
        """Calls `ask(batch, shared, cache)` for batches of prompts whose first `shared` tokens are
        in the cache, and returns an answer per prompt, in order.
        """
        not_asked = Failure(Status.ERROR, "not asked")
        answers: list[T | Failure] = [not_asked] * len(prompts)
        lengths = [len(prompt.ids) for prompt in prompts]
        for run in self._runs(prompts):
            # The common beginning, once. Where it does not fit, its prompts do not either.
            numbers = range(run.start, run.stop)
            cache = None
            try:
                if run.shared:
                    cache = self._prefilled(prompts[run.start], run.shared)
            except RuntimeError as error:  # out of memory, above all
                failure = self._failure(error, len(numbers))
                for number in numbers:
                    answers[number] = failure
                continue
            # Prompts of like length stand in one batch, so that little of it is padding.
            order = sorted(numbers, key=lengths.__getitem__)
            for first in range(0, len(order), self.batch_size):
                batch = order[first : first + self.batch_size]
                rows = [prompts[number] for number in batch]
                answers_of_batch = self._halving(rows, run.shared, cache, ask)
                for number, answer in zip(batch, answers_of_batch, strict=True):
                    answers[number] = answer
            self.usage.cached_tokens += run.shared * (len(numbers) - 1)  # all but the first
        self.usage.prompt_tokens += sum(lengths)
        if self.device.startswith("cuda"):
            self.usage.peak_memory_bytes = torch.cuda.max_memory_allocated(self.device)
        return answers

    def _runs(self, prompts: Sequence[Prompt]) -> Iterable[Run]:
        """Cuts the sorted prompts into runs that share a beginning, which is computed once.

        An encoder reads a prompt as a whole, and a model without a cache reads it anew, so these
        share none.
        """
        if self.config.is_encoder_decoder or self._cache_name is None:
            return [Run(0, len(prompts), 0)]
        return runs(prompts)

    def _halving(
        self,
        rows: list[Prompt],
        shared: int,
        cache: Any,
        ask: Callable[[list[Prompt], int, Any], Sequence[T]],
    ) -> Sequence[T | Failure]:
        """Calls `ask`; if memory runs out, once for each half of the rows.

        A single row without room is a Failure. Another error is one for all rows.
        """
        try:
            return ask(rows, shared, cache)
        except torch.OutOfMemoryError as error:
            if len(rows) == 1:
                return [self._failure(error, 1)]
            log.warning(
                "%s: out of memory with %d questions at a time, trying half", self.model, len(rows)
            )
        except RuntimeError as error:
            return [self._failure(error, len(rows))] * len(rows)
        # Outside `except`, because there the traceback still holds the batch that was too large.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.usage.retries += len(rows)
        half = len(rows) // 2
        return [
            *self._halving(rows[:half], shared, cache, ask),
            *self._halving(rows[half:], shared, cache, ask),
        ]

    def _failure(self, error: RuntimeError, questions: int) -> Failure:
        """Logs the error with its traceback, and returns it as so many questions' answer."""
        log.error("the judge failed on %d questions", questions, exc_info=error)
        return Failure(Status.ERROR, f"{self.model}: {error}")

    @torch.inference_mode()
    def _prefilled(self, prompt: Prompt, length: int) -> Any:
        """Computes the keys and values of a prompt's first tokens, which include its pictures."""
        inputs: Mapping[str, Any] = {}
        if prompt.pictures:
            assert isinstance(self.encoder, PictureChatEncoder)
            tensors = self.encoder.inputs(prompt, length)
            inputs = tensors.to(self._model.device, self._model.dtype)
        # Qwen's models keep here how far the last call's pictures moved the positions of the text
        # after them.
        self._model.base_model.rope_deltas = None
        ids = torch.tensor([prompt.ids[:length]], device=self.device)
        # No logits are needed. One row of a vocabulary of 150,000 in place of thousands saves GBs.
        selection = {"logits_to_keep": 1} if self._selects_positions else {}
        output = self._model(input_ids=ids, **inputs, use_cache=True, **selection)
        return output[self._cache_name]

    @torch.inference_mode()
    def _after(self, suffixes: list[tuple[int, ...]], cache: Any) -> torch.Tensor:
        """Returns log-probabilities (len(suffixes), vocabulary) of the token after each suffix of
        what is in the cache. The padding is on the right, where a causal model does not see it, so
        no mask is needed.
        """
        inputs = padded(suffixes, self.device)
        # An encoder reads the prompt, and the decoder begins with the token that means "begin".
        if self.config.is_encoder_decoder:
            start = self._model.generation_config.decoder_start_token_id
            shape = len(suffixes), 1
            inputs["decoder_input_ids"] = torch.full(shape, start, device=self.device)
            last_logits = self._model(**inputs).logits[:, -1]
            return last_logits.float().log_softmax(-1)
        arguments: dict[str, Any] = {
            "input_ids": inputs["input_ids"],
            "use_cache": cache is not None,
        }
        arguments |= self._earlier(cache, len(suffixes))
        last_places = [len(suffix) - 1 for suffix in suffixes]
        last = torch.tensor(last_places, device=self.device)
        # Logits are computed only where some row ends. `places` says where each row's are then.
        places = last
        if self._selects_positions:
            arguments["logits_to_keep"] = last.unique()  # sorted
            places = torch.searchsorted(arguments["logits_to_keep"], last)
        rows = torch.arange(len(suffixes), device=self.device)
        logits = self._model(**arguments).logits[rows, places]
        return logits.float().log_softmax(-1)

    def _earlier(self, cache: Any, rows: int) -> dict[str, Any]:
        """Returns the argument that gives what is in the cache to each of these rows."""
        if cache is None:
            return {}
        return {str(self._cache_name): repeated(cache, rows)}

    @torch.inference_mode()
    def _continued(
        self,
        max_tokens: int,
        rows: list[Prompt],
        shared: int,
        cache: Any,
    ) -> list[Sequence[int]]:
        """Returns the greedy continuations, without the end token, of prompts that begin with what
        is in the cache. The padding is between the shared beginning and the rest, because
        generation needs the ends in one column; for an encoder it is at the end.
        """
        ids = [row.ids for row in rows]
        if self.config.is_encoder_decoder:
            inputs = padded(ids, self.device)
            first = 1  # behind the token that a decoder starts from
        else:
            inputs = padded(ids, self.device, shared)
            first = inputs["input_ids"].shape[1]  # behind the prompt
        earlier = self._earlier(cache, len(rows))
        texts = self._model.generate(
            **inputs, **earlier, max_new_tokens=max_tokens, do_sample=False
        )
        ends = self._model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        continuations: list[Sequence[int]] = []
        for text in texts[:, first:].tolist():
            continuations.append(_before_first(stops, text))
        return continuations


def _before_first(stops: set[int], tokens: list[int]) -> list[int]:
    """Returns the tokens before the first of `stops`, all where there is none."""
    for place, token in enumerate(tokens):
        if token in stops:
            return tokens[:place]
    return tokens


def padded(
    rows: Sequence[Sequence[int]],
    device: str,
    start: int | None = None,
) -> dict[str, torch.Tensor]:
    """Returns ids (len(rows), width) and the mask of their padding, after each row's first `start`
    ids (None: all).
    """
    width = max(map(len, rows))
    ids = []
    mask = []
    for row in rows:
        place = len(row) if start is None else start
        pad = [0] * (width - len(row))  # of the ids and of the mask
        ids.append([*row[:place], *pad, *row[place:]])
        before = [1] * place
        after = [1] * (len(row) - place)
        mask.append([*before, *pad, *after])
    return {
        "input_ids": torch.tensor(ids, device=device),
        "attention_mask": torch.tensor(mask, device=device),
    }


def repeated(cache: Any, rows: int) -> Any:
    """Copies the keys and values for this many rows.

    A copy, because the model writes into its cache.
    """
    past = copy.deepcopy(cache)
    past.batch_repeat_interleave(rows)
    return past
