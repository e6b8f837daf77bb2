"""An hour of `spanreward serve` under mixed clients, and SIGTERM while a request is judged.

    python -m experiments attack soak --minutes 60 --json soak.json

The judge is `match`, made to raise on poisoned rows. Each client pauses between its requests, and
all wait while they and the server have used more than SHARE of a core, so that others can work on
the machine. Honest rows are judged once alone, before the other clients come, and must get the same
verdicts beside them. The file is written anew each minute. A Markdown table is printed at the end.
"""

import argparse
import json
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from experiments.attack.clients import CLIENTS, Client, honest_row
from experiments.attack.server import JUDGES, Attacked, serving

SHARE = 0.22  # of one core, for the server and its clients together
MINUTE = 60.0  # seconds between two notes
PAUSE = 0.25  # seconds until a client that waits for its share looks again
HONEST = 120  # rows
AGAIN = 8  # times that all rows stand in the request that is judged when SIGTERM comes
UNDER_WAY = 0.5  # seconds between that request and SIGTERM
ENDING = 120.0  # seconds


@dataclass(slots=True)
class Record:
    """What came of the clients so far. Its methods may be called in any thread."""

    requests: Counter[str] = field(default_factory=Counter)  # by client and status
    checked: int = 0  # honest rows
    wrong: int = 0  # honest rows whose verdict is another one than alone
    longest: float = 0.0  # seconds of /health since the last note
    errors: list[str] = field(default_factory=list)
    minutes: list[dict[str, float]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def request(self, name: str) -> None:
        with self.lock:
            self.requests[name] += 1

    def verdict(self, right: bool) -> None:
        with self.lock:
            self.checked += 1
            if not right:
                self.wrong += 1

    def health(self, seconds: float) -> None:
        with self.lock:
            self.longest = max(self.longest, seconds)

    def error(self, error: Exception) -> None:
        with self.lock:
            self.errors.append(f"{type(error).__name__}: {error}")

    def note(self, minute: float, processes: "Processes") -> None:
        with self.lock:
            self.minutes.append(
                {
                    "minute": round(minute, 2),
                    "server MB": round(processes.memory()),
                    "longest /health, s": round(self.longest, 2),
                    "cores": round(processes.share(), 3),
                }
            )
            self.longest = 0.0


class Processes:
    """This process and the server, from now on."""

    def __init__(self, server: Attacked) -> None:
        self.server = psutil.Process(server.process.pid)
        self.both = (self.server, psutil.Process())
        self.begun = time.monotonic()
        self.before = self.seconds()

    def seconds(self) -> float:
        """Returns the CPU seconds since the processes began."""
        total = 0.0
        for process in self.both:
            times = process.cpu_times()
            total += times.user + times.system
        return total

    def share(self) -> float:
        """Returns the cores that were used, in the mean."""
        return (self.seconds() - self.before) / max(time.monotonic() - self.begun, 1.0)

    def memory(self) -> float:
        """Returns what the server holds now, in MB."""
        return float(self.server.memory_info().rss) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="60 if not given")
    parser.add_argument("--seed", type=int, default=0, help="of the clients; 0 if not given")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    arguments = parser.parse_args()
    figures = soak(arguments.minutes * MINUTE, arguments.seed, arguments.json)
    print("| figure | value |\n|---|---|")
    for name, value in figures.items():
        print(f"| {name} | {value} |")


def soak(seconds: float, seed: int, path: Path | None) -> dict[str, Any]:
    """Returns the figures. path: where they are written each minute."""
    generator = random.Random(seed)
    rows = [honest_row(generator) for _ in range(HONEST)]
    with serving("posh", "--judge", f"{JUDGES}:fragile") as server:
        alone = [verdicts_of(server, [row])[0] for row in rows]
        record = Record()
        processes = Processes(server)
        over = threading.Event()
        clients = [
            kind(server, rows, alone, record, random.Random(f"{seed} {number}"))
            for number, kind in enumerate(CLIENTS)
        ]
        threads = []
        for client in clients:
            threads.append(threading.Thread(target=repeat, args=(client, processes, over)))
        for thread in threads:
            thread.start()
        try:
            watch(record, processes, seconds, path)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        ending = end(server, processes, rows, alone)
        for client in clients:
            client.close()
    figures = summary(record) | ending
    write(path, record, figures)
    return figures


