"""A training on a full disk: logs warn and go on, and a checkpoint that cannot be written is one
sentence.

    with named_full_disk(Path("outputs/dapo")):
        trainer.train()
    # RecipeError: the disk of outputs/dapo is full (No space left on device): ...

Checkpoints are rotated after the new one is whole, so the last whole one stays.
"""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spanreward.training.recipe_file import RecipeError
from spanreward.training.run_folder import STATE, checkpoints

FULL = (errno.ENOSPC, errno.EDQUOT)  # no space left, and none left of the user's quota
# What safetensors and torch say of it, which raise no OSError. torch says no more than that a
# stream could not be written; the message gives the free space beside it.
WORDS = (
    "os error 28",
    "os error 122",
    "No space left",
    "PytorchStreamWriter failed",
    "iostream error",
)


@contextmanager
def named_full_disk(output: Path) -> Iterator[None]:
    """Raises RecipeError, with the way on, for an error that a full disk caused."""
    try:
        yield
    except Exception as error:
        if not is_full_disk(error):
            raise
        lines = str(error).strip().splitlines()
        if not lines:  # an error without words
            lines = [type(error).__name__]
        free = shutil.disk_usage(output).free / 1e9
        raise RecipeError(
            f"the disk of {output} is full, with {free:.1f} GB free ({lines[0].rstrip('.:')}): "
            f"make room there, and {way_on(output)}."
        ) from error


def is_full_disk(error: BaseException) -> bool:
    """Returns whether the error, or one that it came from, says that nothing more can be
    written.
    """
    # a library may have raised its own error from the system's
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in FULL:
            return True
        if any(words in str(cause) for words in WORDS):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def way_on(output: Path) -> str:
    """Returns what to do after there is room, for a sentence."""
    whole = [folder for folder in checkpoints(output) if (folder / STATE).is_file()]
    if whole:
        return f"go on with --resume from {whole[-1].name}, the last whole checkpoint"
    return "begin anew, since no checkpoint is whole"
