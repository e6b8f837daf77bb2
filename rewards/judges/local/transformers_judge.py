"""A judge run by transformers in this process: exact, needs no engine, and slower than vLLM on a GPU.

    judge = TransformersJudge("smollm2")                     # or a hub id, or a folder
    judge.rate([Question([{"role": "user", "content": "Rate from 1 to 5: ..."}])])

    judge = TransformersJudge("Qwen/Qwen2.5-VL-7B-Instruct", dtype="bfloat16")
    judge.rate([Question([{"role": "user", "content": "Rate from 1 to 5: ..."}], images=(picture,))])

Text models and, by their configuration, image-text models: their pictures stand before the text of the first user
message. Tested with the LLaVA and Qwen2.5-VL architectures. What the prompts of a call share at their beginning is
computed once, so a picture is encoded once for all questions of a call that begin with it. The model stays on its
device between calls; under ZeRO-3 call `start()` before the training arguments exist.
"""

import copy
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from rewards.judges.encoding.chat import MIN_MASS
from rewards.judges.encoding.picture_chat import PictureChatEncoder
from rewards.judges.encoding.prompt import Prompt, runs
from rewards.judges.judge import Failure
from rewards.judges.local.local_judge import LocalJudge
from rewards.judges.local.weights import QUANTIZATIONS, Quantization, load_model
from rewards.judges.model_files import files_hash
from rewards.naming import unknown
from rewards.verdict import Status

log = logging.getLogger(__name__)

T = TypeVar("T")


def rank_device() -> str:
    """The device of this rank: several ranks of a machine may each see all its GPUs, or only their own."""
    if not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{int(os.environ.get('LOCAL_RANK', '0')) % torch.cuda.device_count()}"


