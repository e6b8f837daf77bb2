"""Says in the log that something has not ended, and how long that has been: a run that hangs does not say where.

with log_while_waiting("the reward posh"):
    verdicts = reward.judge_samples(samples)
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

log = logging.getLogger(__name__)

EVERY = 300.0  # seconds


@contextmanager
def log_while_waiting(what: str) -> Iterator[None]:
    began, ended = time.monotonic(), Event()

    def log_now_and_then() -> None:
        while not ended.wait(EVERY):
            log.warning("%s has not answered for %.0f s, and the run waits for it.", what, time.monotonic() - began)

    Thread(target=log_now_and_then, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
