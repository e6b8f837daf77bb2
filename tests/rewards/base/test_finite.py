"""A number that is not finite, or is none, is refused where a span, a verdict or a configuration is
made. A reward of another shape than Reward.assess promises is a failed judgment."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanreward import Reward, Sample, Span, SpanGRPOConfig, Status, Verdict

WRONG: list[Any] = [math.nan, math.inf, -math.inf, 1e300, -1e300, "0.5", None]


@pytest.mark.parametrize("credit", WRONG)
def test_a_credit(credit: Any) -> None:
    with pytest.raises(ValueError, match="a span's credit must be a finite number"):
        Span(0, 1, 0.5, credit, "word", "", 0)


@pytest.mark.parametrize("part", WRONG)
def test_a_part(part: Any) -> None:
    with pytest.raises(ValueError, match=r"a verdict's parts must be finite numbers .*'f1'"):
        Verdict(0.5, parts={"f1": part})


@pytest.mark.parametrize("coefficient", [math.nan, math.inf, -1.0])
def test_a_coefficient(tmp_path: Path, coefficient: float) -> None:
    with pytest.raises(
        ValueError, match=r"span_coef: Input should be (a finite number|greater than or equal to 0)"
    ):
        SpanGRPOConfig(output_dir=str(tmp_path), span_coef=coefficient, use_cpu=True, bf16=False)


def test_a_reward_that_makes_one_is_a_failed_judgment_and_no_number() -> None:
    class Broken(Reward):
        def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
            return [
                Verdict(0.5, spans=(Span(0, 1, 0.5, math.nan, "word", "", 0),)) for _ in samples
            ]

    (verdict,) = Broken("broken").judge_samples([Sample("", "a")])
    assert (verdict.score, verdict.status) == (None, Status.ERROR)
    assert "a span's credit must be a finite number" in verdict.note


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (None, "assess must return a list of 3 verdicts, one for each sample, got None"),
        ([], "assess must return a list of 3 verdicts, one for each sample, got 0 in a list"),
        ([Verdict(0.5)] * 2, "got 2 in a list"),
        ([Verdict(0.5)] * 4, "got 4 in a list"),
        ([0.1, 0.2, 0.3], "assess must return a list of verdicts, got 0.1 in it"),
        ([Verdict(0.5), None, Verdict(0.5)], "got None in it"),
        ((Verdict(0.5) for _ in range(3)), "got <generator object"),
        ({"a": Verdict(0.5)}, "got {'a': Verdict("),
        (0.5, "got 0.5"),
    ],
)
def test_a_reward_of_another_shape(returned: Any, sentence: str) -> None:
    class Odd(Reward):
        def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
            return returned

    reward = Odd("odd")
    verdicts = reward.judge_samples([Sample("", "a")] * 3)
    assert [(verdict.score, verdict.status) for verdict in verdicts] == [(None, Status.ERROR)] * 3
    assert all(sentence in verdict.note for verdict in verdicts)
    assert reward(["p"] * 3, ["a"] * 3) == [None] * 3


@pytest.mark.parametrize("score", [math.nan, -0.1, 1.1, "0.5", [0.5]])
def test_a_score(score: Any) -> None:
    with pytest.raises(ValueError, match=r"a score is a number in \[0, 1\]"):
        Verdict(score)


def test_numbers_of_numpy_are_numbers() -> None:
    assert Verdict(
        np.float32(0.5),
        parts={"f1": np.float64(0.25)},
        spans=(Span(0, 1, 1.0, np.float32(2), "", "", 0),),
    )
