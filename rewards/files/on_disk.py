"""Sequences whose entries are on the disk. Memory holds 8 bytes of each entry.

    rows = OnDisk(row for row in read())    # in a file without a name, which ends with them
    rows[2], len(rows), list(rows)
    lines = Lines(Path("verdicts.jsonl"))   # of JSON Lines that are there
    lines[2], lines.grow()                  # an object; what was appended since is known too

OnDisk keeps up to IN_MEMORY bytes in memory. More bytes go to a file without a name in the folder
for temporary files, which the environment variable TMPDIR names. The file holds JSON and bytes, so
reading it runs no code.
"""

from array import array
from collections.abc import Iterable
from contextlib import suppress
from os import SEEK_END
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any, TypeVar
from weakref import finalize

from spanreward.rewards.base.lazy_sequences import LazySequence
from spanreward.rewards.files.json_and_bytes import JsonAndBytes
from spanreward.rewards.files.json_lines import object_in

T = TypeVar("T")
IN_MEMORY = 1 << 20  # bytes of a file without a name that stay in memory


def without_name() -> Any:
    """Returns an empty file for bytes. The file has no name, stays in memory up to IN_MEMORY bytes,
    and is deleted when it is closed.
    """
    return SpooledTemporaryFile(max_size=IN_MEMORY)


def _close_quietly(file: Any) -> None:
    """Closes a file that is no longer needed, and ignores errors: if a full disk cannot take the
    last bytes, no reader misses them.
    """
    with suppress(OSError):
        file.close()


class _Stored(LazySequence[T]):
    """Entries that are one after another in a file."""

    def __init__(self) -> None:
        self._file: Any = None
        self._ends = array("Q", [0])  # where each entry ends in the file, in bytes

    def __len__(self) -> int:
        return len(self._ends) - 1

    def _content(self, number: int) -> bytes:
        """Returns the bytes of an entry. number: from 0 on."""
        start = self._ends[number]  # the end of the previous entry, or 0
        end = self._ends[number + 1]
        self._file.seek(start)
        content: bytes = self._file.read(end - start)
        return content


class OnDisk(_Stored[T]):
    """A sequence of values in a file without a name (json_and_bytes.py). A value that would not be
    equal after reading stays in memory.

    Args:
        values: the values, which are read once and written one by one.

    Raises:
        OSError: if there is no room; the message names the folder.
    """

    def __init__(self, values: Iterable[T]) -> None:
        super().__init__()
        self._form = JsonAndBytes()
        self._file = without_name()  # a new temporary file, which no folder lists
        self._in_memory: dict[int, T] = {}  # values that the file cannot hold, by number
        finalize(self, _close_quietly, self._file)
        for value in values:
            self._append(value)

    def _append(self, value: T) -> None:
        """Writes a value after the others. For a value that stays in memory nothing is written."""
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
        """Returns the value with this number."""
        if number in self._in_memory:
            return self._in_memory[number]
        value: T = self._form.unpacked(self._content(number))
        return value


class Lines(_Stored[dict[str, Any]]):
    """The objects in the whole lines of a JSON Lines file. A line that is no object counts as {}. A
    last line without a line break is not a whole line.

    Raises OSError.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb")
        finalize(self, self._file.close)
        self.grow()

    @property
    def size(self) -> int:
        """The number of bytes in the whole lines."""
        return self._ends[-1]

    def forget(self) -> None:
        """Forgets all lines, after the file was emptied."""
        self._ends = array("Q", [0])

    def grow(self) -> None:
        """Reads the lines that were appended since the last call."""
        # Seeking to the end first empties the buffer, which may be out of date if the file was cut.
        self._file.seek(0, SEEK_END)
        line_end = self.size  # the end of the last whole line
        self._file.seek(line_end)
        for line in self._file:
            if line.endswith(b"\n"):  # a last line without a break may still be growing
                line_end += len(line)
                self._ends.append(line_end)

    def _entry(self, number: int) -> dict[str, Any]:
        """Returns the object in the line with this number."""
        return object_in(self._content(number))
