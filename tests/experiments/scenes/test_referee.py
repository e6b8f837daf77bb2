"""The truth about descriptions, on scenes made by hand."""

import random
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from experiments.scenes.language import WORDINGS, noun_phrase, place_phrase
from experiments.scenes.referee import ATTRIBUTES, Truth, judge_description
from experiments.scenes.world import (
    COLORS,
    COLUMNS,
    GRIDS,
    LEVELS,
    NTH,
    ROWS,
    SHAPES,
    SIZES,
    Scene,
    Thing,
    make_scenes,
)

RED_STAR = Thing("star", "red", "small", "top", "left")
BLUE_SQUARE = Thing("square", "blue", "large", "middle", "right")
BLACK_CIRCLE = Thing("circle", "black", "large", "middle", "center")

SCENES = {level: make_scenes("test", level, 20) for level in LEVELS}
ONE = Scene((RED_STAR,), seed="")
TWO = Scene((RED_STAR, BLUE_SQUARE), seed="")

STAR = "There is a small red star in the top left corner."
SQUARE = "There is a large blue square at the right edge."
GREEN = "There is a large green circle at the bottom edge."


def wrong_words(text: str, scene: Scene) -> list[str]:
    return [text[start:end] for start, end in judge_description(text, scene).wrong]


def right_words(text: str, scene: Scene) -> list[str]:
    return [text[start:end] for start, end in judge_description(text, scene).right]


def test_everything_right() -> None:
    text = f"{STAR} {SQUARE}"
    first = ((11, 16), (17, 20), (21, 25), (33, 36), (37, 41))
    second = ((61, 66), (67, 71), (72, 78), (86, 91), (92, 96))
    assert judge_description(text, TWO) == Truth(1.0, 1.0, 1.0, wrong=(), right=first + second)
    expected = ["small", "red", "star", "top", "left", "large", "blue", "square", "right", "edge"]
    assert right_words(text, TWO) == expected


WRONG = {"small": "large", "red": "green", "star": "circle", "top": "bottom", "left": "right"}


@pytest.mark.parametrize(("right", "wrong"), WRONG.items())
def test_one_wrong_word(right: str, wrong: str) -> None:
    text = STAR.replace(right, wrong)
    truth = judge_description(text, ONE)
    start = text.index(wrong)
    assert truth.wrong == ((start, start + len(wrong)),)
    assert (truth.precision, truth.recall) == (4 / 5, 4 / 5)
    assert truth.f1 == pytest.approx(4 / 5)
    assert len(truth.right) == 4


RED_STARS = Scene(
    (Thing("star", "blue", "small", "top", "left"), replace(RED_STAR, column="right")), ""
)
BOTH = f"{STAR} {SQUARE}"
GREENED = BOTH.replace("red", "green")
ABOVE = "The red star is above the blue square."
ABOVE_RIGHT = "The red star is above and to the right of the blue square."
OTHER = "The blue star is in the top left corner."
TWICE = "A star is in the top left corner. A red star is in the top right corner."


