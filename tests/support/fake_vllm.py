"""A stand-in for vLLM whose engine sleeps, as only a GPU's does, and fails when it is told to."""

import importlib.machinery
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


class FakeLLM:
    """Keeps what was called. `raises` maps a method's name to what its next calls raise, one each."""

    built: list["FakeLLM"]
    raises: dict[str, list[BaseException]]

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.called: list[str] = []
        self.llm_engine = SimpleNamespace(engine_core=SimpleNamespace(shutdown=lambda: self._call("shutdown")))
        self._call("start")
        self.built.append(self)

    def _call(self, name: str) -> None:
        self.called.append(name)
        if self.raises.get(name):
            raise self.raises[name].pop(0)

    def generate(self, requests: list[Any], params: Any, lora_request: Any, use_tqdm: bool) -> list[Any]:
        self._call("generate" if params.logprobs is None else "check")
        entries = {
            number: SimpleNamespace(logprob=-1.0 - i) for i, number in enumerate(params.logprob_token_ids or [0])
        }
        answer = SimpleNamespace(logprobs=[entries], token_ids=[1], finish_reason="length")
        return [SimpleNamespace(outputs=[answer], num_cached_tokens=0) for _ in requests]

    def sleep(self, level: int) -> None:
        self._call(f"sleep{level}")

    def wake_up(self) -> None:
        self._call("wake_up")


def sampling_params(**given: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"logprobs": None, "logprob_token_ids": None, **given})


def install(monkeypatch: pytest.MonkeyPatch, in_process: bool = False) -> type[FakeLLM]:
    """Make `import vllm` give the stand-in. in_process: as if TRL had set vLLM to engines in this process."""
    FakeLLM.built, FakeLLM.raises = [], {}
    platform = SimpleNamespace(is_cpu=lambda: False, is_sleep_mode_available=lambda: True)
    modules = {
        "vllm": {
            "LLM": FakeLLM,
            "SamplingParams": sampling_params,
            "envs": SimpleNamespace(VLLM_ENABLE_V1_MULTIPROCESSING=not in_process),
        },
        "vllm.platforms": {"current_platform": platform},
        "vllm.lora": {},
        "vllm.lora.request": {"LoRARequest": lambda name, number, path: (name, number, path)},
    }
    for name, contents in modules.items():
        module = ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        module.__dict__.update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    return FakeLLM
