"""Keeps loaded modules and models out of Python's garbage collections, to save time.

with without_the_loaded():
    ...  # judges rows
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_the_loaded() -> Iterator[None]:
    """Keeps all objects that exist now out of garbage collections, until the `with` ends.

    A full collection walks through all objects. Modules, pipelines and models are hundreds of
    thousands of objects that never become garbage: to walk through them takes a sixth to a third of
    the time of judging by `match`. Enter the `with` once, after the judges are loaded. Do not enter
    the `with` for each row, because each entry runs a full collection.
    """
    gc.collect()  # without this, garbage that exists now would be kept too
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