@pytest.mark.parametrize(
    ("text", "scene", "wrong", "precision", "recall"),
    [
        # an edge is the middle of it, and no corner
        ("There is a small red star at the top edge.", ONE, ["edge"], 4 / 5, 4 / 5),
        ("A star is at the left edge.", ONE, ["edge"], 2 / 3, 2 / 5),
        ("A large blue square is in the top right corner.", TWO, ["top"], 4 / 5, 4 / 10),
        # invented, left out, or nothing speaks for it
        (f"{STAR} {GREEN}", ONE, ["large", "green", "circle", "bottom", "edge"], 1 / 2, 1.0),
        (STAR, TWO, [], 1.0, 1 / 2),
        ("There is a star. There is a blue square.", TWO, [], 1.0, 3 / 10),
        ("There is a large green circle.", ONE, ["large", "green", "circle"], 0.0, 0.0),
        # definite: said again is marked again and counted once; what is new counts
        (f"{GREENED} {ABOVE.replace('red', 'green')}", TWO, ["green", "green"], 10 / 11, 9 / 10),
        ("There is a star. The star is in the top left corner.", ONE, [], 1.0, 3 / 5),
        ("There is a star. The star is at the right edge.", ONE, ["right", "edge"], 1 / 3, 1 / 5),
        (f"{TWICE} The red star is here.", RED_STARS, [], 1.0, 7 / 10),
        ("The small red star is in the top left corner.", ONE, [], 1.0, 1.0),
        (f"{STAR} The red star is in the top left corner, and {SQUARE[9:]}", TWO, [], 1.0, 1.0),
        (f"{STAR} {OTHER}", ONE, ["blue", "star", "top", "left"], 5 / 9, 1.0),  # a new mention
        # relations
        (f"{STAR} A star is above a circle.", ONE, ["star", "above", "circle"], 5 / 8, 1.0),
        (f"{BOTH} {ABOVE_RIGHT}", TWO, ["right of"], 11 / 12, 1.0),
        (f"{STAR} The red star is above.", ONE, ["above"], 5 / 6, 1.0),
        ("To the left of it.", ONE, [], 0.0, 0.0),
        # words of no object, and capitals
        (f"{STAR} A large blue. At the bottom.", ONE, ["large", "blue", "bottom"], 5 / 8, 1.0),
        (STAR.replace("left", "right").upper(), ONE, ["RIGHT"], 4 / 5, 4 / 5),
    ],
)
def test_a_description_by_hand(
    text: str, scene: Scene, wrong: list[str], precision: float, recall: float
) -> None:
    truth = judge_description(text, scene)
    assert wrong_words(text, scene) == wrong
    assert (truth.precision, truth.recall) == pytest.approx((precision, recall))
    assert truth.f1 == pytest.approx(2 * precision * recall / (precision + recall or 1))


def test_center_is_one_word_for_two_facts() -> None:
    scene = Scene((BLACK_CIRCLE,), seed="")
    truth = judge_description("A black circle is in the center.", scene)
    assert (truth.precision, truth.recall) == (1.0, 4 / 5)
    # the row is right, the column is not
    half = judge_description("A blue square is in the center.", TWO)
    assert (half.precision, half.recall) == (3 / 4, 3 / 10)
    assert half.wrong == ((24, 30),)
    assert (24, 30) not in half.right


@pytest.mark.parametrize("times", [2, 3, 10])
def test_repeated_object_counts_once(times: int) -> None:
    truth = judge_description(" ".join([STAR] * times), ONE)
    assert truth.precision == pytest.approx(1 / times)
    assert truth.recall == 1.0
    assert truth.wrong[0] == (len(STAR) + 12, len(STAR) + 17)  # "small" of the second sentence
    assert len(truth.wrong) == 5 * (times - 1)


def test_two_of_a_kind_are_told_apart_by_what_else_is_said() -> None:
    other = Thing("star", "red", "large", "bottom", "right")
    scene = Scene((RED_STAR, other), seed="")
    text = (
        "A large red star is in the bottom right corner, and a small red star is in the top left."
    )
    assert judge_description(text, scene).f1 == 1.0
    text = text.replace("bottom right", "bottom left")
    assert wrong_words(text, scene) == ["left"]
    assert judge_description(text, scene).wrong == ((34, 38),)


def test_definite_repetition_adds_only_its_relation() -> None:
    text = f"{STAR} {SQUARE} The red star is above the blue square."
    truth = judge_description(text, TWO)
    assert (truth.precision, truth.recall, truth.wrong) == (1.0, 1.0, ())
    assert right_words(text, TWO)[-5:] == ["red", "star", "above", "blue", "square"]
    wrong = judge_description(text.replace("above", "below"), TWO)
    assert wrong.precision == 10 / 11  # ten facts and one relation are claimed
    assert wrong.recall == 1.0


