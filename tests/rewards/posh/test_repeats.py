"""Saying a thing more often than it is there does not pay."""

import random
import re
from typing import Any

import pytest

from experiments.scenes.language import describe
from experiments.scenes.world import make_scenes
from spanreward import MatchJudge, PoshReward
from spanreward.rewards.text.filler import FILLER_PART
from tests.support.fakes import FakeJudge, certain
from tests.support.judged import judged, sample


def scores(completion: str, *references: str, judge: Any = None) -> str:
    """1 for each right thing that is stated, from left to right, and 0 for each wrong one."""
    spans = judged(completion, *references, judge=judge).spans
    said = [span for span in sorted(spans, key=lambda span: span.start) if span.kind != FILLER_PART]
    assert {span.score for span in said} <= {0.0, 1.0}
    return "".join(str(int(span.score)) for span in said)


def yes() -> Any:
    """A judge that finds everything everywhere."""
    return FakeJudge(lambda prompt: certain(5))


def test_one_star_said_three_times_leaves_one() -> None:
    verdict = judged("A star. A star. A star.", "A star.")
    assert [span.score for span in verdict.spans if span.kind != FILLER_PART] == [1.0, 0.0, 0.0]
    # a phrase is filler from the fourth time; what costs is the surplus
    assert verdict.parts["filler"] == 0
    assert verdict.parts["precision"] == pytest.approx((5 + 1 + 1) / 15)
    assert verdict.score == pytest.approx(7 / 11)  # F1 of 7/15 and 1
    # s = 1/5, P = 7/15, R = 1, three said, one wanted: 2/(P+1)^2 (s-P)/3; recall gains nothing
    assert verdict.spans[1].credit == pytest.approx(450 / 484 * -4 / 45)
    assert verdict.spans[1].credit < 0 < verdict.spans[0].credit


CORNERS = "A red circle in the top left corner. A red circle in the bottom right corner."


@pytest.mark.parametrize(
    ("completion", "references", "right"),
    [
        # what belongs to a surplus thing falls with it
        ("A red star. A red star.", ["A red star."], "1100"),
        ("A star sits on a box. A star sits on a box.", ["A star sits on a box."], "111000"),
        # a plural leaves any number
        ("A star. A star. A star.", ["Stars."], "111"),
        ("A star. A star. A star.", ["Two stars."], "111"),
        ("A star. A star. A star.", ["Many small stars."], "111"),
        ("A star. A star. A star.", ["A star. Two stars."], "111"),
        # as many as the reference has are fine
        ("A red circle. A red circle.", [CORNERS], "1111"),
        ("A red circle. A red circle. A red circle.", [CORNERS], "111100"),
        # the worst of too many is the surplus
        ("A blue star. A red star.", ["A red star."], "0011"),
        # names are compared by lemma and without their articles
        ("A Star. The star. STARS.", ["One star."], "110"),
        ("A star. A Star.", ["A star."], "10"),
        # of several references the most generous counts
        ("A star. A star.", ["A star.", "A star. A star."], "11"),
        ("A star. A star.", ["A star.", "Stars."], "11"),
        ("A star. A star.", ["A star.", "A star. A cat."], "10"),
        ("A star. A star. A cat.", ["A star.", "A cat."], "101"),
    ],
)
def test_the_surplus_is_wrong(completion: str, references: list[str], right: str) -> None:
    assert scores(completion, *references) == right
    assert scores(completion, *reversed(references)) == right


def test_a_relation_to_a_surplus_thing_falls_with_it() -> None:
    text = "A cat sits on a box. A dog sits on a box."
    verdict = judged(text, "A cat sits on a box. A dog.", judge=yes())
    wrong = sorted(span.text(text) for span in verdict.spans if span.score == 0)
    assert wrong == ["box", "sits on a box"]


@pytest.mark.parametrize(
    ("completion", "right"),
    [
        ("A dog. A dog.", "10"),
        ("A red dog. A dog.", "110"),
        ("A red dog. A red dog.", "1100"),
        ("A red dog. A blue dog.", "1111"),
        ("A dog. A red dog.", "111"),  # the second says something new
        ("A red dog. A blue dog. A red dog. A blue dog.", "11110000"),
        ("A dog. A wolf.", "11"),
    ],
)
def test_under_a_name_the_reference_lacks_only_what_says_nothing_new_is_surplus(
    completion: str, right: str
) -> None:
    assert scores(completion, "A cat.", judge=yes()) == right


@pytest.mark.parametrize("text", ["A star. A star. A star.", "A dog. A dog."])
def test_published_mode_counts_as_published(text: str) -> None:
    verdict = judged(text, "A star.", judge=yes(), mode="published")
    assert (verdict.parts["precision"], {span.score for span in verdict.spans}) == (1.0, {1.0})


def test_a_right_description_said_twice_is_worth_less() -> None:
    """On Scenes, one and two references, each sentence twice and the whole text twice."""
    generator = random.Random(0)
    once, twice = [], []
    for scene in [*make_scenes("test", 1, 20), *make_scenes("test", 2, 5)]:
        text, *references = (describe(scene, generator) for _ in range(3))
        doubled = re.sub(r"([^.]+\.)", r"\1 \1", text)
        for several in (references[:1], references):
            for repeated in (doubled, f"{text} {text}"):
                once.append(sample(text, *several))
                twice.append(sample(repeated, *several))
    reward = PoshReward(MatchJudge())
    for first, second, said in zip(reward.assess(once), reward.assess(twice), twice, strict=True):
        assert second.score < first.score - 0.01, said
        assert first.score > 0.7, said
