"""The pairs that differ in meaning, or in markup alone, and what readings make of them."""

import random

import pytest

from experiments.meaning.captions import CAPTIONS
from experiments.meaning.command import counts, failures, readings_of
from experiments.meaning.marks import all_marks
from experiments.meaning.markup import WRAPPERS, Wrapper, fits, together, wrap
from experiments.meaning.official import official
from experiments.meaning.pairs import ANSWERS, MIXED, Pair, all_pairs
from experiments.meaning.readings import cells, lave_scores, plain_texts, scored
from spanreward.rewards.language.answer_text import normalise_answer

BY_NAME = {wrapper.name: wrapper for wrapper in WRAPPERS}


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return all_pairs(count=6)


def test_a_seed_gives_the_same_pairs(pairs: list[Pair]) -> None:
    assert all_pairs(count=6) == pairs
    assert all_pairs(seed=1, count=6) != pairs
    assert all_marks(count=2) == all_marks(count=2)


def test_every_dimension_has_its_pairs() -> None:
    pairs = all_pairs(count=20)
    apart = [pair.dimension for pair in pairs if pair.family == "apart"]
    for name in [*ANSWERS, *CAPTIONS]:
        assert apart.count(name) >= 20, name
    same = {pair.dimension for pair in pairs if pair.family == "same"}
    assert {wrapper.name for wrapper in WRAPPERS} | {MIXED} <= same


def test_texts_of_a_pair_differ_and_have_no_blank(pairs: list[Pair]) -> None:
    blanks = ("«a»", "«b»", "«x»", "«thing»", "«colour»", "«man»", "«two»")
    for pair in pairs:
        assert pair.right != pair.candidate
        assert pair.family == "apart" or pair.right == pair.reference
        for text in (pair.question, pair.reference, pair.right, pair.candidate):
            assert not any(blank in text for blank in blanks), text


def test_merged_pairs_are_those_of_the_published_metric(pairs: list[Pair]) -> None:
    """The oracle was written without a look at the product's normalisation."""
    for pair in pairs:
        assert official(pair.reference) == normalise_answer(pair.reference).replace("n't", "nt")
    assert official("The dogs, 2 of 10.") == "dogs 2 of 10"
    assert official("1,000 a") == "1000"
    assert official("one-two") == "1 2"
    assert official("don't") == official("dont")


UNFIT = {"bold": "2*3", "list": "-5", "quote": "5", "HTML tags": "x < 5", "code": "`a`"}
UNFIT |= {"The answer is": "Stop!", "HTML entities": "1\\2"}


@pytest.mark.parametrize(("name", "text"), UNFIT.items())
def test_markup_that_would_say_something_else_is_left_out(name: str, text: str) -> None:
    assert not fits(BY_NAME[name], text, "answer")


@pytest.mark.parametrize(
    ("names", "text", "wrapped"),
    [
        (["LaTeX brackets"], "-5%", (r"\(-5\%\)", r"\[-5\%\]")),
        (["full-width digits"], "1,200", ("１,２００",)),  # noqa: RUF001
        (["byte order mark", "answer tag"], "-5", ("\ufeff<answer>-5</answer>",)),
        (["Markdown escapes"], "-5", (r"\-5",)),
    ],
)
def test_markup_keeps_signs(names: list[str], text: str, wrapped: tuple[str, ...]) -> None:
    wrappers = [BY_NAME[name] for name in names]
    made = {wrap(text, wrappers, "answer", random.Random(seed)) for seed in range(20)}
    assert made >= set(wrapped)


def test_code_is_not_set_in_formulas() -> None:
    code: list[Wrapper] = [BY_NAME["code"], BY_NAME["LaTeX box"]]
    assert not together(code)


def test_a_missing_score_is_not_silent() -> None:
    pair = Pair("apart", "sign", "answer", "How many?", "5", "5", "-5")
    lost, merged = scored(pair, None, 0.0), scored(pair, 1.0, 1.0)
    assert (lost.held, lost.silent) == (False, False)
    assert (merged.held, merged.silent) == (False, True)
    assert counts([lost, merged, scored(pair, 1.0, 0.5)]) == {"held": 1, "total": 3, "silent": 1}
    assert failures([lost, merged]) == [merged, lost]


def test_a_sample_through_three_readings() -> None:
    question = "How many dogs are there?"
    apart = Pair("apart", "digits", "answer", question, "3", "**3**", "**4**")
    same = Pair("same", "bold", "answer", question, "3", "3", "**3**")
    for reading in (plain_texts, lave_scores):
        assert all(outcome.held for outcome in reading([apart, same]))
    written = [outcome for outcome in cells([apart]) if outcome.dimension == "jsonl: completion"]
    assert counts(written)["held"] == len(written) > 1


def test_the_command_has_all_readings(pairs: list[Pair]) -> None:
    expected = {"plain text", "LAVE, match", "LAVE, prompt", "VQA accuracy", "PoSh, match"}
    assert set(readings_of(pairs, 0)) == {*expected, "cells", "marks"}
