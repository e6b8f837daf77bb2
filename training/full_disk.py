"""Turns the errors of a full disk during training into one sentence with a remedy.

    with named_full_disk(Path("outputs/dapo")):
        trainer.train()
    # RecipeError: the disk of outputs/dapo is full (No space left on device): ...

Only a checkpoint or the final policy that cannot be written ends the training: a log file that
cannot be written gives a warning. An old checkpoint is deleted only after the new checkpoint is
whole, so the last whole checkpoint remains.
"""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spanreward.training.recipe_file import RecipeError
from spanreward.training.run_folder import STATE_FILE, checkpoint_folders

FULL_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT)  # no space left on the disk, or in the user's quota
# Texts of the errors that safetensors and torch raise on a full disk, which are no OSError. torch
# writes only that a stream failed, so `named_full_disk` adds the free space of the disk.
FULL_DISK_TEXTS = (
    "os error 28",
    "os error 122",
    "No space left",
    "PytorchStreamWriter failed",
    "iostream error",
)


@contextmanager
def named_full_disk(output: Path) -> Iterator[None]:
    """Turns an error that a full disk caused into a RecipeError that tells the user how to go on.

    output: the output folder of the run.
    """
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
            f"make room there, and {next_step(output)}."
        ) from error


def is_full_disk(error: BaseException) -> bool:
    """Returns whether a full disk caused the error, by the error itself or by an error in its chain
    of causes.
    """
    # a library may catch the system's error and raise an error of its own
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in FULL_DISK_ERRORS:
            return True
        if any(text in str(cause) for text in FULL_DISK_TEXTS):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def next_step(output: Path) -> str:
    """Returns the user's next step after making room, such as "go on with --resume from
    checkpoint-50, the last whole checkpoint".
    """
    complete = [folder for folder in checkpoint_folders(output) if (folder / STATE_FILE).is_file()]
    if complete:
        return f"go on with --resume from {complete[-1].name}, the last whole checkpoint"
    return "begin anew, since no checkpoint is whole"
