"""Connections that say nothing, and a server that is to end while it judges."""

import resource
import signal
import threading
import time
from typing import Any

from experiments.attack.judges import SLOW
from experiments.attack.server import JUDGES, Attacked, serving

IDLE = 1100
WAIT = 25.0  # seconds after which a connection that says nothing should have been ended
HEAD = b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\n"
ENDING = 15.0  # seconds


def idle_connections() -> dict[str, Any]:
    """Do connections that say nothing, or half of a header, shut others out for ever?"""
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    with serving("posh", "--judge", "match") as server:
        connections = [server.connect() for _ in range(IDLE)]
        for connection in connections[::2]:
            connection.sendall(HEAD)
        time.sleep(1.0)
        first, _ = server.health()
        time.sleep(WAIT)
        last, _ = server.health()
        for connection in connections:
            connection.close()
    return {
        f"{IDLE} idle connections: /health at once": first,
        f"{IDLE} idle connections: /health after {WAIT:.0f} s": last,
    }


def endings() -> dict[str, Any]:
    """Does a server end while it judges a row that takes minutes?"""
    found = {}
    for name, signals in (
        ("SIGTERM twice", (signal.SIGTERM, signal.SIGTERM)),
        ("Ctrl-C", (signal.SIGINT,)),
        ("Ctrl-C twice", (signal.SIGINT, signal.SIGINT)),
    ):
        with serving("posh", "--judge", f"{JUDGES}:slow") as server:
            ended = ends(server, signals)
        found[f"{name} while a long row is judged: ended within {ENDING:.0f} s"] = ended
    return found


def ends(server: Attacked, signals: tuple[int, ...]) -> str:
    row = {"completion": f"A circle moves {SLOW}.", "reference": "A circle."}
    threading.Thread(target=server.post, args=({"rows": [row]},), daemon=True).start()
    time.sleep(3.0)
    for number in signals:
        server.process.send_signal(number)
        time.sleep(1.0)
    if server.ended_within(ENDING):
        return "yes"
    return "no"
