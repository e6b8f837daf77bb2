"""What a text says without asserting it: by hand, in graphs, and metrics pay nothing for it."""

import random
import re
import sys
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from experiments.scenes.language import as_existence, noun_phrase, place_phrase
from experiments.scenes.referee import judge_description
from experiments.scenes.word_judge import WordJudge
from experiments.scenes.world import COLORS, COLUMNS, ROWS, SHAPES, SIZES, Scene, make_scenes
from spanreward import HarmonicReward, MatchJudge, PoshReward, Reward, Sample, Status, Verdict
from spanreward.rewards.language.parse import parse_graphs, scene_graphs
from spanreward.rewards.language.pipeline import load_pipeline
from spanreward.rewards.language.supported_claims import vocabulary_of
from spanreward.rewards.language.unasserted import claims_of, unasserted_words
from spanreward.rewards.language.words import read_words
from tests.support.parsed import shown

NLP = load_pipeline(None)
POSH = PoshReward(MatchJudge())
HARMONIC = HarmonicReward(WordJudge(), evidence="context", spans="none")
SCENES = make_scenes("test", 1, 12)


KNOWN = "A small red dog. A blue square, a yellow star, a green circle in the top left corner, the right edge. The men."
UNFOUND = 0.21  # the recall of a text with nothing of the reference: at most 1.05 of 5
THINGS = ("NOUN", "PROPN", "ADJ", "NUM")


def claims(text: str, reference: str) -> list[str]:
    """The things and adjectives that a text claims of what the reference has."""
    words, _ = read_words(NLP(text))
    read, known = unasserted_words(words, claims_of(words)), vocabulary_of([reference])
    lost = set(read.left_out)
    for word, needs in read.hanging.items():
        if any(known.isdisjoint(need) for need in needs):
            lost.add(word.index)
    return [word.text for word in words if word.pos in THINGS and word.index not in lost]


def outside(expected: str) -> tuple[str, list[str]]:
    """A text without its brackets, and its things and adjectives outside of them."""
    bracketed = expected.replace(" n't", "n't")
    marks = re.sub(r"\[[^]]*\]", lambda match: "[" * (len(match[0]) - 2), bracketed)
    text = bracketed.replace("[", "").replace("]", "")
    words = [word for word in read_words(NLP(text))[0] if word.pos in THINGS]
    return text, [word.text for word in words if marks[word.start] != "["]


