"""Saying a thing more often than it is there does not pay."""

import random
import re
from typing import Any

import pytest

from experiments.scenes.language import describe
from experiments.scenes.world import make_scenes
from spanreward import MatchJudge, PoshReward, Sample
from spanreward.rewards.text.filler import FILLER
from tests.support.fakes import FakeJudge, certain


def judged(completion: str, *references: Any, judge: Any = None, **settings: Any) -> Any:
    reward = PoshReward(judge or MatchJudge(), **settings)
    (verdict,) = reward.assess([Sample("Describe.", completion, references=references)])
    return verdict


def supported(completion: str, *references: Any, **settings: Any) -> Any:
    """The words of what is stated from left to right, with 1 where they are right and 0 where they
    are wrong.
    """
    spans = sorted(judged(completion, *references, **settings).spans, key=lambda span: span.start)
    spans = [span for span in spans if span.kind != FILLER]
    assert {span.score for span in spans} <= {0.0, 1.0}
    return [(completion[span.start : span.end], int(span.score)) for span in spans]


def yes() -> Any:
    """A judge that finds everything everywhere."""
    return FakeJudge(lambda prompt: certain(5))


def test_one_star_said_three_times_leaves_one() -> None:
    verdict = judged("A star. A star. A star.", "A star.")
    assert [span.score for span in verdict.spans if span.kind != FILLER] == [1.0, 0.0, 0.0]
    kept = 1 - verdict.parts["filler"]
    assert kept == 1  # a phrase is filler from the fourth time; what costs is the surplus
    assert verdict.parts["precision"] == pytest.approx((5 + 1 + 1) / 15 * kept)
    assert verdict.score == pytest.approx(7 / 11 * kept)  # F1 of 7/15 and 1
    # s = 1/5, P = 7/15, R = 1, three said, one wanted: 2/(P+1)^2 (s-P)/3; recall gains nothing
    assert verdict.spans[1].credit == pytest.approx(450 / 484 * -4 / 45 * kept)
    assert verdict.spans[1].credit < 0 < verdict.spans[0].credit


def test_what_belongs_to_a_surplus_thing_falls_with_it() -> None:
    found = supported("A red star. A red star.", "A red star.")
    assert found == [("red", 1), ("star", 1), ("red", 0), ("star", 0)]
    twice = "A star sits on a box. A star sits on a box."
    assert [score for _, score in supported(twice, "A star sits on a box.")] == [1, 1, 1, 0, 0, 0]


def test_a_relation_to_a_surplus_thing_falls_with_it() -> None:
    text = "A cat sits on a box. A dog sits on a box."
    verdict = judged(text, "A cat sits on a box. A dog.", judge=yes())
    wrong = sorted(text[span.start : span.end] for span in verdict.spans if span.score == 0)
    assert wrong == ["box", "sits on a box"]


@pytest.mark.parametrize(
    "reference", ["Stars.", "Two stars.", "Many small stars.", "A star. Two stars."]
)
def test_a_plural_leaves_any_number(reference: str) -> None:
    assert supported("A star. A star. A star.", reference) == [("star", 1)] * 3


def test_as_many_as_the_reference_has_are_fine() -> None:
    text = "A red circle in the top left corner. A red circle in the bottom right corner."
    assert judged(text, text).score == 1.0
    assert supported("A red circle. A red circle.", text) == [("red", 1), ("circle", 1)] * 2
    three = supported("A red circle. A red circle. A red circle.", text)
    assert three == [("red", 1), ("circle", 1)] * 2 + [("red", 0), ("circle", 0)]


def test_the_worst_of_too_many_is_the_surplus() -> None:
    found = supported("A blue star. A red star.", "A red star.")
    assert found == [("blue", 0), ("star", 0), ("red", 1), ("star", 1)]


def test_names_are_compared_by_lemma_and_without_their_articles() -> None:
    assert supported("A Star. The star. STARS.", "One star.")[0] == ("Star", 1)
    assert sum(score for _, score in supported("A star. A Star.", "A star.")) == 1


@pytest.mark.parametrize(
    ("completion", "scores"),
    [
        ("A dog. A dog.", [1, 0]),
        ("A red dog. A dog.", [1, 1, 0]),
        ("A red dog. A red dog.", [1, 1, 0, 0]),
        ("A red dog. A blue dog.", [1, 1, 1, 1]),
        ("A dog. A red dog.", [1, 1, 1]),  # the second says something new
        ("A red dog. A blue dog. A red dog. A blue dog.", [1, 1, 1, 1, 0, 0, 0, 0]),
        ("A dog. A wolf.", [1, 1]),
    ],
)
def test_under_a_name_the_reference_lacks_only_what_says_nothing_new_is_surplus(
    completion: str, scores: list[float]
) -> None:
    assert [score for _, score in supported(completion, "A cat.", judge=yes())] == scores


def test_published_mode_counts_as_published() -> None:
    for text in ("A star. A star. A star.", "A dog. A dog."):
        verdict = judged(text, "A star.", judge=yes(), mode="published")
        assert (verdict.parts["precision"], {span.score for span in verdict.spans}) == (1.0, {1.0})
        assert judged(text, "A star.", judge=yes()).parts["precision"] < 1


def test_of_several_references_the_most_generous_counts() -> None:
    assert supported("A star. A star.", "A star.", "A star. A star.") == [("star", 1)] * 2
    assert supported("A star. A star.", "A star.", "Stars.") == [("star", 1)] * 2
    assert supported("A star. A star.", "A star.", "A star. A cat.") == [("star", 1), ("star", 0)]
    forward, backward = (
        judged("A star. A star. A cat.", *refs)
        for refs in (("A star.", "A cat."), ("A cat.", "A star."))
    )
    assert forward.spans == backward.spans


def test_a_right_description_said_twice_is_worth_less() -> None:
    """On Scenes, one and two references, each sentence twice and the whole text twice."""
    generator = random.Random(0)
    once, twice = [], []
    for scene in [*make_scenes("test", 1, 20), *make_scenes("test", 2, 5)]:
        text, *references = (describe(scene, generator) for _ in range(3))
        sentences = [sentence.strip() for sentence in re.findall(r"[^.]+\.", text)]
        for several in (references[:1], references):
            for repeated in (
                " ".join(f"{sentence} {sentence}" for sentence in sentences),
                f"{text} {text}",
            ):
                once.append(Sample("Describe.", text, references=tuple(several)))
                twice.append(Sample("Describe.", repeated, references=tuple(several)))
    reward = PoshReward(MatchJudge())
    for first, second, sample in zip(reward.assess(once), reward.assess(twice), twice, strict=True):
        assert second.score < first.score - 0.01, sample
        assert first.score > 0.7, sample
