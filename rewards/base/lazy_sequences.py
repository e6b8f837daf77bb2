"""Sequences that make each entry at the moment of its access.

view = View(rows, [2, 5], lambda row: row.id)
view[1]         # rows[5].id
list(view)      # [rows[2].id, rows[5].id]
len(view)       # 2
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class LazySequence(Sequence[T], Generic[T]):
    """A sequence that makes an entry at each access, such as `sequence[3]`.

    A subclass defines `__len__` and `_entry`.
    """

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> list[T]: ...
    def __getitem__(self, number: int | slice) -> T | list[T]:
        # a range handles negative numbers and slices, and raises IndexError outside its bounds
        places = range(len(self))
        if isinstance(number, slice):
            return [self._entry(place) for place in places[number]]
        return self._entry(places[number])

    def _entry(self, number: int) -> T:
        """Returns the entry with this number, from 0 to `len(self) - 1`."""
        raise NotImplementedError


class View(LazySequence[T]):
    """Chosen entries of another sequence, each passed through a function.

    Args:
        entries: the other sequence.
        numbers: the indices of the chosen entries, in the order of the view.
        read: a function from an entry of `entries` to the value that the view shows.
    """

    def __init__(
        self,
        entries: Sequence[Any],
        numbers: Sequence[int],
        read: Callable[[Any], T],
    ) -> None:
        self._entries = entries
        self._numbers = numbers
        self._read = read

    def __len__(self) -> int:
        return len(self._numbers)

    def _entry(self, number: int) -> T:
        return self._read(self._entries[self._numbers[number]])