@pytest.mark.parametrize("expected", [
    "There is [no red circle in the top left corner] .", "There is [n't a red circle] .",
    "There is [never a red circle] .", "[Neither a circle nor a square is red] .",
    "The circle is [neither red nor blue] .", "[A red circle does not exist] .",
    "[A red circle is missing] .", "[None of the men wear hats] .",
    "There is [not a red circle] but a blue square .", "[It is false that there is a red circle] .",
    "[It is not true that there is a red circle and a blue square] .",
    "[I doubt that there is a red circle .]", "[If there is a red circle] , it is small .",
    "[Is there a red circle in the corner] ?", "[Is there a red circle in the corner] .",
    "[A red circle .] That [is not true] .",
    "[A red circle . A blue star . Everything above is false] .",
    "[Either a red or blue] circle is in the top left corner .",
    "A [red , green , blue or yellow circle or square or star] is at the [left or right] edge .",
    "[There is a red circle or there is a blue square] .",
    "A circle is [either in the top left corner or in the bottom right corner] .",
    "There is [a circle , a square or a star] .",
    "There is [a dog , a cat or a bird] near a table .", "[A dog or cat] near a table .",
    "The circle is [red or is blue] .",
    "There is [anything but a red circle in the top left corner] .",
    "There is [hardly a red circle in the corner] .",
    "There are [zero red circles in the corner] .", "There are [0 red circles in the corner] .",
    "[A red circle in the corner is not in this picture] .",
    "[A red circle is n't part of the scene] .", "[A red circle does not appear] .",
    "[A red circle is nowhere] to be seen .", "[A red circle can be ruled out] .",
    "[It is a lie that there is a red circle] .",
    "Some people say [that there is a red circle and a blue square] .",
    "[Allegedly there is a red circle .]", "It [fails to show a red circle in the corner] .",
    "[There would be a red circle in the corner .]", "[There used to be a red circle .]",
    "[There could have been a red circle .]", "[Had there been a red circle .]",
    "[Should there be a red circle .]",
    "[It is empty unless there is a red circle in the corner] .",
    "[Suppose there is a red circle .]", "[Let us assume that there is a red circle .]",
    "[Who says that there is a red circle .]", "[I would say that there is a dog .]",
    "It can be said [that the dog is calm] .", "[Find a red circle .]",
    "[Please draw a red circle .]", "[True or false] : [there is a red circle] .",
    "A square . [There is a red circle , said no one ever .]", "There is [nt a red circle] .",
    "A square . [Earlier there was a red circle .]",
    "A square . [I was looking for a red circle .]", "[I wish there were a red circle .]",
    "[There will be a red circle .]", "[Hypothetically , there is a red circle .]",
    "[According to a liar , there is a red circle .]",
    "[In another picture there is a red circle] .", "[There is a red circle .] Just kidding .",
    "[A red circle :] no .", "[A red circle - no] .", "[There is a red circle .] No .",
    "[There is a red circle . Or not] .", "[There is a red circle in the corner or not] .",
    "[There is a red circle in the corner or something else] .",
    "[Not] : [a red circle in the corner] . A blue star .",
    "Missing : [a red circle and a blue star] . A square .",
    "[Things that are not in the picture] : [a red circle] .",
    "[The following is false] : [there is a red circle] .",
    "[The following is false . There is a red circle . A blue star .]",
    "In [no way is there a red circle] .",
    # the frame's verb has no subject of its own, and that of the first clause stands before it
    "The kite is red and [in a dream shows a bird] .",
])  # fmt: skip
def test_what_is_not_asserted(expected: str) -> None:
    text, said = outside(expected)
    assert claims(text, KNOWN) == said


@pytest.mark.parametrize("expected", [
    "A man with [no shirt] riding a horse next to a barn .",
    "A man with [no shirt] on is riding a horse next to a barn .",
    "A cat [without a tail] sits on a mat .",
    "The man is [not wearing a hat] but is holding a dog .",
    "There is [no text in the image ,] and the relative positions of the men suggest a race .",
    "Two men are [cleaning or painting] a wall .", "On the table , [a cup or a glass] .",
    "The street is wet , [suggesting rain or snow] .",
    'A sign says " [Are you ready] ? " on a wall .',
    # what is asserted all the same
    "A park , possibly with a fountain .", "The dog appears to be asleep .",
    "There might be a dog .", "It shows not only the dog but also the cat .",
    "The tree is not far from the house .", "The dog is no more than a puppy .",
    "A no parking sign .", "No , the circle is red .", "Trees on either side of the road .",
    "He runs as if the dog were after him .", "A man on the wrong side of the road .",
    "Two or so dogs .", "The street is empty except for a man .",
    "There are things other than the dog .", "A barely visible dog .", "Player number zero .",
    "Says that there is a blue star .", "It says that there is a red circle in the corner .",
    "The answer says that there is a dog .", "A dog in the middle of nowhere .",
    "The man does appear to be happy .", "That is the dog : it sleeps .",
    "The following can be seen : a dog .", "In a dream a red kite shows a bird .",
])  # fmt: skip
def test_people_say_other_things_beside_what_is_not_asserted(expected: str) -> None:
    text, said = outside(expected)
    assert claims(text, text) == said


def test_a_graph_has_only_what_is_asserted() -> None:
    text = "A man wearing no hat on a red or blue horse. There is no dog."
    (graph,) = scene_graphs([text])
    assert shown(graph) == "man horse"
    assert graph.sentences == ["A man wearing on a horse .", "There is ."]
    first, *others = [text[start:end] for start, end in graph.unasserted]
    assert first == "wearing"
    assert {"hat", "red", "blue", "dog"} <= {*others}


def test_the_published_extractor_keeps_all() -> None:
    (graph,) = parse_graphs(["There is no red circle."])
    assert shown(graph) == "circle{red}"
    assert graph.unasserted == []


