"""Sequences that lie on the disk, of which memory holds 8 bytes an entry.

    rows = OnDisk(row for row in read())    # in a file without a name, which ends with them
    rows[2], len(rows), list(rows)
    lines = Lines(Path("verdicts.jsonl"))   # of JSON Lines that are there
    lines[2], lines.grow()                  # an object; what was appended since is known too

What is small stays in memory. A larger file without a name lies in the folder for temporary files,
which the environment's TMPDIR names. Reading a pickle that somebody else wrote runs their code. So
each entry has a hash that only this process can make, and one without it is not read.
"""

import hashlib
import hmac
import pickle
import secrets
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from os import SEEK_END
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any, Generic, TypeVar, overload
from weakref import finalize

from spanreward.rewards.files.json_lines import object_in

T = TypeVar("T")
IN_MEMORY = 1 << 20  # bytes of a file without a name that need no disk
HASH_BYTES = 16
# what `pickle` raises for an object that cannot be written
UNWRITABLE = (pickle.PicklingError, TypeError, AttributeError, RecursionError)


def without_name() -> Any:
    """Returns an empty file for bytes, in memory up to IN_MEMORY, which ends when it is closed."""
    return SpooledTemporaryFile(max_size=IN_MEMORY)


def _close(file: Any) -> None:
    """Closes a file whose last bytes nobody wants: on a full disk they cannot be written."""
    with suppress(OSError):
        file.close()


class _Stored(Sequence[T], Generic[T]):
    """Entries that a subclass reads by their number."""

    def __init__(self) -> None:
        self._ends = array("Q", [0])  # of each entry in the file, in bytes

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> list[T]: ...
    def __getitem__(self, number: int | slice) -> T | list[T]:
        if isinstance(number, slice):
            return [self._entry(place) for place in range(len(self))[number]]
        return self._entry(range(len(self))[number])

    def _entry(self, number: int) -> T:
        raise NotImplementedError


class OnDisk(_Stored[T]):
    """Values that are pickled one by one as they come. One that cannot be stays in memory.

    Raises OSError, which names the folder, where there is no room, and where a value is read that
    another program changed.
    """

    def __init__(self, values: Iterable[T]) -> None:
        super().__init__()
        self._key = secrets.token_bytes(HASH_BYTES)
        self._file = without_name()
        self._unwritable: dict[int, T] = {}
        finalize(self, _close, self._file)
        for value in values:
            self._append(value)

    def _append(self, value: T) -> None:
        try:
            content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        except UNWRITABLE:
            self._unwritable[len(self)] = value
            content = b""
        content = self._hash(content) + content
        try:
            self._file.write(content)
        except OSError as error:
            place = f"the folder for temporary files, {gettempdir()}, which TMPDIR names"
            raise OSError(error.errno, f"{error.strerror} in {place}") from None
        self._ends.append(self._ends[-1] + len(content))

    def _entry(self, number: int) -> T:
        if number in self._unwritable:
            return self._unwritable[number]
        self._file.seek(self._ends[number])
        content = self._file.read(self._ends[number + 1] - self._ends[number])
        given, pickled = content[:HASH_BYTES], content[HASH_BYTES:]
        if not hmac.compare_digest(given, self._hash(pickled)):
            raise OSError(
                "another program changed rows in the folder for temporary files: let TMPDIR name a "
                "folder that is yours alone."
            )
        value: T = pickle.loads(pickled)
        return value

    def _hash(self, content: bytes) -> bytes:
        return hashlib.blake2b(content, key=self._key, digest_size=HASH_BYTES).digest()


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
            if line.endswith(b"\n"):
                self._ends.append(self.size + len(line))

    def _entry(self, number: int) -> dict[str, Any]:
        self._file.seek(self._ends[number])
        return object_in(self._file.read(self._ends[number + 1] - self._ends[number]))