@pytest.mark.parametrize(
    ("relation", "holds"),
    [("above", True), ("below", False), ("to the left of", True), ("to the right of", False)],
)
def test_relations(relation: str, holds: bool) -> None:
    text = f"{STAR} {SQUARE} The red star is {relation} the blue square."
    start = text.index(f" {relation} the blue", len(STAR) + len(SQUARE)) + 1
    begin = start + len(relation) - len(relation.removeprefix("to the "))
    said = (begin, start + len(relation))
    truth = judge_description(text, TWO)
    assert (said in truth.right) is holds
    assert truth.wrong == (() if holds else (said,))


@pytest.mark.parametrize(
    ("said", "again"),
    [
        (f"{BOTH} The red star is below the blue square.", f" {ABOVE}"),
        (f"{STAR} A blue circle.", " The red star is in the top left corner."),
        ("A large red star", " red"),
        (f"{SQUARE} A small red star sits in the bottom left corner", " in the top left corner"),
    ],
)
def test_saying_what_is_right_more_often_does_not_raise_precision(said: str, again: str) -> None:
    begin, end = (said.removesuffix(" red star"), " red star") if again == " red" else (said, "")
    once, often = (judge_description(begin + again * n + end, TWO) for n in (1, 9))
    assert once.precision < 1
    assert often.precision == once.precision
    assert often.recall == once.recall


@pytest.mark.parametrize(
    "text",
    ["", " ", ".", "🙂", "\n\n", "The cat sat on the mat.", "a the an", "starred redder", "é"],
)
def test_no_claims(text: str) -> None:
    assert judge_description(text, ONE) == Truth(0.0, 0.0, 0.0, (), ())


@pytest.mark.parametrize("before", ["🙂🙂 ", "👩‍👩‍👧 ", "e\u0301. ", "日本 ", "  \n"])
def test_offsets_are_characters_of_the_text_as_given(before: str) -> None:
    text = before + STAR.replace("red", "blue")
    assert judge_description(text, ONE).wrong == ((len(before) + 17, len(before) + 21),)


@pytest.mark.parametrize(
    "text",
    [
        "There is no small red star in the top left corner.",
        "There isn't a small red star in the top left corner.",
        "Is there a small red star in the top left corner?",
        "Is there a small red star in the top left corner.",
        "I doubt that there is a small red star in the top left corner.",
        "It is not true that there is a small red star and a large blue square.",
        "A small red star is not there.",
        "A small red star in the top left corner. That is not true.",
        "A small red star. A large blue square. Everything above is false.",
        "A small red star is in the top left corner or a large blue square is at the right edge.",
        "A star, a circle or a square.",
        "A small red star in the top left corner is nowhere to be seen.",
        "A small red star is not in this picture.",
        "There is anything but a small red star in the top left corner.",
        "There is hardly a small red star.",
        "There would be a small red star in the top left corner.",
        "Had there been a small red star, all would be well.",
        "Some people say that there is a small red star in the top left corner.",
        "Not in the picture: a small red star in the top left corner.",
        "A small red star in the top left corner. No.",
        "There is a small red star in the top left corner or not.",
        f"There is a {' or '.join(SIZES)} {' or '.join(COLORS)} {' or '.join(SHAPES)} at the "
        f"{' or '.join(ROWS)} edge.",
    ],
)
def test_what_is_not_claimed_is_neither_right_nor_wrong(text: str) -> None:
    assert judge_description(text, TWO) == Truth(0.0, 0.0, 0.0, (), ())
    assert judge_description(f"{STAR} {text}", TWO).precision in (0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("A star without a circle sits in the top left corner.", ["star", "top", "left"]),
        ("There is no circle, but a red star is at the left edge.", ["red", "star", "left"]),
        ("The red star is not blue.", ["red", "star"]),
        ("A red or blue star is in the top left corner.", ["star", "top", "left"]),
        ("A star is in the top left or bottom right corner.", ["star"]),
        ("Not only a red star.", ["red", "star"]),
        ("A red star. The following is false. A large star in the top left.", ["red", "star"]),
    ],
)
def test_what_is_claimed_beside_it_counts(text: str, claims: list[str]) -> None:
    assert right_words(text, ONE) == claims


