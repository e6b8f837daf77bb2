"""Whose attributes are asked about: a place belongs to what is there, in default mode; which words
a relation has.
"""

import pytest

from spanreward import MatchJudge, PoshReward, Sample, Verdict
from tests.support.fakes import FakeJudge

REFERENCE = (
    "A red circle sits in the bottom left corner. A blue square sits in the top left corner."
)


def judged(completion: str, reference: str = REFERENCE) -> Verdict:
    (verdict,) = PoshReward(MatchJudge()).assess([Sample("", completion, references=(reference,))])
    return verdict


def wrong(completion: str, reference: str = REFERENCE) -> set[str]:
    return {
        completion[span.start : span.end]
        for span in judged(completion, reference).spans
        if span.score < 0.5
    }


def test_a_corner_is_the_corner_of_what_sits_in_it() -> None:
    swapped = (
        "A red circle sits in the top left corner. A blue square sits in the bottom left corner."
    )
    assert wrong(swapped) == {"top", "bottom"}  # though the reference has a corner of each kind
    assert wrong(REFERENCE) == set()


def test_a_thing_of_several_relations_is_itself() -> None:
    """The table is spoken of beyond the cup on it: what is wrong is which table the cup is on."""
    reference = "A red table stands near a blue table. A cup is on the blue table. A dog is under the red table."
    said = "A red table stands near a blue table. A cup is on the red table. A dog is under the red table."
    assert "red" not in wrong(said, reference)


def test_another_kind_of_place_at_the_same_side_is_right_about_the_side() -> None:
    reference = f"{REFERENCE} A green star sits at the right edge."
    assert wrong("A blue square sits at the top edge.", reference) == {"sits at"}
    assert wrong("A blue square sits at the bottom edge.", reference) == {"bottom", "sits at"}


def test_a_place_where_the_text_puts_nothing_of_it_is_wrong() -> None:
    reference = "A red circle. A blue square sits in the top left corner."
    assert {"top", "left"} < wrong("A red circle sits in the top left corner.", reference)


def test_the_words_of_a_relation_go_on_to_an_object_that_is_said_through_it_alone() -> None:
    reference = "A red circle sits in the center. A blue square sits in the top left corner."
    swapped = "A blue square sits in the center."
    assert wrong(swapped, reference) == {"sits in the center"}
    spans = {
        swapped[s.start : s.end] for s in judged(swapped, reference).spans if s.kind == "relation"
    }
    assert spans == {"sits in the center"}
    # its attributes are asked about: they decide
    cornered = "A blue square sits in the top left corner."
    assert {cornered[s.start : s.end] for s in judged(cornered).spans if s.kind == "relation"} == {
        "sits in"
    }


def test_words_of_which_nobody_was_asked_say_so() -> None:
    completion = "A red star sits in the center."
    said = {completion[span.start : span.end]: span for span in judged(completion).spans}
    assert said["star"].asked is True
    assert said["red"].asked is False
    assert said["sits in the center"].asked is False
    assert (said["red"].score, said["red"].credit) == (0.0, 0.0)


@pytest.mark.parametrize("mode", ["default", "published"])
def test_the_question(mode: str) -> None:
    judge = FakeJudge()
    text = "A red circle sits in the top left corner."
    PoshReward(judge, mode=mode).assess([Sample("", text, references=(text,))])
    asked = "\n".join(prompt for call in judge.rated for prompt in call)
    by_default = 'Does the TEXT say of "corner as in \'circle sits in corner\'" that it is "top"?'
    assert (by_default in asked) == (mode == "default")
    assert ('Does the TEXT tie "circle" to "corner" by "sits in"?' in asked) == (mode == "default")
