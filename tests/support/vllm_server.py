"""vLLM's own server in a process of its own, for the tests that need a real one."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import httpx2 as httpx

from spanreward.rewards.judges.model_files import model_folder

START = 600.0  # seconds within which it must answer


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def vllm_server(
    model: str, *options: str, environment: Mapping[str, str] = os.environ
) -> Iterator[str]:
    """Serves the model under its name while the `with` lasts. Yields the server's url."""
    port = free_port()
    command = f"{sys.executable} -m vllm.entrypoints.openai.api_server --model".split()
    command += [str(model_folder(model)), "--served-model-name", model]
    command += f"--host 127.0.0.1 --port {port} --generation-config vllm --enforce-eager".split()
    command += ["--enable-prompt-tokens-details", *options]
    settings = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    process = subprocess.Popen(command, env={**settings, **environment}, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + START
        while not answers(url):
            assert process.poll() is None, "the server ended before it answered"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.25)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5.0, trust_env=False).is_success
    except httpx.RequestError:
        return False
