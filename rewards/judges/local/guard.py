"""Ends processes that we started when this process ends, even where it is killed by SIGKILL.

    guard = Guard([process.pid])
    guard.release()                 # they may outlive us now, or are gone

vLLM's engine waits for ever for a parent that was killed (seen with 0.32), and keeps its memory.
"""

import subprocess
from collections.abc import Iterable

WAIT = 'cat; kill -KILL "$@" 2>/dev/null'  # cat ends when we do


class Guard:
    """A shell that reads from us, in a session of its own, so that Ctrl-C does not reach it."""

    def __init__(self, pids: Iterable[int]) -> None:
        command = ["sh", "-c", WAIT, "sh", *map(str, pids)]
        self._shell = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def release(self) -> None:
        self._shell.kill()
        self._shell.communicate()
