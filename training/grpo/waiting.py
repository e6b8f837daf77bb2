"""Says in the log that something has not ended, and how long that has been: a run that hangs does not say where.

with told_while_waiting("the reward posh"):
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
def told_while_waiting(what: str) -> Iterator[None]:
    began, ended = time.monotonic(), Event()

    def tell() -> None:
        while not ended.wait(EVERY):
            log.warning("%s has not answered for %.0f s, and the run waits for it.", what, time.monotonic() - began)

    Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
