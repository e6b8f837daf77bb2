"""The processes of a vLLM engine: starting them, waiting for them with a limit, and the memory they
hold.

with one_at_a_time([1]), environment(CUDA_VISIBLE_DEVICES="1"):
    engine = LLM(...)
watched(lambda: engine.generate(requests), processes, end)  # raises if the engine is dead or hangs
"""

import fcntl
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from operator import attrgetter
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import torch

from spanreward.rewards.base.needs import VLLM
from spanreward.rewards.files import CACHE
from spanreward.rewards.judges.local.local_judge import rank_index

T = TypeVar("T")

# What is used of vLLM and is no interface of it (read in 0.28, 0.31, 0.32 and 0.33): of
# `vllm.envs`, and of an LLM.
ENVS = ("_is_envs_cache_enabled", "disable_envs_cache", "enable_envs_cache")
END = "llm_engine.engine_core.shutdown"

LOOK_SECONDS = 0.5  # between two checks that the engine's processes are alive
# cat ends when this process does, which holds the other end of its input
WAIT = 'cat; kill -KILL "$@" 2>/dev/null'


class Guard:
    """Kills processes when this process ends, even by SIGKILL. Call `release` once they may outlive
    this process.

    Without it vLLM's engine waits for ever for a killed parent and keeps its memory (seen with
    0.32). It is a shell that reads from this process, in its own session, so that Ctrl-C does not
    reach it.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        command = ["sh", "-c", WAIT, "sh", *map(str, pids)]  # the second "sh" is its $0
        self._shell = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def release(self) -> None:
        """Ends the shell, and so the guard. The processes live on."""
        self._shell.kill()  # before its input is closed, which would make it kill them
        self._shell.communicate()


def watched(ask: Callable[[], T], processes: Sequence[Any], end: float) -> T:
    """Calls the engine in a thread, and returns or raises what the call does. A daemon thread holds
    up no exit.

    Raises RuntimeError if one of the engine's processes ends during the call (vLLM itself would
    wait for ever, seen with 0.32), and TimeoutError at `end`, a time of the monotonic clock.
    """
    answer: Future[T] = Future()

    def call() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=call, daemon=True).start()
    while not answer.done():
        # Looked at before the wait and acted on after it: an answer that came meanwhile counts.
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
    """Returns the free bytes on this rank's GPU; 0 without one."""
    if not torch.cuda.is_available():
        return 0
    free, _ = torch.cuda.mem_get_info(rank_index())
    return free


def family(pid: int) -> list[int]:
    """Returns the ids of the process and of all processes below it; of it alone on a system without
    /proc.
    """
    members = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            members += family(int(child))
    return members


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Sets environment variables, which the engine's processes inherit, and restores them at the
    end.
    """
    before: dict[str, str] = {}  # of those that are set
    for name in values:
        if name in os.environ:
            before[name] = os.environ[name]
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]
        os.environ.update(before)


def check_names(owner: Any, names: Iterable[str]) -> None:
    """Raises RuntimeError for a name, or attributes with dots between, that an object of vLLM has
    no more.
    """
    import vllm

    for name in names:
        try:
            attrgetter(name)(owner)
        except AttributeError as error:
            raise RuntimeError(
                f"vLLM {vllm.__version__} has no {name}, which vllm: judges need: pip install "
                f"'vllm{VLLM}', or put the judge behind a server (server:URL#MODEL)."
            ) from error


@contextmanager
def environment_read_anew() -> Iterator[None]:
    """Makes vLLM read the current environment, even if an engine in this process (such as TRL's
    colocated one) has cached it. Raises RuntimeError for a vLLM without such a cache.
    """
    from vllm import envs

    check_names(envs, ENVS)
    frozen = envs._is_envs_cache_enabled()
    envs.disable_envs_cache()
    try:
        yield
    finally:
        if frozen:
            envs.enable_envs_cache()


@contextmanager
def one_at_a_time(gpus: Iterable[int]) -> Iterator[None]:
    """Lets one engine at a time start on each of these GPUs (indices of visible ones; none is the
    CPU), because vLLM measures a GPU's free memory at its start, and takes each change for its own
    (v1/worker/gpu_worker.py). Engines on different GPUs share nothing: one worker meets itself in a
    file of its own, not at a port (uniproc_executor.py).
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    names = []
    for gpu in gpus:
        names.append(str(torch.cuda.get_device_properties(gpu).uuid))
    names.sort()  # in one order for all, so that no two processes wait for each other
    with ExitStack() as locks:
        for name in names or ["cpu"]:
            path = CACHE / f"vllm-start-{name}.lock"
            lock = locks.enter_context(path.open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Closing is not enough: a forked engine has the file open too.
            locks.callback(fcntl.flock, lock, fcntl.LOCK_UN)
        yield
