"""What the lines of an earlier run are known by, and which row each is of.

    earlier = Earlier(lines)        # of `resumed_lines`, each with id, score, status, fingerprint
    earlier.places_of(marks)        # of each row's scored line, -1 for none

They are some bytes a line: the lines stay in their file.
"""

from array import array
from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spanreward.rewards.base.marks import (
    Numbers,
    PlaceNumbers,
    as_numbers,
    mark_number,
    mark_numbers,
    matched,
)

EarlierLine = dict[str, Any]


class Earlier:
    """18 bytes of each line.

    Args:
        lines: of the earlier run.
        failed: the statuses of lines whose judge failed.

    Attributes:
        marks, ids: a number for each line's fingerprint and id (`mark_number`), in order.
    """

    def __init__(self, lines: Iterable[EarlierLine], failed: Container[str]) -> None:
        # arrays, because lists of Python's own numbers take several times as much
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
    def failed(self) -> Numbers:
        """The marks of lines whose judge failed."""
        return self.marks[self._failed]

    def strangers(self, marks: Numbers, ids: Numbers) -> list[int]:
        """Returns the places of the scored lines that are of no row with one of these marks or
        ids.
        """
        fingerprints = np.concatenate((marks, ids))
        has_mark = np.isin(self.marks, fingerprints)
        has_id = np.isin(self.ids, fingerprints)
        of_no_row = self._scored & ~(has_mark | has_id)
        places: list[int] = np.flatnonzero(of_no_row).tolist()
        return places

    def places_of(self, marks: Numbers) -> PlaceNumbers:
        """Returns the place of the scored line of each row, -1 for none; equal rows have one
        each.
        """
        scored = np.flatnonzero(self._scored)
        places = matched(self.marks[scored], marks)
        # so far places among the scored lines; now among all
        met = places >= 0
        places[met] = scored[places[met]]
        return places

    def knows(self, marks: Numbers, ids: Numbers) -> npt.NDArray[np.bool_]:
        """Returns of each row whether a line, with or without a score, has its mark or its id."""
        fingerprints = np.concatenate((self.marks, self.ids))
        return np.isin(marks, fingerprints) | np.isin(ids, fingerprints)


def by_fingerprint(lines: Sequence[EarlierLine], marks: Iterable[str]) -> dict[int, EarlierLine]:
    """Returns the rows' lines, by the row's number; equal rows have one each. marks: the
    fingerprints of the rows.
    """
    line_marks = mark_numbers(line["fingerprint"] for line in lines)
    places = matched(line_marks, mark_numbers(marks)).tolist()
    line_by_row: dict[int, EarlierLine] = {}
    for number, place in enumerate(places):
        if place >= 0:
            line_by_row[number] = lines[place]
    return line_by_row
