"""A judge run by transformers in this process: exact, needs no engine, and slower than vLLM on a GPU.

    judge = TransformersJudge("smollm2")                     # or a hub id, or a folder
    judge.rate([Question([{"role": "user", "content": "Rate from 1 to 5: ..."}])])

Text models only: a question with images is a ValueError. What the prompts of a call share at their beginning is
computed once. The model stays on its device between calls; under ZeRO-3 call `start()` before the training arguments
exist.
"""

import copy
import logging
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers.integrations import is_deepspeed_zero3_enabled

from rewards.judges.encoding import MIN_MASS
from rewards.judges.judge import Failure
from rewards.judges.local import LocalJudge
from rewards.verdict import Status

log = logging.getLogger(__name__)

MIN_SHARED = 16  # tokens; a shorter beginning is not worth a call of its own


class TransformersJudge(LocalJudge):
    """dtype: of the weights, as torch spells it. batch_size: prompts in one forward pass. device: CUDA's current one
    where there is CUDA, else the CPU, when None. max_length, min_mass: see LocalJudge.
    """

    def __init__(
        self,
        model: str,
        dtype: str = "float32",
        batch_size: int = 16,
        device: str | None = None,
        max_length: int | None = None,
        min_mass: float = MIN_MASS,
    ) -> None:
        super().__init__(model, max_length, min_mass)
        self.dtype = dtype
        self.batch_size = batch_size
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._model: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_model": None}

    @property
    def kind(self) -> str:
        return f"transformers-{self.dtype}"

    def start(self) -> None:
        """Load the model. Raises RuntimeError under ZeRO-3, which would spread it over the ranks with the policy."""
        if self._model is not None:
            return
        if is_deepspeed_zero3_enabled():
            raise RuntimeError(
                "ZeRO-3 is on, and would partition the judge with the policy: call judge.start() before the training "
                "arguments are made."
            )
        model: Any = AutoModelForCausalLM.from_pretrained(self.folder, dtype=self.dtype)
        model = model.to(self.device).eval()
        # Greedy is greedy: a model's own sampling settings may hold a repetition penalty.
        ends = model.generation_config.eos_token_id
        end = ends[0] if isinstance(ends, list) else ends
        model.generation_config = GenerationConfig(eos_token_id=ends, pad_token_id=end)
        self._model = model

    def close(self) -> None:
        self._model = None

    def _logprobs(self, prompts: list[list[int]], ids: list[int]) -> list[Mapping[int, float] | Failure]:
        answers: list[Mapping[int, float] | Failure] = [Failure(Status.ERROR, "not asked")] * len(prompts)
        for start, stop in groups(prompts):
            shared = shared_length(prompts[start:stop]) if stop - start > 1 else 0
            if shared < MIN_SHARED:
                shared = 0
            try:
                cache = self._prefill(prompts[start][:shared]) if shared else None
                for numbers in self._batches(prompts, range(start, stop)):
                    rows = self._after([prompts[n][shared:] for n in numbers], cache, ids)
                    answers_of = (dict(zip(ids, row, strict=True)) for row in rows.tolist())
                    for number, answer in zip(numbers, answers_of, strict=True):
                        answers[number] = answer
            except RuntimeError as error:  # out of memory, above all
                log.exception("the judge failed on %d questions", stop - start)
                answers[start:stop] = [Failure(Status.ERROR, f"{self.model}: {error}")] * (stop - start)
            self.usage.cached_tokens += shared * (stop - start - 1)
        self.usage.prompt_tokens += sum(len(prompt) for prompt in prompts)
        self.usage.generated_tokens += len(prompts)
        return answers

    def _texts(self, prompts: list[list[int]], max_tokens: int) -> list[Sequence[int] | Failure]:
        answers: list[Sequence[int] | Failure] = [Failure(Status.ERROR, "not asked")] * len(prompts)
        for numbers in self._batches(prompts, range(len(prompts))):
            try:
                texts = self._generate([prompts[n] for n in numbers], max_tokens)
            except RuntimeError as error:
                log.exception("the judge failed on %d questions", len(numbers))
                for number in numbers:
                    answers[number] = Failure(Status.ERROR, f"{self.model}: {error}")
                continue
            for number, text in zip(numbers, texts, strict=True):
                answers[number] = text
                self.usage.generated_tokens += len(text)
        self.usage.prompt_tokens += sum(len(prompt) for prompt in prompts)
        return answers

    def _batches(self, prompts: list[list[int]], numbers: range) -> list[list[int]]:
        """The prompts' numbers in batches of like length."""
        order = sorted(numbers, key=lambda n: len(prompts[n]))
        return [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]

    @torch.inference_mode()
    def _prefill(self, prefix: list[int]) -> Any:
        """The keys and values of one prefix."""
        ids = torch.tensor([prefix], device=self.device)
        return self._model(input_ids=ids, use_cache=True, logits_to_keep=1).past_key_values

    @torch.inference_mode()
    def _after(self, suffixes: list[list[int]], cache: Any, ids: list[int]) -> torch.Tensor:
        """(len(suffixes), len(ids)) log-probabilities of the token after each suffix, whose prefix is in the cache.

        Padded on the right, where a causal model cannot see it: no mask, and every position is where it belongs.
        """
        width = max(len(suffix) for suffix in suffixes)
        batch = torch.tensor([[*suffix, *[0] * (width - len(suffix))] for suffix in suffixes], device=self.device)
        last = torch.tensor([len(suffix) - 1 for suffix in suffixes], device=self.device)
        past = None
        if cache is not None:
            past = copy.deepcopy(cache)
            past.batch_repeat_interleave(len(suffixes))
        kept = last.unique()  # sorted
        output = self._model(input_ids=batch, past_key_values=past, use_cache=past is not None, logits_to_keep=kept)
        rows = torch.arange(len(suffixes), device=self.device)
        logits = output.logits[rows, torch.searchsorted(kept, last)]
        return logits.float().log_softmax(-1)[:, ids]

    @torch.inference_mode()
    def _generate(self, prompts: list[list[int]], max_tokens: int) -> list[list[int]]:
        """The greedy continuations, padded on the left as they must be, up to and without the end token."""
        width = max(len(prompt) for prompt in prompts)
        padded = [[0] * (width - len(prompt)) + prompt for prompt in prompts]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        texts = self._model.generate(
            input_ids=torch.tensor(padded, device=self.device),
            attention_mask=torch.tensor(mask, device=self.device),
            max_new_tokens=max_tokens,
            do_sample=False,
        )[:, width:].tolist()
        ends = self._model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        return [text[: next((i for i, token in enumerate(text) if token in stops), len(text))] for text in texts]


def shared_length(prompts: Sequence[list[int]]) -> int:
    """How many tokens all of these sorted prompts begin with; less than the shortest of them has."""
    first, last = prompts[0], prompts[-1]
    limit = min(len(prompt) for prompt in prompts) - 1
    return next((i for i in range(limit) if first[i] != last[i]), limit)


def groups(prompts: Sequence[list[int]]) -> list[tuple[int, int]]:
    """Sorted prompts as ranges [start, stop) whose beginnings are worth sharing.

    A range ends where two neighbours share less than half of what one of them shares with its other neighbour.
    """
    shared = [0, *(shared_length(pair) for pair in pairwise(prompts)), 0]  # shared[i]: prompts i - 1 and i
    inner = range(1, len(prompts))
    cuts = [i for i in inner if 2 * shared[i] < max(shared[i - 1], shared[i + 1])]
    return list(pairwise([0, *cuts, len(prompts)]))
