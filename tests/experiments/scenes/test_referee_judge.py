"""The judge who knows the truth, on what PoSh really asks: whose place, and of what kind."""

from experiments.scenes.referee_judge import RefereeJudge
from spanreward.rewards import PoshReward
from spanreward.rewards.base.verdict import Sample

TOP = "A small blue circle sits at the top edge."
REFERENCE = f"A large red circle sits in the bottom left corner. {TOP}"


def wrong(completion: str) -> set[str]:
    sample = Sample("", completion, references=(REFERENCE,))
    (verdict,) = PoshReward(RefereeJudge({})).assess([sample])
    return {completion[span.start : span.end] for span in verdict.spans if span.score < 0.5}


def test_what_is_right_is_right() -> None:
    assert wrong(REFERENCE) == set()
    assert wrong(TOP) == set()


def test_a_place_is_that_of_the_thing_in_it() -> None:
    assert wrong("A large red circle sits in the top left corner.") == {"top"}
    assert wrong("A small blue circle sits at the bottom edge.") == {"bottom"}
    assert wrong("A small blue circle sits in the top left corner.") == {"left", "sits in"}
