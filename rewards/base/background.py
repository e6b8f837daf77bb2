"""Runs a function in a daemon thread.

    answer = in_background(work)
    answer.result()                  # waits, and returns or raises what `work` did

Unlike a ThreadPoolExecutor, a daemon thread never delays the end of the process, after Ctrl-C for example.
"""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def in_background(work: Callable[[], T]) -> Future[T]:
    """Starts `work` in a daemon thread."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=run, daemon=True).start()
    return answer
