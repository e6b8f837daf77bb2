"""What the lines of an earlier run are known by."""

import numpy as np

from spanreward.rewards.base.marks import mark_numbers
from spanreward.rewards.files.earlier import Earlier, by_fingerprint


def line(mark: str, name: str, score: float | None, status: str = "ok") -> dict[str, object]:
    return {"fingerprint": mark, "id": name, "score": score, "status": status}


LINES = [
    line("a", "1", 0.5), line("b", "2", None, "error"), line("a", "3", 0.7),
    line("a", "3", None, "timeout"), line("c", "4", 0.1),
]  # fmt: skip


def test_each_row_finds_a_scored_line_of_its_own() -> None:
    earlier = Earlier(LINES, {"error", "timeout"})
    assert earlier.places_of(mark_numbers(["c", "a", "b", "a", "a"])).tolist() == [4, 0, -1, 2, -1]
    assert Earlier([], ()).places_of(mark_numbers("a")).tolist() == [-1]
    assert earlier.failed.tolist() == mark_numbers(["b", "a"]).tolist()


def test_a_scored_line_without_a_row_is_a_stranger() -> None:
    earlier = Earlier(LINES, ())
    assert earlier.places_of_no_row(mark_numbers("a"), mark_numbers("9")) == [4]
    assert earlier.places_of_no_row(mark_numbers("x"), mark_numbers(["3", "4"])) == [0]
    assert earlier.places_of_no_row(mark_numbers(["a", "c"]), mark_numbers(["7", "8"])) == []


def test_a_row_is_known_by_its_text_or_its_id() -> None:
    earlier = Earlier(LINES, ())
    known = earlier.knows(mark_numbers("bxx"), mark_numbers("924"))
    assert known.tolist() == [True, True, True]
    assert not np.any(earlier.knows(mark_numbers("x"), mark_numbers("9")))


def test_lines_by_the_rows_numbers() -> None:
    found = by_fingerprint(LINES, ["a", "z", "a", "b"])
    assert found == {0: LINES[0], 2: LINES[2], 3: LINES[1]}
