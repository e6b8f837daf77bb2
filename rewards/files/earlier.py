"""Matches the lines that an earlier run has written with the rows of this run.

    earlier = Earlier(lines)        # of `resumed_lines`, each with id, score, status, fingerprint
    earlier.places_of(marks)        # of each row's scored line, -1 for none

Only some bytes of each line are kept in memory; the lines stay in their file. A mark is the number
of a row's fingerprint (`mark_number`). A place is a line's number, from 0 on.
"""

from array import array
from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spanreward.rewards.base.marks import (
    PlaceNumbers,
    UnsignedIntegers,
    as_numbers,
    indices_of_marks,
    mark_number,
    mark_numbers,
)

EarlierLine = dict[str, Any]


class Earlier:
    """The ids, fingerprints and results of an earlier run's lines, in 18 bytes a line.

    Args:
        lines: the lines of the earlier run.
        failed: the statuses that a line has if its judge failed.

    Attributes:
        marks, ids: a number for each line's fingerprint and for its id (`mark_number`), in order.
    """

    def __init__(self, lines: Iterable[EarlierLine], failed: Container[str]) -> None:
        # Arrays, because lists of Python numbers take several times as much memory.
        marks = array("Q")
        ids = array("Q")
        scored = bytearray()
        has_failed = bytearray()
        for line in lines:
            marks.append(mark_number(line["fingerprint"]))
            ids.append(mark_number(line["id"]))
            scored.append(line["score"] is not None)
            has_failed.append(line["status"] in failed)
        self.marks = as_numbers(marks)
        self.ids = as_numbers(ids)
        self._scored = np.frombuffer(scored, dtype=bool)
        self._failed = np.frombuffer(has_failed, dtype=bool)

    @property
    def failed(self) -> UnsignedIntegers:
        """The marks of the lines whose judge failed."""
        return self.marks[self._failed]

    def places_of_no_row(self, marks: UnsignedIntegers, ids: UnsignedIntegers) -> list[int]:
        """Returns the places of the scored lines that belong to no row of this run.

        marks: a number for the fingerprint of each row of this run. ids: a number for the id of
        each row. A line belongs to a row if its fingerprint or its id has one of these numbers.
        """
        # One array serves both tests, since a fingerprint and an id hardly have the same number.
        numbers_of_rows = np.concatenate((marks, ids))
        has_mark = np.isin(self.marks, numbers_of_rows)
        has_id = np.isin(self.ids, numbers_of_rows)
        belongs_to_row = has_mark | has_id
        of_no_row = self._scored & ~belongs_to_row
        places: list[int] = np.flatnonzero(of_no_row).tolist()
        return places

    def places_of(self, marks: UnsignedIntegers) -> PlaceNumbers:
        """Returns for each row the number of its scored line, or -1 for a row without one. The
        number counts all lines of the file, from 0. Of several equal rows each gets a line of its
        own, as long as there are such lines.

        For scored lines with the fingerprints "a", "b" and "a", the rows "a", "c", "a" and "a" give
        0, -1, 2 and -1.

        marks: a number for the fingerprint of each row.
        """
        scored = np.flatnonzero(self._scored)
        places = indices_of_marks(self.marks[scored], marks)
        # These places count the scored lines only. They are turned into numbers of all lines.
        has_line = places >= 0
        places[has_line] = scored[places[has_line]]
        return places

    def knows(self, marks: UnsignedIntegers, ids: UnsignedIntegers) -> npt.NDArray[np.bool_]:
        """Returns for each row whether any line has its mark or its id, with or without a score."""
        numbers_of_lines = np.concatenate((self.marks, self.ids))
        return np.isin(marks, numbers_of_lines) | np.isin(ids, numbers_of_lines)


def by_fingerprint(lines: Sequence[EarlierLine], marks: Iterable[str]) -> dict[int, EarlierLine]:
    """Returns the earlier line of each row, by the row's number. Rows without an earlier line are
    missing in the result. Of several equal rows each gets a line of its own.

    For lines with the fingerprints "a" and "b", the rows "b", "c" and "a" give {0: the second line,
    2: the first line}.

    marks: the fingerprints of the rows, in order.
    """
    line_marks = mark_numbers(line["fingerprint"] for line in lines)
    places = indices_of_marks(line_marks, mark_numbers(marks)).tolist()
    line_by_row: dict[int, EarlierLine] = {}
    for number, place in enumerate(places):
        if place >= 0:
            line_by_row[number] = lines[place]
    return line_by_row
