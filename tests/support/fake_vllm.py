"""A stand-in for vLLM on a GPU: it refuses by vLLM's rules (read in 0.28 and 0.32), and fails when
it is told to.

What it holds to: at the start `gpu_memory_utilization` of the device must be free
(v1/worker/utils.py, request_memory); weights and cache must fit, and again at every wake-up; only
one engine within a process can sleep (device_allocator/cumem.py); an engine that sleeps answers
nothing; the environment is read once where an engine within this process has frozen it (envs.py,
enable_envs_cache).
"""

import importlib.machinery
import os
import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

GB = 1_000_000_000


@dataclass
class Device:
    """A GPU in bytes. taken: by others than engines, as by a policy in training."""

    total: int = 80 * GB
    taken: int = 0

    def free(self, engines: "list[FakeLLM]") -> int:
        return self.total - self.taken - sum(engine.held for engine in engines)


class FakeLLM:
    """Keeps what was called. raises: what a method's next calls raise, one each."""

    built: list["FakeLLM"]
    raises: dict[str, list[BaseException]]
    device: Device
    logprob: float
    weights = 10 * GB

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.called: list[str] = []
        self.held = 0
        self.llm_engine = SimpleNamespace(engine_core=SimpleNamespace(shutdown=self._shutdown))
        self._call("start")
        envs: Any = sys.modules["vllm"].envs
        if options["enable_sleep_mode"] and not envs.VLLM_ENABLE_V1_MULTIPROCESSING:
            raise AssertionError("Sleep mode can only be used for one instance per process.")
        if options["max_num_batched_tokens"] < options["max_num_seqs"]:
            raise ValueError("max_num_batched_tokens must be greater than or equal to max_num_seqs")
        wanted = options.get("gpu_memory_utilization", 0.92) * self.device.total
        if self.device.free(self.built) < wanted:
            raise ValueError("Free memory on device is less than desired GPU memory utilization")
        self.size = self.weights + int(options.get("kv_cache_memory_bytes", wanted - self.weights))
        self._take()
        self.built.append(self)

    def _call(self, name: str) -> None:
        self.called.append(name)
        if self.raises.get(name):
            raise self.raises[name].pop(0)

    def _take(self) -> None:
        if self.device.free(self.built) < self.size:
            raise RuntimeError("CUDA out of memory")
        self.held = self.size

    def _shutdown(self) -> None:
        self.held = 0
        self._call("shutdown")

    def generate(self, requests: list[Any], params: Any, use_tqdm: bool) -> list[Any]:
        check = requests[0].get("prompt_token_ids") == list(range(1, 17))
        self._call("check" if check else "generate")
        assert self.held, "a sleeping engine is asked"
        first = self.logprob if check else -1.0
        asked = params.logprob_token_ids or range(params.logprobs or 1)
        entries = {number: SimpleNamespace(logprob=first - i) for i, number in enumerate(asked)}
        answer = SimpleNamespace(logprobs=[entries], token_ids=[1], finish_reason="length")
        return [SimpleNamespace(outputs=[answer], num_cached_tokens=0) for _ in requests]

    def sleep(self, level: int) -> None:
        self._call(f"sleep{level}")
        self.held = 0

    def wake_up(self) -> None:
        self._call("wake_up")
        self._take()


class Environment:
    """`vllm.envs`: reads the environment at every look, unless it was frozen."""

    def __init__(self) -> None:
        self._seen: dict[str, str | None] | None = None

    @property
    def VLLM_ENABLE_V1_MULTIPROCESSING(self) -> bool:
        seen = os.environ if self._seen is None else self._seen
        return seen.get("VLLM_ENABLE_V1_MULTIPROCESSING") != "0"

    def _is_envs_cache_enabled(self) -> bool:
        return self._seen is not None

    def enable_envs_cache(self) -> None:
        self._seen = dict(os.environ)

    def disable_envs_cache(self) -> None:
        self._seen = None


def sampling_params(**given: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"logprobs": None, "logprob_token_ids": None, **given})


def install(monkeypatch: pytest.MonkeyPatch, colocated: bool = False) -> type[FakeLLM]:
    """Make `import vllm` give the stand-in. colocated: TRL's engine runs in this process."""
    FakeLLM.built, FakeLLM.raises, FakeLLM.device, FakeLLM.logprob = [], {}, Device(), -1.0
    platform = SimpleNamespace(is_cpu=lambda: False, is_sleep_mode_available=lambda: True)
    envs = Environment()
    if colocated:
        monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        envs.enable_envs_cache()
    modules: dict[str, dict[str, Any]] = {
        "vllm": {"LLM": FakeLLM, "SamplingParams": sampling_params, "envs": envs,
        "__version__": "0.32.0"}, "vllm.platforms": {"current_platform": platform},
        "vllm.lora": {},
    }  # fmt: skip
    for name, contents in modules.items():
        module = ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        module.__dict__.update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    return FakeLLM
