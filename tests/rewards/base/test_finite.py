"""A number that is not finite is refused where it is made, and fails a judgment."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanreward import Reward, Sample, Span, SpanGRPOConfig, Status, Verdict

WRONG: list[Any] = [math.nan, math.inf, -math.inf, 1e300, -1e300, "0.5", None]
SCORES: list[Any] = [math.nan, math.inf, -0.01, 1.01, "0.5", [0.5], True]


@pytest.mark.parametrize("number", WRONG)
def test_a_credit_or_a_part(number: Any) -> None:
    with pytest.raises(ValueError, match=r"credit .*finite number"):
        Span(0, 1, 0.5, number, "word", "", 0)
    with pytest.raises(ValueError, match=r"parts .*finite numbers .*'f1'"):
        Verdict(0.5, parts={"f1": number})


@pytest.mark.parametrize("score", SCORES)
def test_a_score(score: Any) -> None:
    with pytest.raises(ValueError, match=r"score"):
        Verdict.from_dict({"score": score})
    with pytest.raises(ValueError, match=r"score .*from 0 to 1"):
        Span(0, 1, -0.1 if score is True else score, 0.1, "entity", "", 0)
    assert [Verdict(edge).score for edge in (0.0, 1.0)] == [0.0, 1.0]
    span = Span(0, 1, 1 + 1e-9, np.float32(2), "", "", 0)  # as a mean of ratings may be
    assert Verdict(np.float32(0.5), parts={"f1": np.float64(0.25)}, spans=(span,)).spans == (span,)


@pytest.mark.parametrize("coefficient", [math.nan, math.inf])
def test_a_coefficient(tmp_path: Path, coefficient: float) -> None:
    with pytest.raises(ValueError, match="span_coef"):
        SpanGRPOConfig(output_dir=str(tmp_path), span_coef=coefficient, use_cpu=True, bf16=False)


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (None, "got None"),
        ([], "got 0 in a list"),
        ([Verdict(0.5)] * 2, "got 2 in a list"),
        ([Verdict(0.5)] * 4, "got 4 in a list"),
        ([0.1, 0.2, 0.3], "got 0.1 in it"),
        ([Verdict(0.5), None, Verdict(0.5)], "got None in it"),
        ((Verdict(0.5) for _ in range(3)), "got <generator object"),
        (0.5, "got 0.5"),
        ({"a": Verdict(0.5)}, "got {'a': Verdict("),
    ],
)
def test_a_reward_of_another_shape(returned: Any, told: str) -> None:
    class Odd(Reward):
        def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
            return returned

    reward = Odd("odd")
    for verdict in reward.judge_samples([Sample("", "a")] * 3):
        assert (verdict.score, verdict.status) == (None, Status.ERROR)
        assert told in verdict.note
    assert reward(["p"] * 3, ["a"] * 3) == [None] * 3
