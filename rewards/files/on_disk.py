"""Sequences that lie on the disk. Memory holds 8 bytes of each entry.

    rows = OnDisk(row for row in read())    # in a file without a name, which ends with them
    rows[2], len(rows), list(rows)
    lines = Lines(Path("verdicts.jsonl"))   # of JSON Lines that are there
    lines[2], lines.grow()                  # an object; what was appended since is known too

What is small stays in memory. A larger file without a name lies in the folder for temporary files,
which the environment's TMPDIR names. It holds JSON and bytes, so reading it runs nobody's code.
"""

from array import array
from collections.abc import Iterable
from contextlib import suppress
from os import SEEK_END
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any, TypeVar
from weakref import finalize

from spanreward.rewards.base.views import LazySequence
from spanreward.rewards.files.json_and_bytes import JsonAndBytes
from spanreward.rewards.files.json_lines import object_in

T = TypeVar("T")
IN_MEMORY = 1 << 20  # bytes of a file without a name that need no disk


def without_name() -> Any:
    """Returns an empty file for bytes, in memory up to IN_MEMORY, which ends when it is closed."""
    return SpooledTemporaryFile(max_size=IN_MEMORY)


def _close(file: Any) -> None:
    """Closes a file that nobody needs any more. On a full disk its last bytes cannot be written."""
    with suppress(OSError):
        file.close()


class _Stored(LazySequence[T]):
    """Entries one after another in a file."""

    def __init__(self) -> None:
        self._file: Any = None
        self._ends = array("Q", [0])  # of each entry in the file, in bytes

    def __len__(self) -> int:
        return len(self._ends) - 1

    def _content(self, number: int) -> bytes:
        """Returns the bytes of an entry."""
        start = self._ends[number]  # the end of the entry before, or 0
        end = self._ends[number + 1]
        self._file.seek(start)
        content: bytes = self._file.read(end - start)
        return content


class OnDisk(_Stored[T]):
    """Values that are written one by one as they come (json_and_bytes.py). A value that would not
    come back equal stays in memory.

    Args:
        values: are read once.

    Raises:
        OSError: names the folder, where there is no room.
    """

    def __init__(self, values: Iterable[T]) -> None:
        super().__init__()
        self._form = JsonAndBytes()
        self._file = without_name()
        self._in_memory: dict[int, T] = {}  # by number, what the file cannot hold
        finalize(self, _close, self._file)
        for value in values:
            self._append(value)

    def _append(self, value: T) -> None:
        """Writes a value behind the others. One that stays in memory has no bytes in the file."""
        content = self._form.packed(value)
        if content is None:
            self._in_memory[len(self)] = value
            content = b""
        try:
            self._file.write(content)
        except OSError as error:
            place = f"the folder for temporary files, {gettempdir()}, which TMPDIR names"
            raise OSError(error.errno, f"{error.strerror} in {place}") from None
        self._ends.append(self._ends[-1] + len(content))

    def _entry(self, number: int) -> T:
        if number in self._in_memory:
            return self._in_memory[number]
        value: T = self._form.unpacked(self._content(number))
        return value


class Lines(_Stored[dict[str, Any]]):
    """The objects of a file's whole lines, {} for a line that is none. Raises OSError."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb")
        finalize(self, self._file.close)
        self.grow()

    @property
    def size(self) -> int:
        """The bytes of the whole lines."""
        return self._ends[-1]

    def forget(self) -> None:
        """Takes in that the file was emptied."""
        self._ends = array("Q", [0])

    def grow(self) -> None:
        """Takes in the lines that were appended since."""
        # To the end first, which empties the buffer: the file may have been cut since it was read.
        self._file.seek(0, SEEK_END)
        self._file.seek(self.size)
        for line in self._file:
            if line.endswith(b"\n"):  # a last one without may still be written
                self._ends.append(self.size + len(line))

    def _entry(self, number: int) -> dict[str, Any]:
        return object_in(self._content(number))
