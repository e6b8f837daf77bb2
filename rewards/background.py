"""Work in a thread that nothing has to wait for.

    answer = in_background(work)
    answer.result()                  # waits, and returns or raises what `work` did

The thread is a daemon: whoever gives up on the answer, by Ctrl-C for example, can end the process at once, which the
threads of a ThreadPoolExecutor would hold up until they are done.
"""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def in_background(work: Callable[[], T]) -> Future[T]:
    """Begin `work` now, in a daemon thread."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=run, daemon=True).start()
    return answer
