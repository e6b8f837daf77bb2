"""Sequences whose entries are read when they are asked for.

view = View(rows, [2, 5], lambda row: row.id)
view[1], list(view), len(view)      # of the row 5, of both, 2
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class LazySequence(Sequence[T], Generic[T]):
    """A sequence that makes an entry when it is asked for it.

    A subclass defines `__len__`, and `_entry` for a number from 0 on.
    """

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> list[T]: ...
    def __getitem__(self, number: int | slice) -> T | list[T]:
        # a range knows negative numbers and slices, and raises IndexError past its ends
        places = range(len(self))
        if isinstance(number, slice):
            return [self._entry(place) for place in places[number]]
        return self._entry(places[number])

    def _entry(self, number: int) -> T:
        """Returns the entry of this number, which is from 0 to the length less 1."""
        raise NotImplementedError


class View(LazySequence[T]):
    """Some entries of a sequence.

    Args:
        entries: the whole sequence.
        numbers: which of its entries, in what order.
        read: returns what is seen of an entry.
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
