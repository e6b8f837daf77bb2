"""Helpers for the processes of a vLLM engine: to start the processes, to call the engine with a
time limit, and to end the processes together with this process.

with one_at_a_time([1]), temporary_environment(CUDA_VISIBLE_DEVICES="1"):
    engine = LLM(...)
# raises if the engine is dead or hangs
call_watched(lambda: engine.generate(requests), processes, end)
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

from spanreward.rewards.base.needs import VLLM_VERSIONS
from spanreward.rewards.files import CACHE_FOLDER
from spanreward.rewards.judges.local.local_judge import rank_index

T = TypeVar("T")

# Names of vLLM that are not documented, so a new version may lack a name (`check_names`). The
# versions 0.28, 0.31, 0.32 and 0.33 have all names. ENVIRONMENT_CACHE_FUNCTIONS are functions of
# `vllm.envs`. ENGINE_SHUTDOWN is a method of an LLM.
ENVIRONMENT_CACHE_FUNCTIONS = ("_is_envs_cache_enabled", "disable_envs_cache", "enable_envs_cache")
ENGINE_SHUTDOWN = "llm_engine.engine_core.shutdown"

LOOK_SECONDS = 0.5  # between two checks that the engine's processes are alive
# The shell command of Guard. `cat` reads a pipe from this process, so it ends when this process
# ends. Then `kill` ends the engine's processes.
KILL_AFTER_INPUT = 'cat; kill -KILL "$@" 2>/dev/null'


class Guard:
    """Kills processes when this process ends, even if this process is killed (SIGKILL).

    Without a Guard, vLLM's engine waits for ever for a killed parent, and keeps its memory (seen
    with vLLM 0.32). The Guard is a shell that reads a pipe from this process (KILL_AFTER_INPUT).
    The shell has a new session, so that Ctrl-C does not end the shell.

    Args:
        pids: the processes to kill.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        command = ["sh", "-c", KILL_AFTER_INPUT, "sh", *map(str, pids)]  # the second "sh" is its $0
        self._shell = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def release(self) -> None:
        """Ends the Guard without killing the processes."""
        # First end the shell. With the pipe closed first, the shell would kill the processes.
        self._shell.kill()
        self._shell.communicate()


def call_watched(ask: Callable[[], T], processes: Sequence[Any], end: float) -> T:
    """Calls the engine in a thread and returns the result. An error of the call is raised here.

    Args:
        ask: the call, such as `partial(engine.generate, requests)`.
        processes: the engine's processes.
        end: the latest time for an answer, by the monotonic clock.

    Raises RuntimeError if one of the processes ends during the call. Without this check vLLM would
    wait for ever (seen with 0.32). Raises TimeoutError if the engine has not answered at `end`. The
    thread is a daemon, so a call that hangs does not block the exit of this process.
    """
    answer: Future[T] = Future()

    def call() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=call, daemon=True).start()
    while not answer.done():
        # Check before the wait, and raise after the wait: an answer during the wait still counts.
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
    """Returns the free bytes on this rank's GPU; 0 without a GPU."""
    if not torch.cuda.is_available():
        return 0
    free, _ = torch.cuda.mem_get_info(rank_index())
    return free


def process_ids(pid: int) -> list[int]:
    """Returns the ids of a process and of all its descendants. On a system without /proc, only the
    id of the process itself is returned.
    """
    members = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            members += process_ids(int(child))
    return members


@contextmanager
def temporary_environment(**values: str) -> Iterator[None]:
    """Sets environment variables within the `with`, and restores the old values at its end. A
    process that is started within the `with` inherits the variables.
    """
    before: dict[str, str] = {}  # the old values of variables that are set
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
    """Raises RuntimeError if an object of vLLM lacks one of the attributes.

    names: attributes, with dots for attributes of attributes, such as "llm_engine.engine_core".
    """
    import vllm

    for name in names:
        try:
            attrgetter(name)(owner)
        except AttributeError as error:
            raise RuntimeError(
                f"vLLM {vllm.__version__} has no {name}, which vllm: judges need: pip install "
                f"'vllm{VLLM_VERSIONS}', or put the judge behind a server (server:URL#MODEL)."
            ) from error


@contextmanager
def environment_read_anew() -> Iterator[None]:
    """Makes vLLM read the current environment variables within the `with`. Otherwise vLLM may use
    old values: an engine in this process, such as TRL's colocated engine, makes vLLM cache them.

    Raises RuntimeError if this vLLM lacks the functions of this cache
    (ENVIRONMENT_CACHE_FUNCTIONS).
    """
    from vllm import envs

    check_names(envs, ENVIRONMENT_CACHE_FUNCTIONS)
    frozen = envs._is_envs_cache_enabled()
    envs.disable_envs_cache()
    try:
        yield
    finally:
        if frozen:
            envs.enable_envs_cache()


@contextmanager
def one_at_a_time(gpus: Iterable[int]) -> Iterator[None]:
    """Holds a lock for each GPU within the `with`, so that two engines do not start on the same GPU
    at the same time.

    At its start, vLLM measures the free memory of its GPU, and counts every change as its own use
    (v1/worker/gpu_worker.py). Two engines that start together would measure each other's use.
    Engines on different GPUs may start together: an engine with one worker uses a file of its own
    for the setup of torch.distributed, and no port (uniproc_executor.py).

    gpus: indices of GPUs that the process sees. Without an index, the lock is for the CPU.
    """
    CACHE_FOLDER.mkdir(parents=True, exist_ok=True)
    names = []
    for gpu in gpus:
        names.append(str(torch.cuda.get_device_properties(gpu).uuid))
    # All processes take the locks in the same order. Otherwise two processes could wait for each
    # other for ever.
    names.sort()
    with ExitStack() as locks:
        for name in names or ["cpu"]:
            path = CACHE_FOLDER / f"vllm-start-{name}.lock"
            lock = locks.enter_context(path.open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Release the lock explicitly. Closing the file would not release the lock, because a
            # forked engine has the same file open.
            locks.callback(fcntl.flock, lock, fcntl.LOCK_UN)
        yield
