"""`-` on a command line: standard input in place of a file of rows, standard output in place of one
that is written.

    with rows_from("-") as source:          # a file with what came in, for as long as it is read
        ...
    with lines_to(Path("-")) as output:     # a file, which goes to standard output at the end
        ...

Files in place of streams keep one road through a command: rows are read twice where a page is made,
and an output is put in order at its end. Tables go to standard error where numbers or verdicts go
to standard output, so that the next program reads these alone.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

STREAM = "-"
WRITING = ("--output", "-o", "--json")  # options whose file may be standard output


@contextmanager
def rows_from(source: str) -> Iterator[str]:
    """Yields the name of a file: the source, or a copy of standard input, which is JSON Lines."""
    if source != STREAM:
        yield source
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "standard_input.jsonl"
        with file.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield str(file)


@contextmanager
def lines_to(output: Path) -> Iterator[Path]:
    """Yields a file to write: the output, or one that is copied to standard output at the end.

    Nothing is copied where an exception ends the writing.
    """
    if output != Path(STREAM):
        yield output
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "standard_output.jsonl"
        yield file
        # sys.stdout is standard error meanwhile, for the tables (main.py)
        assert sys.__stdout__ is not None
        with file.open(encoding="utf-8") as lines:
            shutil.copyfileobj(lines, sys.__stdout__)
        sys.__stdout__.flush()


def writes_to_output(words: Sequence[str]) -> bool:
    """Returns whether one of these words of a command line sends a file to standard output."""
    for option in WRITING:
        # --output=-
        if f"{option}={STREAM}" in words:
            return True
        # --output -
        for place, word in enumerate(words[:-1]):
            if word == option and words[place + 1] == STREAM:
                return True
    return False
