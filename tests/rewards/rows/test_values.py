"""One value of a row: read as what it is, or refused by one sentence."""

from typing import Any

import numpy as np
import pytest

from spanreward.rewards.rows.values import box_of_value, one_text


@pytest.mark.parametrize("value", [None, float("nan"), "", " "])
def test_no_text_is_none(value: Any) -> None:
    assert one_text(value, "question") is None


@pytest.mark.parametrize("value", [3, True, ["a"], {"a": 1}, {}])
def test_what_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="'question'"):
        one_text(value, "question")


@pytest.mark.parametrize("value", [[1, 2, 3, 4], (1, 2, 3, 4), "[1, 2, 3, 4]", np.arange(1, 5)])
def test_a_box(value: Any) -> None:
    assert box_of_value(value, "bbox") == (1, 2, 3, 4)


NO_BOXES = ["1 2 3 4", "[1, 2, 3]", 3, [1, 2, 3], [1, 2, 3, True], [0, 0, 4, "4"]]
NO_BOXES += [[0, 0, 4, float("nan")], [0, 0, 4, 10**400]]


@pytest.mark.parametrize("value", NO_BOXES, ids=range(8))
def test_what_is_no_box_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"'bbox' .*four numbers"):
        box_of_value(value, "bbox")
