"""A number that is not finite is refused where a span, a verdict or a configuration is made."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from spanreward import Reward, Sample, Span, SpanGRPOConfig, Status, Verdict

WRONG = [math.nan, math.inf, -math.inf, 1e300, -1e300]


@pytest.mark.parametrize("credit", WRONG)
def test_a_credit(credit: float) -> None:
    with pytest.raises(ValueError, match="a span's credit must be a finite number"):
        Span(0, 1, 0.5, credit, "word", "", 0)


@pytest.mark.parametrize("part", WRONG)
def test_a_part(part: float) -> None:
    with pytest.raises(ValueError, match=r"a verdict's parts must be finite numbers .*'f1'"):
        Verdict(0.5, parts={"f1": part})


@pytest.mark.parametrize("coefficient", [math.nan, math.inf, -1.0])
def test_a_coefficient(tmp_path: Path, coefficient: float) -> None:
    with pytest.raises(ValueError, match="span_coef must be a finite number of 0 or more"):
        SpanGRPOConfig(output_dir=str(tmp_path), span_coef=coefficient, use_cpu=True, bf16=False)


def test_a_reward_that_makes_one_is_a_failed_judgment_and_no_number() -> None:
    class Broken(Reward):
        def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
            return [Verdict(0.5, spans=(Span(0, 1, 0.5, math.nan, "word", "", 0),)) for _ in samples]

    (verdict,) = Broken("broken").judge_samples([Sample("", "a")])
    assert (verdict.score, verdict.status) == (None, Status.ERROR)
    assert "a span's credit must be a finite number" in verdict.note
