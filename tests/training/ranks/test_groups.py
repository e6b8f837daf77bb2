"""Groups of one row, and of several: by the marks of the rows of all ranks."""

import re
from typing import Any

import pytest
from PIL import Image

from spanreward.training.ranks.groups import mark_of, mixed_group, sentence_of_group

ROW: dict[str, Any] = {"prompt": [{"role": "user", "content": "Look."}], "reference": ["a", "b"]}


def test_a_row_read_twice_has_one_mark() -> None:
    for row in (ROW, {**ROW, "image": Image.new("RGB", (40, 30), "red")}):
        copied = {name: row[name] for name in reversed(row)}
        assert mark_of(row, row) == mark_of(copied, copied) < 2**24


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("prompt", [{"role": "user", "content": "Look!"}]),
        ("reference", ["a"]),
        ("image", Image.new("RGB", (40, 30), "blue")),
        ("image", Image.new("RGB", (30, 40), "red")),
    ],
)
def test_another_value_has_another_mark(column: str, value: Any) -> None:
    row = {**ROW, "image": Image.new("RGB", (40, 30), "red")}
    other = {**row, column: value}
    assert mark_of(row, row) != mark_of(other, other)
    names = [name for name in row if name != column]
    assert mark_of(row, names) == mark_of(other, names)


def test_an_object_counts_by_its_type() -> None:
    assert mark_of({"tool": object()}, ["tool"]) == mark_of({"tool": object()}, ["tool"])


@pytest.mark.parametrize(
    ("marks", "group"), [([1, 1, 2, 2], None), ([1, 1, 2, 3], 1), ([1, 2, 1, 2], 0), ([], None)]
)
def test_the_first_mixed_group(marks: list[float], group: int | None) -> None:
    assert mixed_group(marks, 2) == group


def test_the_sentence_names_ranks_and_prompts() -> None:
    marks = [1.0] * 6 + [2.0] * 2
    prompts = ["'one'"] * 6 + ["'two'"] * 2
    told = "group 2 of .*: on ranks 2 and 3 it has 'one' and 'two': make the same rows"
    assert re.match(told, sentence_of_group(1, 4, marks, prompts, ranks=4))
