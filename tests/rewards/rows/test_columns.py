"""What stands for no value is read as none, and what people may say is not."""

from collections import Counter

import pytest

from spanreward.rewards.rows.columns import without_missing


@pytest.mark.parametrize("mark", ["NA", "N/A", "NULL", "#N/A"])
def test_the_marks_of_r_and_of_spreadsheets_are_missing_but_where_they_are_said(mark: str) -> None:
    missing = Counter[str]()
    row = {"reference": mark, "context": mark, "answers": mark, "completion": mark, "place": mark}
    read = without_missing(row, missing)
    assert read == {**row, "reference": None, "context": None}
    assert missing == {"reference": 1, "context": 1}
    words = {"reference": f"{mark} stands there."}
    assert without_missing(words, missing) == words
