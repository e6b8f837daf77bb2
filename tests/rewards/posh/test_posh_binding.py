"""A place belongs to what is there, in default mode; which words a relation has."""

import pytest

from tests.support.fakes import FakeJudge
from tests.support.judged import judged, prompts_of

CORNER = "A blue square sits in the top left corner."
REFERENCE = f"A red circle sits in the bottom left corner. {CORNER}"
SWAPPED = "A red circle sits in the top left corner. A blue square sits in the bottom left corner."
EDGE = f"{REFERENCE} A green star sits at the right edge."
CENTER = f"A red circle sits in the center. {CORNER}"
TABLES = (
    "A red table stands near a blue table. A cup is on the {} table. A dog is under the red table."
)


def wrong(completion: str, reference: str) -> set[str]:
    spans = judged(completion, reference).spans
    return {span.text(completion) for span in spans if span.score < 0.5}


@pytest.mark.parametrize(
    ("completion", "reference", "words"),
    [
        # a corner is the corner of what sits in it, though the reference has one of each kind
        (SWAPPED, REFERENCE, {"top", "bottom"}),
        (REFERENCE, REFERENCE, set()),
        # another kind of place at the same side is right about the side
        ("A blue square sits at the top edge.", EDGE, {"sits at"}),
        ("A blue square sits at the bottom edge.", EDGE, {"bottom", "sits at"}),
        # the words of a relation go on to an object that is said through it alone
        ("A blue square sits in the center.", CENTER, {"sits in the center"}),
    ],
)
def test_a_place_is_that_of_what_is_there(completion: str, reference: str, words: set[str]) -> None:
    assert wrong(completion, reference) == words


def test_a_thing_of_several_relations_is_itself() -> None:
    """The table is spoken of beyond the cup on it: what is wrong is which table the cup is on."""
    assert "red" not in wrong(TABLES.format("red"), TABLES.format("blue"))


def test_a_place_where_the_text_puts_nothing_of_it_is_wrong() -> None:
    reference = f"A red circle. {CORNER}"
    assert {"top", "left"} < wrong("A red circle sits in the top left corner.", reference)


def test_a_relation_ends_before_an_object_whose_attributes_are_asked_about() -> None:
    spans = [span for span in judged(CORNER, REFERENCE).spans if span.kind == "relation"]
    assert {span.text(CORNER) for span in spans} == {"sits in"}


def test_words_of_which_nobody_was_asked_say_so() -> None:
    completion = "A red star sits in the center."
    said = {span.text(completion): span for span in judged(completion, REFERENCE).spans}
    asked = [said[words].asked for words in ("star", "red", "sits in the center")]
    assert asked == [True, False, False]
    assert (said["red"].score, said["red"].credit) == (0.0, 0.0)


@pytest.mark.parametrize("mode", ["default", "published"])
def test_the_question(mode: str) -> None:
    judge = FakeJudge()
    text = "A red circle sits in the top left corner."
    judged(text, text, judge=judge, mode=mode)
    asked = "".join(prompts_of(judge))
    for question in ("\"corner as in 'circle sits in corner'\"", 'tie "circle" to "corner"'):
        assert (question in asked) == (mode == "default")
