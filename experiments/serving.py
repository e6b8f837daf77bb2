"""Is anything lost, or memory unbounded, where many clients ask `spanreward serve` while it is
ended and abused?

    python -m experiments.serving --clients 64 --rows 320

Clients ask RemoteReward for verdicts of PoSh by `match`. Meanwhile a client sends a body of 100 MB,
one sends a body without end as fast as it can, and twenty send a byte a second. Once it has judged
some rows the server gets SIGTERM, and another starts at its port. Prints what became of the rows,
against the verdicts of this process, and the servers' peak memory.
"""

import argparse
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from experiments.scenes.language import describe
from experiments.scenes.world import make_scenes
from spanreward import PoshReward, RemoteReward, Sample

HEAD = b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
LARGE = 100_000_000  # bytes
SERVE = """
from spanreward.training.serve import service
from spanreward.training.commands.main import main
service.MAX_QUEUED_ROWS, service.BODY_SECONDS = {queue}, {seconds}
main()
"""


def start(port: int, queue: int, seconds: float) -> tuple[subprocess.Popen[str], str]:
    """A server and its url."""
    code = SERVE.format(queue=queue, seconds=seconds)
    command = [sys.executable, "-c", code, "serve", "posh", "--judge", "match", "--port", str(port)]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert server.stdout is not None
    return server, server.stdout.readline().split()[0]


def peak(server: subprocess.Popen[str]) -> float:
    """The most resident memory so far, in MB."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return (
        next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        / 1000
    )


def send(
    port: int, parts: Callable[[], bytes], every: float, until: threading.Event, length: int
) -> str:
    """Sends a body in parts until the server has enough of it; returns the status line."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(HEAD % length)
        with suppress(OSError):
            while not until.wait(every):
                client.sendall(parts())
        return client.recv(100).split(b"\r\n")[0].decode()
    return "connection closed"


def judged(url: str) -> int:
    """The rows that the server has judged so far."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        return sum(map(int, re.findall(r"rows_total\S* ([0-9]+)", answer.read().decode())))


def run(clients: int, rows: int, queue: int = 4096, seconds: float = 30.0) -> dict[str, Any]:
    texts = [describe(scene, random.Random(0)) for scene in make_scenes("train", 3, rows)]
    samples = [
        Sample("", text, references=(texts[(number * 7) % rows],), id=str(number))
        for number, text in enumerate(texts)
    ]
    expected = PoshReward("match").judge_samples(samples)
    server, url = start(0, queue, seconds)
    port, idle = int(url.rpartition(":")[2]), peak(server)
    done = threading.Event()
    found: Counter[str] = Counter()

    def ask(client: int) -> None:
        verdicts = RemoteReward(url, deadline=600.0).judge_samples(samples)
        for verdict, other in zip(verdicts, expected, strict=True):
            found[
                "lost" if verdict.score is None else "equal" if verdict == other else "different"
            ] += 1

    begun = time.monotonic()
    with ThreadPoolExecutor(clients + 30) as pool:
        block = b" " * (1 << 20)
        large = [
            pool.submit(send, port, lambda: block, 0.0, done, length) for length in (LARGE, 1 << 40)
        ]
        slow = [pool.submit(send, port, lambda: b" ", 1.0, done, 1000) for _ in range(20)]
        asked = [pool.submit(ask, client) for client in range(clients)]
        while not judged(url):
            time.sleep(0.05)
        before = peak(server)
        server.send_signal(signal.SIGTERM)
        code = server.wait()
        again, _ = start(port, queue, seconds)
        for one in asked:
            one.result()
        took = time.monotonic() - begun
        done.set()
        answered = Counter(one.result() for one in large), Counter(one.result() for one in slow)
    later, after = judged(url), peak(again)
    again.terminate()
    memory = {"idle": round(idle), "before SIGTERM": round(before), "after": round(after)}
    return {
        "clients": clients,
        "rows": clients * rows,
        **found,
        "judged by the second": later,
        "exit code after SIGTERM": code,
        "and of the second": again.wait(),
        "peak MB": memory,
        "to 100 MB and to no end": dict(answered[0]),
        "to the slow": dict(answered[1]),
        "rows a second": round(clients * rows / took),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rows", type=int, default=320, help="of each client (default 320)")
    arguments = parser.parse_args()
    print(json.dumps(run(arguments.clients, arguments.rows), indent=1))


if __name__ == "__main__":
    main()
