"""What Python's garbage collector need not look at.

with without_the_loaded():
    ...  # judges rows
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_the_loaded() -> Iterator[None]:
    """Leaves everything that is loaded out of garbage collections, until the `with` ends.

    A full collection walks all objects that it knows, and modules, pipelines and models are a
    million that never become garbage. With them it takes a sixth to a third of judging by `match`.
    Call it once what judges is loaded, and not for each row: collecting first takes about as long
    as judging a few rows.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
