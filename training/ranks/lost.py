"""A run whose other rank has ended or stalled: one sentence, in place of the traceback of gloo or
NCCL.

    with named_lost_rank():
        trainer.train()
    # RecipeError: rank 0 of 2 waited for another rank, which has ended: its log above says why; ...

NCCL's watchdog may end the process before Python gets to know of it. Then its words stay the last.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch.distributed as dist

from spanreward.training.ranks.timeout import timeout
from spanreward.training.recipe_file import RecipeError

# of the file in gloo that raises, before each of its messages; the error is a RuntimeError
GLOO = "gloo/transport/"
# what NCCL says of other ranks; it also raises for faults of this one
NCCL = ("remote process exited", "connection closed", "aborted", "timed out", "timeout")
STALLED = ("timed out", "timeout")


@contextmanager
def named_lost_rank() -> Iterator[None]:
    """Raises RecipeError for an error that another rank's end or silence caused.

    Any other error leaves as it is.
    """
    try:
        yield
    except Exception as error:
        words = words_of_lost_rank(error)
        if not words or not dist.is_initialized():
            raise
        sentence = lost_rank_sentence(words, dist.get_rank(), dist.get_world_size())
        raise RecipeError(sentence) from error


def words_of_lost_rank(error: BaseException) -> str:
    """Returns what torch says of another rank in the error, or in one that it came from; else
    "".
    """
    # a library may have raised its own error from torch's
    cause: BaseException | None = error
    while cause is not None:
        words = str(cause)
        if isinstance(cause, (dist.DistNetworkError, dist.DistStoreError)):
            return words
        # NCCL's, before RuntimeError, of which it is a kind
        if isinstance(cause, dist.DistBackendError):
            if any(part in words.lower() for part in NCCL):
                return words
        elif isinstance(cause, RuntimeError) and GLOO in words:
            return words
        cause = cause.__cause__ or cause.__context__
    return ""


def lost_rank_sentence(words: str, rank: int, ranks: int) -> str:
    """Returns what this rank says last. words: torch's, of which they tell an end from a stall."""
    happened = "has ended"
    if any(part in words.lower() for part in STALLED):
        happened = "has stalled"
        waited = timeout()
        if waited is not None:
            happened += f": nothing came from it for {waited:g} s (ddp_timeout)"
    return (
        f"rank {rank} of {ranks} waited for another rank, which {happened}; that rank's log above "
        "says why, and --resume goes on from the last checkpoint."
    )
