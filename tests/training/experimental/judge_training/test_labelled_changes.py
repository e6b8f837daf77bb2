"""Captions changed on purpose: the marks lie on the very words that were changed."""

import re
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from spanreward.training.experimental.judge_training.labelled_changes import (
    UNCLAIMED_GRAMMAR,
    Changes,
    Word,
    rewrite_text,
    unclaimed_sentence,
)

CAPTIONS = {
    "1": ["A brown dog sits on the green grass.", "The dog near two trees.",
        "An old dog is sitting on a lawn."],
    "2": ["A cat sleeps under a white table.", "The cat and a chair.",
        "An orange cat is lying below the table."],
    "3": ["Three men ride horses on a beach.", "The men are riding near the water.",
        "A horse and a man."],
    "4": ["A red bus next to a small blue car.", "An empty bus in the street.",
        "The car is behind a bus."],
}  # fmt: skip
DENIAL = re.compile(r"\b(no|not|nobody|neither)\b(?! longer)")
SYMBOL = re.compile("<([a-z]+)>")
WORDS = {
    name: {word.lower().strip(".") for text in texts for word in text.split()}
    for name, texts in CAPTIONS.items()
}


@pytest.fixture(scope="module")
def changes() -> Changes:
    return Changes(CAPTIONS, Random(0))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(CAPTIONS)))
@pytest.mark.parametrize(
    "kind", ["right", "replaced", "swapped", "added", "other", "unclaimed", "unsaid"]
)
def test_marks_lie_on_the_changed_words(changes: Changes, kind: str, seed: int, name: str) -> None:
    changes.random = Random(seed)
    example = changes.example(kind, name)
    if example is None:
        assert kind in ("replaced", "swapped", "added")
        return
    assert example.picture == name
    known = [mark for mark in example.marks if mark[2] is not None]
    marked = {(s, e): example.text[s:e] for s, e, _ in known if (s, e) != (0, len(example.text))}
    wrong = {example.text[s:e].lower() for s, e, right in example.marks if right == 0}
    assert all(text and text == text.strip() for text in marked.values())
    left = "".join(
        " " if any(s <= i < e for s, e in marked) else letter
        for i, letter in enumerate(example.text)
    )
    if kind == "right":
        assert not marked
        assert example.text in CAPTIONS[name]
    elif kind in ("replaced", "added"):
        assert wrong
        assert not wrong & WORDS[name]
        assert {word.lower().strip(".") for word in left.split()} <= WORDS[name] | {"a", "an", ""}
    elif kind == "swapped":
        assert len(wrong) == 2
        assert wrong <= WORDS[name]
    elif kind == "unclaimed":
        assert any(text.strip(".") in example.text for text in CAPTIONS[name])
        assert len(wrong) < 2  # the sentence, but for a denial of what no caption has
        assert wrong or DENIAL.search(example.text.lower())
    elif kind == "other":
        assert any(example.text in texts for texts in CAPTIONS.values())
    elif kind == "unsaid":
        assert any(caption in example.text for caption in CAPTIONS[name])


def test_what_few_captions_do_not_say_is_not_known(changes: Changes) -> None:
    """The dog may be brown though the other caption does not say so, and no judge can know it."""
    changes.random = Random(0)
    made = filter(None, (changes.example("right", "1") for _ in range(300)))
    unknown = {
        one.target: {one.text[s:e] for s, e, right in one.marks if right is None} for one in made
    }
    assert unknown["The dog near two trees."] in (
        {"brown", "sits", "on", "green", "grass"},
        {"old", "sitting", "on", "lawn"},
    )
    several = Changes({"1": [*CAPTIONS["1"], "A pet outside."]}, Random(0))
    made = filter(None, (several.example("right", "1") for _ in range(300)))
    most = [one for one in made if one.target.count(".") == 3]
    assert most
    # three captions say most of it
    assert all(one.marks == ((0, len(one.text), 1.0),) for one in most)


def test_a_part_of_a_caption_leaves_things_unsaid(changes: Changes) -> None:
    """So that a judge does not take a likely thing for one that the target names."""
    changes.random = Random(0)
    made = [changes.example("unsaid", "3") for _ in range(400)]
    found = {
        (one.text, one.target): {one.text[s:e] for s, e, right in one.marks if not right}
        for one in made
        if one
    }
    men, beasts = "Three men ride horses on a beach.", "A horse and a man."
    assert found[men, "Three men ride horses."] == {"on", "beach"}
    assert found[men, "on a beach."] == {"Three", "men", "ride", "horses"}
    assert found[beasts, "A picture."] == {"horse", "man"}
    assert found[beasts, beasts] == set()
    # and a caption of another picture
    assert any(text.startswith(f"{beasts} A") for text, _ in found)
    claims = [(target, wrong) for (_, target), wrong in found.items() if "beach" in wrong]
    named = [target for target, _ in claims if "beach" in target.lower()]
    assert len(named) > 10  # a sentence that claims no beach does not say it
    assert not any("on a beach" in target for target in named)


@pytest.mark.parametrize(
    ("text", "word", "new", "changed", "place"),
    [
        ("A dog on an old mat.", Word(2, 5, "dog"), "owl", "An owl on an old mat.", (3, 6)),
        ("See an owl.", Word(7, 10, "owl"), "dog", "See a dog.", (6, 9)),
        ("a dog", Word(2, 2), "old ", "an old dog", (3, 6)),
        ("a uniform", Word(2, 9, "uniform"), "uniform", "a uniform", (2, 9)),
    ],
)
def test_articles_are_set_right(
    text: str, word: Word, new: str, changed: str, place: tuple[int, int]
) -> None:
    assert rewrite_text(text, {word: new}) == (changed, [place])


def test_the_grammar_names_the_thing_in_every_sentence() -> None:
    things = (("owl", False), ("cats", True))
    made = set()
    for (noun, many), seed in product(things, range(2000)):
        made.add(unclaimed_sentence(noun, many, ["red"], Random(seed)))
    assert len(made) > 500
    for sentence, denied in made:
        assert any(noun in sentence.lower() for noun, _ in things)
        assert sentence[0].isupper()
        assert sentence.endswith((".", "?"))
        assert not set("<>") & set(sentence)
        assert " a owl" not in sentence.lower()
        assert denied == bool(DENIAL.search(sentence.lower()))
    forms = [
        form for forms in UNCLAIMED_GRAMMAR.values() if isinstance(forms, list) for form in forms
    ]
    assert set(SYMBOL.findall(" ".join(forms))) <= {
        *UNCLAIMED_GRAMMAR,
        *UNCLAIMED_GRAMMAR["one"],
        "noun",
        "word",
    }
    assert UNCLAIMED_GRAMMAR["one"].keys() == UNCLAIMED_GRAMMAR["many"].keys()


def test_a_denial_of_what_is_not_there_is_right(changes: Changes) -> None:
    """So that a judge cannot call every denial wrong."""
    changes.random = Random(0)
    made = [changes.changed("unclaimed", "1", CAPTIONS["1"][0]) for _ in range(400)]
    denials = [(text.lower(), places) for text, places in made if "there is no " in text.lower()]
    assert {bool(places) for _, places in denials} == {True, False}
    for text, places in denials:
        noun = text.partition("there is no ")[2].split()[0].strip(".")
        assert (noun in WORDS["1"]) == bool(places)
