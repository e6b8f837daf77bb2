"""The processes of a vLLM engine: how they start, how long they are waited for, what they hold.

with one_at_a_time(), environment(CUDA_VISIBLE_DEVICES="1"):
    engine = LLM(...)
watched(lambda: engine.generate(requests), processes, end)      # a dead or a hanging engine raises
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch

from rewards.background import in_background
from rewards.cache_folder import CACHE

T = TypeVar("T")

LOOK_SECONDS = 0.5  # between two looks at whether the engine lives


def watched(ask: Callable[[], T], processes: Sequence[Any], end: float) -> T:
    """What a call of the engine returns or raises. processes: the engine's, of multiprocessing; end: by the monotonic
    clock.

    Raises RuntimeError when one of them ends meanwhile, for whose answer vLLM itself would wait for ever (seen with
    0.32), and TimeoutError at the end.
    """
    answer = in_background(ask)
    while not answer.done():
        dead = [process.name for process in processes if not process.is_alive()]
        late = time.monotonic() > end
        wait([answer], timeout=LOOK_SECONDS)
        if answer.done():
            break
        if dead:
            raise RuntimeError(f"vLLM's process {dead[0]} ended in the middle of a call")
        if late:
            raise TimeoutError("vLLM did not answer in time")
    return answer.result()


def free_memory() -> int:
    """Bytes that are free on this process's GPU; 0 without one."""
    return torch.cuda.mem_get_info(int(os.environ.get("LOCAL_RANK", "0")))[0] if torch.cuda.is_available() else 0


def family(pid: int) -> list[int]:
    """The process and those it started, where the system tells."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for one in lists for child in one.read_text().split()]
    return [pid, *(member for child in children for member in family(child))]


def peak_memory(pid: int) -> int:
    """The most main memory in bytes that the process held so far, where the system tells; else 0."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


@contextmanager
def environment(**values: str) -> Iterator[None]:
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
def environment_read_anew() -> Iterator[None]:
    """vLLM looks at the environment as it is now, also where an engine within this process, as TRL's colocated one is,
    has frozen its view (`vllm.envs`, the same in 0.28 and 0.32).
    """
    from vllm import envs

    frozen = envs._is_envs_cache_enabled()
    envs.disable_envs_cache()
    try:
        yield
    finally:
        if frozen:
            envs.enable_envs_cache()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """One engine starts at a time on a machine: vLLM measures free memory while it does."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "vllm-start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # closing is not enough where the engine was forked and has the file too