def judged(text: str, reference: str, reward: Reward = POSH) -> Verdict:
    (verdict,) = reward.assess([Sample("Describe.", text, references=(reference,))])
    return verdict


def posh(text: str, reference: str) -> float:
    return judged(text, reference).score or 0.0


def harmonic(text: str, context: str) -> float:
    (verdict,) = HARMONIC.assess([Sample("Describe.", text, context=context)])
    assert verdict.score is not None
    return verdict.score


@pytest.mark.parametrize("text", [
    "There is no red circle.", "Is there a red circle?", "Either a red circle or a blue circle.",
    "Not in the picture:\n- a red circle\n", "False: there is a red circle.",
    "The following is wrong. A red circle.",
])  # fmt: skip
def test_what_claims_nothing_is_paid_as_what_says_nothing(text: str) -> None:
    verdict = judged(text, "A red circle.")
    assert verdict.status is Status.EMPTY or verdict.parts["recall"] <= UNFOUND
    nothing = harmonic("Hello there.", "A red circle.")
    assert harmonic(text, "A red circle.") == pytest.approx(nothing)


@pytest.mark.parametrize("hedge", ["what appears to be ", "what looks like ", "what seems to be "])
@pytest.mark.parametrize("thing", ["a brown horse", "a blue bus"])
def test_a_hedge_is_a_claim(hedge: str, thing: str) -> None:
    """It is paid if it is right, and costs what a claim costs if it is wrong."""
    right = "A man rides a brown horse on a wet street."
    plain, hedged = (right.replace("a brown horse", said) for said in (thing, hedge + thing))
    assert posh(hedged, right) == pytest.approx(posh(plain, right))


BIRD, CUP = "A red or orange bird sits on a branch.", "There is a cup or a glass on a table."


@pytest.mark.parametrize(("reference", "text", "either", "other", "less"), [
    (BIRD, "A {} bird sits on a branch.", "red", "blue", "A bird sits on a branch."),
    (BIRD, "A {} bird sits on a branch.", "orange", "blue", "A bird sits on a branch."),
    (CUP, "There is a {} on a table.", "cup", "dog", "There is a table."),
    (CUP, "There is a {} on a table.", "glass", "dog", "There is a table."),
])  # fmt: skip
def test_each_alternative_of_a_reference(
    reference: str, text: str, either: str, other: str, less: str
) -> None:
    """Each is right, and who leaves it out, or open as the reference does, loses nothing."""
    right, wrong = text.format(either), text.format(other)
    reward = PoshReward(MatchJudge())
    verdict = judged(right, reference, reward)
    assert (verdict.parts["precision"], verdict.parts["recall"], verdict.missed) == (1.0, 1.0, ())
    assert judged(right, reference, reward) == verdict  # from memory
    assert harmonic(right, reference) > harmonic(wrong, reference)
    for text in (less, reference):
        assert judged(text, reference, reward).score == 1.0
    assert posh(wrong, reference) < 1.0


def test_what_a_reference_denies_it_does_not_support() -> None:
    assert posh("A man with a hat.", "A man with no hat or a coat.") < 1.0
    text = "There is no red circle."
    assert scene_graphs([text], mode="reference") == scene_graphs([text])
    (graph,) = scene_graphs(["A red or blue circle."], mode="reference")
    assert shown(graph) == "circle{red, blue}"


@settings(max_examples=15, deadline=None)
@given(
    # "purple or" is a noun to the parser
    pair=st.sampled_from(["red or green", "red or blue", "green or black"]),
    shape=st.sampled_from(SHAPES),
    said=st.sampled_from((*COLORS, "")),
)
def test_an_alternative_in_a_reference_only_adds_support(pair: str, shape: str, said: str) -> None:
    text = f"A small {said} {shape} is in the corner."
    without = judged(text, f"A small {shape} is in the corner.").parts
    beside = judged(text, f"A small {pair} {shape} is in the corner.").parts
    assert beside["precision"] >= without["precision"]
    assert beside["recall"] == without["recall"]
    assert (beside["precision"] == 1.0) == (said in (*pair.split(" or "), ""))


