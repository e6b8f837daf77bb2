"""One value of a row: read as what it is, or refused by one sentence."""

from typing import Any

import numpy as np
import pytest

from spanreward.rewards.rows.values import box, one_text


@pytest.mark.parametrize("value", [None, float("nan"), "", " "])
def test_no_text_is_none(value: Any) -> None:
    assert one_text(value, "question") is None


def test_boxes() -> None:
    for value in ([1, 2, 3, 4], (1, 2, 3, 4), "[1, 2, 3, 4]", np.array([1, 2, 3, 4])):
        assert box(value, "bbox") == (1, 2, 3, 4)
    for wrong in ("1 2 3 4", [1, 2, 3, True], "[1, 2, 3]", 3):
        with pytest.raises(ValueError, match=r"'bbox' .*four numbers"):
            box(wrong, "bbox")