VOCABULARY = ["a", "the", "is", "there", "sits", "and", "in", "at", "to", "of", "corner", "edge"]
VOCABULARY += ["above", "below", "row", "column", "dog", "🙂"]
VOCABULARY += [*NTH, *SHAPES, *COLORS, *SIZES, *ROWS, *COLUMNS, ".", ",", "\n"]
GRID_WORDS = {*GRIDS[1][0], *GRIDS[1][1], *GRIDS[4][0], *GRIDS[4][1]}
KNOWN = {*SHAPES, *ATTRIBUTES, *GRID_WORDS, "edge", "above", "below"}


@settings(max_examples=150, deadline=None)
@given(
    words=st.lists(st.sampled_from(VOCABULARY), max_size=40), level=st.sampled_from(sorted(LEVELS))
)
def test_any_text_has_a_lawful_verdict(words: int, level: Any) -> None:
    text = " ".join(words)
    truth = judge_description(text, SCENES[level][0])
    assert 0 <= truth.precision <= 1
    assert 0 <= truth.recall <= 1
    spans = sorted([*truth.wrong, *truth.right])
    assert len(set(spans)) == len(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))  # none overlap
    # "first , row" is a row too
    said = [text[start:end].lower().replace(" ,", "") for start, end in spans]
    assert all(word in KNOWN or " of" in word for word in said)
    # nor does a question
    if "dog" not in words and not re.search(r"(?:^|[.\n])[ ,]*is[ ,]+(?:a|the|there)\b", text):
        shapes = [word for word in words if word in SHAPES]
        assert shapes == [word for word in said if word in SHAPES]
    assert (truth.precision == 1) <= (not truth.wrong)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60))
def test_any_unicode_is_read(text: str) -> None:
    truth = judge_description(text, TWO)
    assert all(0 <= start < end <= len(text) for start, end in (*truth.wrong, *truth.right))


@settings(max_examples=100, deadline=None)
@given(data=st.data(), level=st.sampled_from(sorted(LEVELS)), wording=st.sampled_from(WORDINGS))
def test_one_attribute_swapped(data: Any, level: Any, wording: Any) -> None:
    scene = data.draw(st.sampled_from(SCENES[level]))
    number = data.draw(st.integers(0, len(scene.objects) - 1))
    fact = data.draw(st.sampled_from(["size", "color", "shape"]))
    values = {"size": SIZES, "color": tuple(COLORS), "shape": SHAPES}[fact]
    thing = scene.objects[number]
    true = getattr(thing, fact)
    false = data.draw(st.sampled_from([value for value in values if value != true]))
    phrases = [(noun_phrase(one, random.Random(0)), place_phrase(one)) for one in scene.objects]
    noun, place = phrases[number]
    phrases[number] = (noun.replace(true, f"<{false}>"), place)
    with_mark = wording(phrases)
    start = with_mark.index("<")
    truth = judge_description(with_mark.replace("<", "").replace(">", ""), scene)
    claims = 5 * len(scene.objects)
    assert truth.wrong == ((start, start + len(false)),)
    assert truth.precision == pytest.approx((claims - 1) / claims)
    assert truth.recall == pytest.approx(1 - 1 / claims)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), wording=st.sampled_from(WORDINGS))
def test_the_order_of_the_sentences_does_not_matter(data: Any, wording: Any) -> None:
    scene = data.draw(st.sampled_from(SCENES[3]))
    told = data.draw(st.permutations(scene.objects))
    text = wording([(noun_phrase(thing, random.Random(0)), place_phrase(thing)) for thing in told])
    assume(list(told) != list(scene.objects))
    assert judge_description(text, scene).f1 == 1.0


@pytest.mark.parametrize(
    "frame", ["Earlier there was {}", "Find {}", "My friend has {} in mind", "There is n\u043e {}"]
)
def test_a_sentence_with_a_word_that_no_scene_has_claims_nothing(frame: str) -> None:
    text = f"{frame.format('a small red star in the top left corner')}."
    assert judge_description(text, ONE) == Truth(0.0, 0.0, 0.0, (), ())