def test_people_who_say_no_lose_nothing() -> None:
    reference = "A man with no shirt is riding a brown horse."
    itself = judged(reference, reference)
    assert (itself.score, itself.parts["filler"]) == (1.0, 0)
    without = posh("A man rides a brown horse.", reference)
    assert posh("A man with no shirt rides a brown horse.", reference) == pytest.approx(without)


def phrases_of(scene: Scene) -> list[tuple[str, str]]:
    seeded = random.Random
    return [(noun_phrase(thing, seeded(0)), place_phrase(thing)) for thing in scene.objects]


DENIALS = (
    lambda sentence: sentence.replace("There is a", "There is no"),
    lambda sentence: sentence.replace("There is a", "There is not a"),
    lambda sentence: sentence.replace("There is a", "There is never a"),
    lambda sentence: f"It is false that {sentence[0].lower()}{sentence[1:]}",
    lambda sentence: f"I doubt that {sentence[0].lower()}{sentence[1:]}",
    lambda sentence: sentence.replace("There is", "Is there").replace(".", "?"),
    lambda sentence: f"{sentence} That is wrong.",
)


@settings(max_examples=20, deadline=None)
@given(scene=st.sampled_from(SCENES), number=st.integers(0, 8), deny=st.sampled_from(DENIALS))
def test_denying_a_right_sentence_never_pays(scene: Scene, number: int, deny: Any) -> None:
    phrases = phrases_of(scene)
    reference = as_existence(phrases)
    sentences = [as_existence([phrase]) for phrase in phrases]
    number %= len(sentences)
    without = " ".join(sentences[:number] + sentences[number + 1 :])
    denied = " ".join([*sentences[:number], deny(sentences[number]), *sentences[number + 1 :]])
    most = max(judged(without, reference).parts["recall"], UNFOUND)
    assert judged(denied, reference).parts["recall"] <= most + 1e-9
    assert harmonic(denied, reference) <= harmonic(without or "Hello there.", reference) + 1e-9


@settings(max_examples=20, deadline=None)
@given(scene=st.sampled_from(SCENES), seed=st.integers(0, 99))
def test_a_list_of_all_words_never_pays_against_a_terse_text(scene: Any, seed: int) -> None:
    """A place that is no alternative ("left or right corner") pays as said alone."""
    reference = as_existence(phrases_of(scene))
    terse = f"There is a {scene.objects[0].shape}."
    words = []
    for values in (SIZES, COLORS, SHAPES, ROWS, COLUMNS):
        words.append(" or ".join(random.Random(seed).sample(list(values), len(values))))
    size, color, shape, row, column = words
    every = f"There is a {size} {color} {shape} in the {row} {column}."
    for score in (posh, harmonic):
        assert score(f"{terse} {every}", reference) <= score(terse, reference) + 1e-9
        assert score(every, reference) <= score(terse, reference) + 1e-9
        corner = max(score(terse, reference), score(f"{terse} There is a corner.", reference))
        assert score(f"{terse} {every[:-1]} corner.", reference) <= corner + 1e-9
    assert judge_description(every, scene).recall == 0


PIECES = """no a / not / a or / red or / is or / is a cat or a cat is / 0 / , no / a or not / a or something / if /
fails to / says that / red , / a cat , or / is wrong / either a / and / no of / no dog. / or a cat / is not there"""


@pytest.mark.parametrize("piece", PIECES.split("/"))
def test_the_work_is_linear_in_the_length(piece: str) -> None:
    def work(count: int) -> int:
        words, _ = read_words(NLP(piece * count))
        calls = 0

        def count_call(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count_call)
        unasserted_words(words, claims_of(words))
        sys.setprofile(None)
        return calls

    assert work(800) <= 10 * work(100)


def test_an_or_that_the_parser_hangs_on_the_verb_leaves_a_place_open() -> None:
    reference, terse = "There is a large triangle in the center.", "There is a triangle."
    places = "the middle or top or bottom center or left or right"
    every = f"{terse} There is a small or large star or triangle in {places}."
    assert posh(every, reference) <= posh(terse, reference)
