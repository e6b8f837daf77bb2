"""Some entries of a sequence, each read when it is asked for.

view = View(rows, [2, 5], lambda row: row.id)
view[1], list(view), len(view)      # of the row 5, of both, 2
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

T = TypeVar("T")


class View(Sequence[T]):
    """numbers: which entries of the sequence, in what order. read: what is seen of an entry."""

    def __init__(
        self, entries: Sequence[Any], numbers: Sequence[int], read: Callable[[Any], T]
    ) -> None:
        self._entries = entries
        self._numbers = numbers
        self._read = read

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        return self._read(self._entries[self._numbers[place]])