def repeat(client: Client, processes: Processes, over: threading.Event) -> None:
    """Lets a client ask until the soak is over."""
    while not over.wait(client.pause * client.generator.uniform(0.5, 1.5)):
        while processes.share() > SHARE and not over.is_set() and client.waits:
            over.wait(PAUSE)
        try:
            client.ask()
        except Exception as error:  # one client's trouble is noted, and the others go on
            client.record.error(error)


def watch(record: Record, processes: Processes, seconds: float, path: Path | None) -> None:
    """Notes memory each minute until the seconds are over."""
    begun = time.monotonic()
    record.note(0.0, processes)
    while True:
        left = seconds - (time.monotonic() - begun)
        if left <= 0:
            break
        time.sleep(min(MINUTE, left))
        record.note((time.monotonic() - begun) / MINUTE, processes)
        write(path, record, summary(record))


def end(
    server: Attacked, processes: Processes, rows: list[dict[str, Any]], alone: list[Any]
) -> dict[str, Any]:
    """Ends the server by SIGTERM while it judges all rows, AGAIN times."""
    answers: list[Any] = []

    def ask() -> None:
        answers.append(server.post({"rows": rows * AGAIN}))

    children = processes.server.children(recursive=True)
    request = threading.Thread(target=ask)
    request.start()
    time.sleep(UNDER_WAY)
    judged_before = len(answers)
    begun = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    request.join()
    ended = server.ended_within(ENDING)
    seconds = time.monotonic() - begun
    status, content = answers[0]
    right = content.get("verdicts") == alone * AGAIN
    left = [child for child in children if child.is_running()]
    if not ended:
        left.append(processes.server)
    return {
        "SIGTERM: requests in flight": 1 - judged_before,
        "SIGTERM: status of the request in flight": status,
        "SIGTERM: its verdicts are those of alone": right,
        "SIGTERM: exit status": server.process.poll(),
        "SIGTERM: seconds until the end": round(seconds, 1),
        "SIGTERM: processes left": len(left),
    }


def summary(record: Record) -> dict[str, Any]:
    with record.lock:
        figures: dict[str, Any] = {
            "minutes": record.minutes[-1]["minute"],
            "honest rows": record.checked,
            "honest rows with another verdict than alone": record.wrong,
        }
        for name, count in sorted(record.requests.items()):
            figures[name] = count
        figures["errors of the clients"] = len(record.errors)
        figures["longest /health, s"] = largest(record, "longest /health, s")
        figures["server MB at the start, most, at the end"] = (
            f"{record.minutes[0]['server MB']}, {largest(record, 'server MB')}, "
            f"{record.minutes[-1]['server MB']}"
        )
        figures["cores used by server and clients"] = record.minutes[-1]["cores"]
    return figures


def largest(record: Record, name: str) -> float:
    return max(minute[name] for minute in record.minutes)


def write(path: Path | None, record: Record, figures: dict[str, Any]) -> None:
    if path is None:
        return
    content = {"figures": figures, "minutes": record.minutes, "errors": record.errors[:20]}
    path.write_text(json.dumps(content, indent=1) + "\n")


def verdicts_of(server: Attacked, rows: list[dict[str, Any]]) -> list[Any]:
    status, content = server.post({"rows": rows})
    if status != 200:
        raise RuntimeError(f"an honest row was refused: {status} {content}")
    verdicts: list[Any] = content["verdicts"]
    return verdicts