class TransformersJudge(LocalJudge):
    """A judge through transformers, in this process.

    Args:
        model: a hub id, a folder, or `smollm2`.
        dtype: of the weights, as torch spells it; "auto" is bfloat16 on CUDA, float32 on a CPU.
        batch_size: prompts in one forward pass; what does not fit into memory is halved.
        device: None is the rank's own where there is CUDA (LOCAL_RANK, as torchrun and accelerate set it), else the
            CPU.
        quantization: load the weights in "4bit" or "8bit", with bitsandbytes on CUDA (untested on GPU).
        adapter: the folder of a LoRA adapter that peft saved.
        max_length: see LocalJudge.
        min_mass: see LocalJudge.

    Raises:
        ValueError: for another quantization.
    """

    def __init__(
        self,
        model: str,
        dtype: str = "auto",
        batch_size: int = 16,
        device: str | None = None,
        quantization: Quantization | None = None,
        adapter: str | None = None,
        max_length: int | None = None,
        min_mass: float = MIN_MASS,
    ) -> None:
        if quantization is not None and quantization not in QUANTIZATIONS:
            raise ValueError(unknown("quantization", quantization, QUANTIZATIONS))
        super().__init__(model, max_length, min_mass)
        self.batch_size = batch_size
        self.device = device or rank_device()
        on_cuda = self.device.startswith("cuda")
        self.dtype = ("bfloat16" if on_cuda else "float32") if dtype == "auto" else dtype
        self.quantization = quantization
        self.adapter = adapter
        self._model: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_model": None}

    @property
    def kind(self) -> str:
        parts = ["transformers", self.dtype]
        if self.quantization is not None:
            parts.append(self.quantization)
        if self.adapter is not None:
            parts.append(f"adapter@{files_hash(Path(self.adapter).expanduser())}")
        return "-".join(parts)

    def start(self) -> None:
        """Load the model. Raises RuntimeError and FileNotFoundError as `load_model` does."""
        if self._model is None:
            adapter = Path(self.adapter).expanduser() if self.adapter is not None else None
            self._model = load_model(self.folder, self.dtype, self.device, self.quantization, adapter)

    def close(self) -> None:
        self._model = None

    def _logprobs(self, prompts: Sequence[Prompt], ids: list[int]) -> list[Mapping[int, float] | Failure]:
        return self._next(prompts, lambda table: [dict(zip(ids, row, strict=True)) for row in table[:, ids].tolist()])

    def _top(self, prompts: Sequence[Prompt], count: int) -> list[Mapping[int, float] | Failure]:
        def likeliest(table: torch.Tensor) -> list[Mapping[int, float]]:
            best = table.topk(count)
            rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            return [dict(zip(numbers, values, strict=True)) for numbers, values in rows]

        return self._next(prompts, likeliest)

    def _next(
        self, prompts: Sequence[Prompt], read: Callable[[torch.Tensor], list[Mapping[int, float]]]
    ) -> list[Mapping[int, float] | Failure]:
        """What `read` takes of log-probabilities (some prompts, vocabulary): those of the tokens that follow them."""

        def ask(rows: list[Prompt], shared: int, cache: Any) -> list[Mapping[int, float]]:
            return read(self._after([row.ids[shared:] for row in rows], cache))

        answers = self._in_runs(prompts, ask)
        self.usage.generated_tokens += len(prompts)
        return answers

    def _texts(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Sequence[int] | Failure]:
        def ask(rows: list[Prompt], shared: int, cache: Any) -> list[Sequence[int]]:
            return self._continued([row.ids for row in rows], shared, cache, max_tokens)

        answers = self._in_runs(prompts, ask)
        self.usage.generated_tokens += sum(len(text) for text in answers if not isinstance(text, Failure))
        return answers

    def _in_runs(
        self, prompts: Sequence[Prompt], ask: Callable[[list[Prompt], int, Any], Sequence[T]]
    ) -> list[T | Failure]:
        """An answer per prompt, from `ask` for batches of prompts whose shared beginning is in the given cache."""
        answers: list[T | Failure] = [Failure(Status.ERROR, "not asked")] * len(prompts)
        for run in runs(prompts):
            try:
                cache = self._prefilled(prompts[run.start], run.shared) if run.shared else None
            except RuntimeError as error:  # out of memory, above all
                answers[run.start : run.stop] = [self._failure(error, run.stop - run.start)] * (run.stop - run.start)
                continue
            order = sorted(range(run.start, run.stop), key=lambda n: len(prompts[n].ids))
            for first in range(0, len(order), self.batch_size):
                batch = order[first : first + self.batch_size]
                rows = [prompts[n] for n in batch]
                for number, answer in zip(batch, self._halving(rows, run.shared, cache, ask), strict=True):
                    answers[number] = answer
            self.usage.cached_tokens += run.shared * (run.stop - run.start - 1)
        self.usage.prompt_tokens += sum(len(prompt.ids) for prompt in prompts)
        if self.device.startswith("cuda"):
            self.usage.peak_memory_bytes = torch.cuda.max_memory_allocated(self.device)
        return answers

    def _halving(
        self, rows: list[Prompt], shared: int, cache: Any, ask: Callable[[list[Prompt], int, Any], Sequence[T]]
    ) -> Sequence[T | Failure]:
        """What `ask` says; of halves where memory runs out. A single row for which it does is a Failure."""
        try:
            return ask(rows, shared, cache)
        except torch.OutOfMemoryError as error:
            if len(rows) == 1:
                return [self._failure(error, 1)]
            log.warning("%s: out of memory with %d questions at a time, trying half", self.model, len(rows))
        except RuntimeError as error:
            return [self._failure(error, len(rows))] * len(rows)
        # Not within `except`, where the error's traceback still holds the batch that was too large.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.usage.retries += len(rows)
        half = len(rows) // 2
        return [*self._halving(rows[:half], shared, cache, ask), *self._halving(rows[half:], shared, cache, ask)]

    def _failure(self, error: RuntimeError, questions: int) -> Failure:
        log.error("the judge failed on %d questions", questions, exc_info=error)
        return Failure(Status.ERROR, f"{self.model}: {error}")

    @torch.inference_mode()
    def _prefilled(self, prompt: Prompt, length: int) -> Any:
        """The keys and values of a prompt's first tokens, its pictures among them."""
        inputs: Mapping[str, Any] = {}
        if prompt.pictures:
            assert isinstance(self.encoder, PictureChatEncoder)
            inputs = self.encoder.inputs(prompt, length).to(self._model.device, self._model.dtype)
        # Qwen's models remember here how far their last pictures moved the positions of the text behind them.
        self._model.base_model.rope_deltas = None
        ids = torch.tensor([prompt.ids[:length]], device=self.device)
        return self._model(input_ids=ids, **inputs, use_cache=True, logits_to_keep=1).past_key_values

    @torch.inference_mode()
    def _after(self, suffixes: list[tuple[int, ...]], cache: Any) -> torch.Tensor:
        """(len(suffixes), vocabulary) log-probabilities of the token after each suffix, whose prefix is in the cache.

        Padded on the right, where a causal model cannot see it: no mask, and every position is where it belongs.
        """
        width = max(len(suffix) for suffix in suffixes)
        batch = torch.tensor([[*suffix, *[0] * (width - len(suffix))] for suffix in suffixes], device=self.device)
        last = torch.tensor([len(suffix) - 1 for suffix in suffixes], device=self.device)
        past = repeated(cache, len(suffixes))
        kept = last.unique()  # sorted
        output = self._model(input_ids=batch, past_key_values=past, use_cache=past is not None, logits_to_keep=kept)
        rows = torch.arange(len(suffixes), device=self.device)
        logits = output.logits[rows, torch.searchsorted(kept, last)]
        return logits.float().log_softmax(-1)

    @torch.inference_mode()
    def _continued(
        self, prompts: list[tuple[int, ...]], shared: int, cache: Any, max_tokens: int
    ) -> list[Sequence[int]]:
        """The greedy continuations, up to and without the end token, of prompts that begin with what is in the cache.

        Padded on the left of what follows the shared beginning, as generation needs the ends in one column.
        """
        width = max(len(prompt) for prompt in prompts)
        pads = [width - len(prompt) for prompt in prompts]
        padded = [[*ids[:shared], *[0] * pad, *ids[shared:]] for ids, pad in zip(prompts, pads, strict=True)]
        mask = [[*[1] * shared, *[0] * pad, *[1] * (width - shared - pad)] for pad in pads]
        texts = self._model.generate(
            input_ids=torch.tensor(padded, device=self.device),
            attention_mask=torch.tensor(mask, device=self.device),
            past_key_values=repeated(cache, len(prompts)),
            max_new_tokens=max_tokens,
            do_sample=False,
        )[:, width:].tolist()
        ends = self._model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        return [text[: next((i for i, token in enumerate(text) if token in stops), len(text))] for text in texts]


def repeated(cache: Any, rows: int) -> Any:
    """A copy of the keys and values for so many rows, as the model writes into what it is given."""
    if cache is None:
        return None
    past = copy.deepcopy(cache)
    past.batch_repeat_interleave(rows)
    return past
