"""mode="published" of pairwise and criteria: words that say nothing cost nothing."""

from dataclasses import replace

import pytest

from spanreward import CriteriaReward, FunctionJudge, MatchJudge, PairwiseReward, PoshReward, Sample

CERTAIN = FunctionJudge("certain", lambda text: 5)
TEXT = "A red circle above a blue square. "
CONTEXT = "A red circle."


def score(reward: CriteriaReward | PairwiseReward, text: str) -> float:
    (verdict,) = reward.assess(
        [Sample("Describe.", text, context=CONTEXT, criteria=("Names the circle.",))]
    )
    assert verdict.score is not None
    return verdict.score


@pytest.mark.parametrize(
    "make",
    [
        lambda mode: CriteriaReward(CERTAIN, evidence="context", mode=mode),
        lambda mode: PairwiseReward(CERTAIN, form="score", evidence="context", mode=mode),
    ],
    ids=["criteria", "pairwise"],
)
def test_what_is_written_four_times_is_charged_in_default_mode_alone(make: object) -> None:
    assert score(make("published"), TEXT * 4) == 1.0
    assert score(make("default"), TEXT * 4) < 0.5
    assert score(make("default"), TEXT) == score(make("published"), TEXT) == 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda mode: CriteriaReward(CERTAIN, evidence="context", mode=mode),
        lambda mode: PairwiseReward(CERTAIN, form="score", evidence="context", mode=mode),
        lambda mode: PoshReward(MatchJudge(), mode=mode),
    ],
    ids=["criteria", "pairwise", "posh"],
)
def test_markup_around_nothing_is_charged_in_default_mode_alone(make: object) -> None:
    sample = Sample("", TEXT, references=(TEXT,), context=CONTEXT, criteria=("Names the circle.",))
    padded = replace(sample, completion=TEXT + "<br>" * 60)
    (honest,) = make("default").assess([sample])
    (verdict,) = make("default").assess([padded])
    assert honest.score == 1.0
    assert verdict.score == pytest.approx(1 - 57 * 4 / len(padded.completion))
    assert verdict.parts["filler"] == pytest.approx(1 - verdict.score)
    costs = [span for span in verdict.spans if span.kind == "filler"]
    assert sum(span.credit for span in costs) == pytest.approx(verdict.score - honest.score)
    (published,) = make("published").assess([padded])
    assert "filler" not in published.parts
