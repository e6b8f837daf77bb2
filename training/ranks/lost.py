"""Turns the error of a rank that waits for a lost rank into one sentence.

    with named_lost_rank():
        trainer.train()
    # RecipeError: rank 0 of 2 waited for another rank, which has ended; that rank's log above ...

If another rank has ended or stalled, gloo or NCCL raises an error with a long traceback. The
sentence replaces the traceback. NCCL's watchdog may end the process before Python sees the error.
Then the log ends with NCCL's own message.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch.distributed as dist

from spanreward.training.ranks.timeout import collective_timeout
from spanreward.training.recipe_file import RecipeError

# Gloo raises RuntimeError. Each message names the file in gloo that raises, in this folder.
GLOO_FOLDER = "gloo/transport/"
# parts of NCCL's messages about other ranks; NCCL also raises errors for faults of this rank
NCCL_MESSAGES = ("remote process exited", "connection closed", "aborted", "timed out", "timeout")
STALL_MESSAGES = ("timed out", "timeout")  # parts of messages about a rank that has not ended


@contextmanager
def named_lost_rank() -> Iterator[None]:
    """Raises RecipeError in place of an error of the `with` block that a lost rank has caused.

    A rank is lost if it has ended or stalled. Errors of another cause are raised unchanged.
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
    """Returns torch's message if the error, or an error that caused it, is about another rank.

    For an error of another kind the function returns "".
    """
    # follow the chain of causes: a library may have raised its own error from torch's error
    cause: BaseException | None = error
    while cause is not None:
        words = str(cause)
        if isinstance(cause, (dist.DistNetworkError, dist.DistStoreError)):
            return words
        # check NCCL's class first, because DistBackendError is a subclass of RuntimeError
        if isinstance(cause, dist.DistBackendError):
            if any(part in words.lower() for part in NCCL_MESSAGES):
                return words
        elif isinstance(cause, RuntimeError) and GLOO_FOLDER in words:
            return words
        cause = cause.__cause__ or cause.__context__
    return ""


def lost_rank_sentence(words: str, rank: int, ranks: int) -> str:
    """Returns the message about a lost rank. rank: this rank. ranks: the number of ranks.

    words: torch's message, which shows whether the other rank has stalled or ended.
    """
    happened = "has ended"
    if any(part in words.lower() for part in STALL_MESSAGES):
        happened = "has stalled"
        waited = collective_timeout()
        if waited is not None:
            happened += f": nothing came from it for {waited:g} s (ddp_timeout)"
    return (
        f"rank {rank} of {ranks} waited for another rank, which {happened}; that rank's log above "
        "says why, and --resume goes on from the last checkpoint."
    )
