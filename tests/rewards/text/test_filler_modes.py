"""mode="published" of pairwise and criteria: words that say nothing cost nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from spanreward import (
    CriteriaReward,
    FunctionJudge,
    MatchJudge,
    PairwiseReward,
    PoshReward,
    Reward,
    Sample,
    Verdict,
)

CERTAIN = FunctionJudge("certain", lambda text: 5)
TEXT = "A red circle above a blue square. "
CONTEXT = "A red circle."


METRICS: dict[str, Callable[[Any], Reward]] = {
    "criteria": lambda mode: CriteriaReward(CERTAIN, evidence="context", mode=mode),
    "pairwise": lambda mode: PairwiseReward(CERTAIN, form="score", evidence="context", mode=mode),
    "posh": lambda mode: PoshReward(MatchJudge(), mode=mode),
}


def judged(metric: str, mode: str, text: str) -> Verdict:
    columns: dict[str, Any] = {"context": CONTEXT, "criteria": ("Names the circle.",)}
    (verdict,) = METRICS[metric](mode).assess([Sample("", text, references=(TEXT,), **columns)])
    return verdict


@pytest.mark.parametrize("metric", ["criteria", "pairwise"])
def test_what_is_written_four_times_is_charged_in_default_mode_alone(metric: str) -> None:
    assert judged(metric, "published", TEXT * 4).score == 1.0
    assert judged(metric, "default", TEXT * 4).score < 0.5
    assert judged(metric, "published", TEXT).score == 1.0


@pytest.mark.parametrize("metric", METRICS)
def test_markup_around_nothing_is_charged_in_default_mode_alone(metric: str) -> None:
    padded = TEXT + "<br>" * 60
    verdict = judged(metric, "default", padded)
    assert judged(metric, "default", TEXT).score == 1.0
    assert verdict.score == pytest.approx(1 - 57 * 4 / len(padded))
    assert verdict.parts["filler"] == pytest.approx(1 - verdict.score)
    costs = [span.credit for span in verdict.spans if span.kind == "filler"]
    assert sum(costs) == pytest.approx(verdict.score - 1)
    assert "filler" not in judged(metric, "published", padded).parts
