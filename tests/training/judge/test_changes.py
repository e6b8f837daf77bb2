"""Captions changed on purpose: the marks lie on the very words that were changed."""

from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from spanreward.training.judge.changes import Changes, Word, rewrite

CAPTIONS = {
    "1": ["A brown dog sits on the green grass.", "The dog near two trees.", "An old dog is sitting on a lawn."],
    "2": ["A cat sleeps under a white table.", "The cat and a chair.", "An orange cat is lying below the table."],
    "3": ["Three men ride horses on a beach.", "The men are riding near the water.", "A horse and a man."],
    "4": ["A red bus next to a small blue car.", "An empty bus in the street.", "The car is behind a bus."],
}
WORDS = {name: {word.lower().strip(".") for text in texts for word in text.split()} for name, texts in CAPTIONS.items()}


@pytest.fixture(scope="module")
def changes() -> Changes:
    return Changes(CAPTIONS, Random(0))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(CAPTIONS)))
@pytest.mark.parametrize("kind", ["right", "replaced", "swapped", "added", "other"])
def test_marks_lie_on_the_changed_words(changes: Changes, kind: str, seed: int, name: str) -> None:
    changes.random = Random(seed)
    example = changes.example(kind, name)
    if example is None:
        assert kind in ("replaced", "swapped", "added")
        return
    assert example.picture == name
    marked = {(s, e): example.text[s:e] for s, e, _ in example.marks if (s, e) != (0, len(example.text))}
    wrong = {example.text[s:e].lower() for s, e, right in example.marks if right == 0}
    assert all(text and text == text.strip() for text in marked.values())
    left = "".join(" " if any(s <= i < e for s, e in marked) else letter for i, letter in enumerate(example.text))
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
    elif kind == "other":
        assert any(example.text in texts for texts in CAPTIONS.values())


def test_articles_are_set_right() -> None:
    assert rewrite("A dog on an old mat.", {Word(2, 5, "dog"): "owl"}) == ("An owl on an old mat.", [(3, 6)])
    assert rewrite("See an owl.", {Word(7, 10, "owl"): "dog"}) == ("See a dog.", [(6, 9)])
    assert rewrite("a dog", {Word(2, 2): "old "}) == ("an old dog", [(3, 6)])
    assert rewrite("a uniform", {Word(2, 9, "uniform"): "uniform"}) == ("a uniform", [(2, 9)])
