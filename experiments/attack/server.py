"""A server of `spanreward serve` in a process of its own, and ways to send it what no client would.

with serving("posh", "--judge", "match") as server:
    server.post({"rows": [{"completion": "A dog.", "reference": "A cat."}]})    # 200, {...}
    server.peak()           # MB
"""

import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx

ROOT = Path(__file__).parents[2]
JUDGES = Path(__file__).with_name("judges.py")
MEMORY = 10 << 30  # bytes of addresses that the server may take, so that this machine lives
PATIENCE = 120.0  # seconds


@dataclass(frozen=True, slots=True)
class Attacked:
    """A server under attack."""

    process: subprocess.Popen[str]
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(self, body: Any, path: str = "/score", **headers: str) -> tuple[int, Any]:
        """Returns the status and the answer; 0 and why where there is none.

        body: bytes, or what becomes JSON. headers: names have _ in place of -.
        """
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content-type": "application/json"}
        for name, value in headers.items():
            sent[name.replace("_", "-")] = value
        try:
            with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
                answer = client.post(self.url + path, content=content, headers=sent)
        except httpx.HTTPError as error:
            return 0, {"error": type(error).__name__}
        return answer.status_code, read_answer(answer)

    def health(self) -> tuple[int, float]:
        """Returns the status of /health, 0 without an answer, and the seconds that it took."""
        begun = time.monotonic()
        try:
            with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
                status = client.get(f"{self.url}/health").status_code
        except httpx.HTTPError:
            status = 0
        return status, time.monotonic() - begun

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def peak(self) -> float:
        """Returns the most resident memory so far, in MB; infinity where the server has ended."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return float("inf")
        for line in status.splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1000
        return float("inf")

    def ended_within(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def read_answer(answer: httpx.Response) -> Any:
    """Returns the JSON of an answer, with the place where it redirects to."""
    try:
        content = answer.json()
    except ValueError:
        content = {}
    if "location" in answer.headers:
        content = {"location": answer.headers["location"]}
    return content


@contextmanager
def serving(*words: str) -> Iterator[Attacked]:
    """Starts `spanreward serve` with these words at a free port, and kills it at the end."""
    command = [sys.executable, "-m", "spanreward", "serve", *words, "--port", "0"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "SPANREWARD_API_KEY": "",
    }
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        preexec_fn=bound_memory,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        if not line:
            raise RuntimeError(f"the server did not start: {' '.join(command)}")
        yield Attacked(process, int(line.split()[0].rpartition(":")[2]))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
