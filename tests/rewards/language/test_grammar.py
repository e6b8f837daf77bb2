"""Words that cannot stand where they do: by hand, in prose none, and what PoSh makes of them."""

import pytest

from spanreward.rewards import MatchJudge, PoshReward, Sample
from spanreward.rewards.language.parse import scene_graphs
from spanreward.rewards.text.filler import find_filler

HONEST = "There is a large black star at the top edge. A small purple square is in the bottom right corner."
HEAPS = [
    "right edge. black star large is at large square. bottom edge. top edge. large is square. large is purple square.",
    "center. triangle, large and very yellow large the large at black bottom left corner. that triangle the is.",
    "circle there in small is large circle. there small is the yellow star. is right top corner. there the star.",
]


def misplaced(text: str) -> list[str]:
    return [text[start:end] for start, end in scene_graphs([text])[0].misplaced]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("A man sits on a red bench. He reads the paper.", []),
        ("At the top edge there is a small blue triangle.", []),
        ("There is such a large dog, and half a cat.", []),
        ("Two dogs. A cat. Bottom edge.", []),
        ("The circle is has a star.", ["is has"]),
        ("The large the circle.", ["large the"]),
        ("The circle sits in is the corner.", ["in is"]),
        ("\n  A red circle. The circle sits in is the corner.", ["in is"]),
    ],
)
def test_by_hand(text: str, places: list[str]) -> None:
    assert misplaced(text) == places


@pytest.mark.parametrize("heap", HEAPS)
def test_a_heap_of_words_is_charged_and_its_prose_is_not(heap: str) -> None:
    reward = PoshReward(MatchJudge())
    texts = [HONEST, heap, f"{HONEST} {heap}"]
    samples = [Sample("Describe.", text, references=(HONEST,)) for text in texts]
    honest, alone, beside = reward.assess(samples)
    assert honest.parts["filler"] == 0
    assert alone.parts["filler"] > 0.3
    assert 0.2 < beside.parts["filler"] < 0.8
    assert max(alone.score, beside.score) < honest.score
    assert min(span.start for span in beside.spans if span.kind == "filler") >= len(HONEST)


def test_slips_far_apart_are_none() -> None:
    far = f"The large the circle. {HONEST} A dog runs over the wet grass. The small the square."
    graph = scene_graphs([far])[0]
    assert len(graph.misplaced) == 2
    assert find_filler(far, far, misplaced=graph.misplaced).share == 0
