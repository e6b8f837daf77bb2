"""Commands in a process that reaches no other machine: offline.py PLAN.json RESULTS.json

PLAN is a list of commands, each a list of words, the first of them `spanreward` or `experiments`.
RESULTS has for each how it ended, what it said, and where it wanted to connect to. A connection to
another machine is refused, as without a network, and noted; Python's own sockets are seen, also
those of threads. huggingface_hub tries each of its requests six times; the waits between, 23
seconds, are left out.
"""

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import Mock

HERE = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "", None)
SETTLE = 1.0  # seconds for threads that speak after a command has ended
tried: list[str] = []


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in HERE:
        tried.append(f"{event} {host}")
        raise OSError(f"no network: {event} {host}")


def main() -> None:
    sys.addaudithook(refuse)
    from tests.support.command import experiments, spanreward

    programs = {"spanreward": spanreward, "experiments": experiments}
    # after spanreward, whose import says what the hub may tell
    hub = import_module("huggingface_hub.utils._http")
    constants = import_module("huggingface_hub.constants")
    hub.time = Mock(wraps=time, sleep=lambda seconds: None)
    results = []
    for program, *words in json.loads(Path(sys.argv[1]).read_text()):
        tried.clear()
        try:
            done = programs[program](*words)
            result = {"code": done.code, "out": done.out, "err": done.err}
        except Exception as error:
            result = {"code": -1, "out": "", "err": f"Traceback: {type(error).__name__}: {error}"}
        time.sleep(SETTLE)
        # since a command found that the hub does not answer (rewards/files/hub.py)
        given_up = constants.HF_HUB_OFFLINE
        results.append(
            {"words": [program, *words], **result, "tried": list(tried), "given_up": given_up}
        )
    Path(sys.argv[2]).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
