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

    A full collection walks all objects that it knows. Modules, pipelines and models are hundreds of
    thousands of them that never become garbage: walking them is a sixth to a third of judging by
    `match`. Enter it once, when what judges is loaded, and not for each row: it collects first.
    """
    gc.collect()  # else garbage would be frozen, and stay
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
