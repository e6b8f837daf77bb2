"""The file name `-` on a command line: standard input in place of an input file, and standard
output in place of an output file.

    with rows_from("-") as source:          # a temporary file with a copy of standard input
        ...
    with lines_to(Path("-")) as output:     # a temporary file, printed at the end of the `with`
        ...

Commands need temporary files in place of the streams: an input is read twice if a page is made, and
an output is written anew at the end, in the order of the rows. If numbers or verdicts are printed
to standard output, tables are printed to standard error, so that the program behind the pipe reads
no table.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

STREAM_NAME = "-"
# flags with the name of an output file, which may be `-`
OUTPUT_FLAGS = ("--output", "-o", "--json")


@contextmanager
def rows_from(source: str) -> Iterator[str]:
    """Yields the name of a file: `source` itself, or for "-" a temporary copy of standard input,
    which must be JSON Lines.
    """
    if source != STREAM_NAME:
        yield source
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "standard_input.jsonl"
        with file.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield str(file)


@contextmanager
def lines_to(output: Path) -> Iterator[Path]:
    """Yields the path of a file to write: `output` itself, or for "-" a temporary file, which is
    copied to standard output at the end of the `with`.

    If an exception ends the `with`, nothing is copied.
    """
    if output != Path(STREAM_NAME):
        yield output
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "standard_output.jsonl"
        yield file
        # sys.stdout is redirected to standard error by main.py, so use the original stream
        assert sys.__stdout__ is not None
        with file.open(encoding="utf-8") as lines:
            shutil.copyfileobj(lines, sys.__stdout__)
        sys.__stdout__.flush()


def writes_to_output(words: Sequence[str]) -> bool:
    """Returns whether the words of a command line name standard output as an output file:
    `--output -` or `--output=-`.
    """
    for flag in OUTPUT_FLAGS:
        if f"{flag}={STREAM_NAME}" in words:  # --output=-
            return True
        if (flag, STREAM_NAME) in pairwise(words):  # --output -
            return True
    return False
