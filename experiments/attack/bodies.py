"""Bodies that are large, wrong, ambiguous, or sent by a page in a browser."""

import threading
from typing import Any

from experiments.attack.server import Attacked, serving

MB = 1_000_000
LARGE = 57 * MB  # bytes
WRONG = 4 * MB  # bytes of wrong ids; 57 MB would end the machine before the mend
REFERENCE = "A red circle is above a blue square."
ROW = {"completion": "A red circle.", "reference": REFERENCE}


def wrong_values() -> dict[str, Any]:
    """How much memory does a body of wrong values take?"""
    ids = b'{"rows": [{"completion": "x", "completion_ids": [' + b"-1," * (WRONG // 3) + b"-1]}]}"
    keys = b",".join(b'"%d": 1' % number for number in range(WRONG // 12))
    bodies = {
        "wrong ids": ids,
        "unknown keys": b'{"rows": [{"completion": "x"}], ' + keys + b"}",
        "empty rows": b'{"rows": [' + b"{}," * (WRONG // 3) + b"{}]}",
        "wrong messages": b'{"rows": [{"completion": [' + b"1," * (WRONG // 2) + b"1]}]}",
    }
    figures = {}
    for name, body in bodies.items():
        with serving("posh", "--judge", "match") as server:
            idle = server.peak()
            status, _ = server.post(body)
            more = round(server.peak() - idle)
        figures[f"{len(body) // MB} MB of {name}: status, MB more at the peak"] = (
            f"{status}, {more}"
        )
    return figures


def large_bodies() -> dict[str, Any]:
    """How long do other clients wait for /health while a large body is read and judged?"""
    ids = b"1234567," * (LARGE // 8)
    text = b"A red circle is on a mat. " * (LARGE // 26)
    bodies = {
        "ids": b'{"rows": [{"completion": "x", "reference": "y", "completion_ids": ['
        + ids
        + b"1]}]}",
        "a completion": b'{"rows": [{"completion": "' + text + b'", "reference": "y"}]}',
        "an unread column": b'{"rows": [{"completion": "x", "reference": "y", "a": "'
        + text
        + b'"}]}',
        "a picture": b'{"rows": [{"completion": "x", "reference": "y", "image": '
        b'"data:image/png;base64,' + b"A" * LARGE + b'"}]}',
    }
    figures = {}
    for name, body in bodies.items():
        with serving("posh", "--judge", "match") as server:
            status, longest = health_beside(server, body)
        figures[f"57 MB of {name}: status, longest wait for /health, s"] = (
            f"{status}, {longest:.1f}"
        )
    return figures


def health_beside(server: Attacked, body: bytes) -> tuple[int, float]:
    """Returns the status for the body, and the longest time that /health took meanwhile."""
    statuses = []

    def send() -> None:
        statuses.append(server.post(body)[0])

    thread = threading.Thread(target=send)
    thread.start()
    longest = 0.0
    while thread.is_alive():
        longest = max(longest, server.health()[1])
        thread.join(0.05)
    return statuses[0], longest


def ambiguous_bodies() -> dict[str, Any]:
    """Is a body with two meanings refused, and a path that is none?"""
    twice = (
        b'{"rows": [{"completion": "A cat.", "completion": "A red circle.", "reference": "A."}]}'
    )
    with serving("posh", "--judge", "match") as server:
        duplicate, _ = server.post(twice)
        slash, answer = server.post({"rows": [ROW]}, path="/score/", host="evil.example")
    return {
        "a key twice: status": duplicate,
        "/score/: status and where it leads": f"{slash} {answer.get('location', '')}".strip(),
    }


def pages() -> dict[str, Any]:
    """Can a page in a browser ask a judge on this machine, which has no key?"""
    origin = {"origin": "https://evil.example", "content_type": "text/plain"}
    with serving("posh", "--judge", "match") as server:
        port = server.port
        statuses = {
            "a page's POST, no-cors": server.post({"rows": [ROW]}, **origin)[0],
            "a page's POST of JSON": server.post({"rows": [ROW]}, origin="https://evil.example")[0],
            "a name that leads here": server.post({"rows": [ROW]}, host=f"evil.example:{port}")[0],
            "no page": server.post({"rows": [ROW]})[0],
        }
    return {f"{name}: status": status for name, status in statuses.items()}
