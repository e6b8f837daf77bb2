"""Filler by hand, each kind alone; what people write is none; the penalty on every metric."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from experiments.scenes.word_judge import WordJudge
from spanreward import (
    CriteriaReward,
    FunctionJudge,
    HarmonicReward,
    LaveReward,
    MatchJudge,
    PairwiseReward,
    PoshReward,
    Reward,
    Sample,
    Status,
)
from spanreward.rewards.base.verdict import Span, Verdict
from spanreward.rewards.language.foreign import is_foreign
from spanreward.rewards.language.pipeline import load_pipeline
from spanreward.rewards.posh.scores import SCORE_NAMES
from spanreward.rewards.text.filler import (
    COPIED_WORDS,
    FILLER_PART,
    MOST_SIGNS,
    find_filler,
    is_degenerate,
    penalise_filler,
)
from tests.support.paths import DATA

CERTAIN = FunctionJudge("certain", lambda text: 5)
HONEST = "There is a large black circle in the top left corner. There is a large purple circle at the bottom edge."


def found(text: str, **settings: Any) -> list[tuple[str, str]]:
    """(words, reason) of every piece."""
    pieces = find_filler(text, **settings).pieces
    return [(text[start:end], reason) for start, end, reason in pieces]


OFTEN = "a phrase over and over"
AGAIN = HONEST.removeprefix("There is ").removesuffix(".")  # a repetition ends within its sentence
BESIDE = {  # what stands beside a text
    "A red-red square.": "A red square.",
    "Red Red squares.": "A red square.",
    "A tuk tuk waits.": "A green tuk tuk.",
}
FILLER = {  # what is filler stands in []
    "A large [large] red square.": "words just said",
    "A large, [large] red square.": "words just said",
    "A red square [square].": "words just said",
    "A red-[red] square.": "words just said",
    "Red [Red] squares.": "words just said",
    "It sits in the corner [in the corner].": "words just said",
    "It sits in the corner. [in the corner].": "words just said",
    "It sits in the corner, [in the corner].": "words just said",
    "The square is red. [The square is red].": "words just said",
    "A red star. so [so so so so]": OFTEN,
    "and so [and so and so and so and so]": OFTEN,
    'A sign says "STOP STOP STOP STOP" and "go [go go go]".': OFTEN,  # one quotation is free
    f"{HONEST} There is [{AGAIN}].": OFTEN,
    "[The is man on a] of a bench.": "words in no order",  # from one slip of grammar to the next
    f"The is man. {HONEST} [A] of a man.": "words in no order",  # far apart, and one is free
    "edge. is [at is the corner. is the a star at] is top.": "words in no order",
    "A man who is there to be with [it as well as of him].": "words that state nothing",
    "A red star." + "\n" * 7 + "[" + "\n" * 13 + "]": "signs and white space",
    f"A red star{'!' * MOST_SIGNS}[{'!' * 12}]": "signs and white space",
    "A red [的的的] star.": "no words",
    "A qzx vkj [zzq jqk wvx] dog.": "no words",
    f"A [{'abc' * 20}]": "no words",
    "A red star. A [blue]": "an unfinished end",
    "A red star and [the]": "an unfinished end",
}
NO_FILLER = [
    "It sits in the corner and and sits in the corner.",
    # it goes on
    "A dog sits on the table. On the table, there is a cat.",
    "The bus is red. The bus stands still.",
    "He looks at the plane. The plane, a big one, waits.",
    # a further thing
    "A red circle, a red circle and a blue one.",
    "There is a red square. There is a red square.",
    "Two men, two men and a dog.",
    # function words, chains, and names
    "A very very old dog that that man had had.",
    "Row after row after row of seats.",
    "Duran Duran play.",
    "A tuk tuk waits.",
    'A sign says "PIZZA PIZZA".',
    "A very very old red star.",
    # said twice or three times; a fourth time is too often
    "A dog and a cat and a dog and a cat.",
    "Row after row after row after row of seats.",
    "There is a circle. There is a circle. There is a circle.",
    'A sign says "STOP STOP STOP STOP".',
    "A clock shows 1 2 3 4 5 6 7 8 9 10 11 12.",
    "| thing | colour |\n|---|---|\n| horse | brown |",
    "The the man on a of a bench.",  # one slip is free
    f"The the man. {HONEST} A of a man.",  # a word twice in a row is no slip
    "It opens at 9:30 a.m. and closes at 4 p.m., not at 7 a.m. on Sundays.",
    "George A. Robertson and Anna A. Smith climbed Mt. Pulag and Mt. Apo.",
    "Was the star red? It is. Is the circle at the edge? Are the stars old?",
    "A star in café Zürich, Łódź, 5⁷ and 20 °C.",
    "A red star and a blue one",  # many captions have no full stop
    "A red star. A blue one.",
    "",
    "   ",
]


@pytest.mark.parametrize("marked", [*FILLER, *NO_FILLER])
def test_filler_by_hand(marked: str) -> None:
    text = marked.replace("[", "").replace("]", "")
    expected = [(words, FILLER[marked]) for words in re.findall(r"\[(.*?)]", marked, re.DOTALL)]
    assert found(text, beside_text=BESIDE.get(text, "")) == expected


def test_the_share_is_of_characters() -> None:
    text = "A red circle. in in in in in in in in"
    assert find_filler(text).share == pytest.approx(len("in in in in in in in") / len(text))
    assert find_filler(f"{HONEST} {HONEST}").share == pytest.approx(0.5, abs=0.06)


PIECES = (" in", "\n", " and so on", " very", " 的", "!", " 😀", " zqx", " large", f" {HONEST}")


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("place", [HONEST.index(" black"), len(HONEST)])
def test_more_of_it_is_more(piece: str, place: int) -> None:
    texts = [HONEST[:place] + piece * count + HONEST[place:] for count in (0, 20, 60, 180)]
    shares = [find_filler(text).share for text in texts]
    assert shares[0] == 0
    assert shares == sorted(set(shares))


def test_what_stands_beside_is_nobodys_filler() -> None:
    text = "赤い星。 QXZ vkj zzq jqk."
    assert find_filler(text, beside_text="青い星 QXZ vkj zzq jqk").share == 0
    assert find_filler(text, beside_text="A star.").share > 0.4
    assert found("Dr. Smith", ends=False) == []  # answers have no end
    assert found("Dr. Smith") == [("Smith", "an unfinished end")]


def test_words_outside_what_is_asked_about() -> None:
    text = "A red star " + " ".join(f"word{n}" for n in range(20))
    assert find_filler(text).share == 0
    reason = "words that state nothing"
    stated = [(2, 5), (6, 10)]
    assert found(text, stated=stated) == [(text[text.index("word9") :], reason)]
    stated.append((text.index("word9"), text.index("word9") + 5))
    assert found(text, stated=stated) == [("word19", reason)]


@given(st.text(max_size=400))
def test_any_text_has_a_share_and_pieces_in_order(text: str) -> None:
    filler = find_filler(text)
    assert 0 <= filler.share <= 1
    before, characters = 0, 0
    for start, end, _ in filler.pieces:
        assert before <= start < end <= len(text)
        before, characters = end, characters + end - start
    assert filler.share * len(text) == pytest.approx(characters)


@given(st.text(max_size=60), st.integers(2, 30))
def test_a_text_without_filler_gets_some_when_it_is_said_often(text: str, times: int) -> None:
    words = len(text.split())
    if find_filler(text).share == 0 and words >= COPIED_WORDS and text.isascii():
        assert find_filler(" ".join([text] * times)).share > 0


def test_the_penalty_by_hand() -> None:
    text = "A red star. " + "so " * 8
    filler = find_filler(text)
    parts = {"precision": 0.8, "recall": 0.4, "f1": 2 * 0.32 / 1.2, "precision_entity": 0.9}
    before = Verdict(parts["f1"], parts=parts, spans=(Span(2, 10, 1.0, 0.5, "entity", "", 0),))
    after = penalise_filler(before, len(text), filler, dict.fromkeys(SCORE_NAMES, 0.0))
    kept = 1 - filler.share
    assert after.score == pytest.approx(before.score * kept)
    assert after.parts["f1"] == pytest.approx(after.score)
    assert after.parts["precision"] == pytest.approx(0.8 * kept)
    assert (after.parts["precision_entity"], after.parts["filler"]) == (0.9, filler.share)
    first, cost = after.spans
    assert first.credit == pytest.approx(0.5 * kept)
    assert (cost.kind, cost.score, cost.component) == (FILLER_PART, 0.0, 1)
    assert cost.credit == pytest.approx(after.score - before.score)
    failed = Verdict(None, Status.TIMEOUT)
    assert penalise_filler(failed, len(text), filler, dict.fromkeys(SCORE_NAMES, 0.0)) is failed


def sample(text: str, **columns: Any) -> Sample:
    columns |= {"context": HONEST, "criteria": ("Names the circle.",)}
    return Sample("Describe the picture.", text, references=(HONEST,), **columns)


REWARDS: dict[str, Callable[[Any], Reward]] = {
    "posh": lambda mode: PoshReward(MatchJudge(), mode=mode),
    "harmonic": lambda mode: HarmonicReward(WordJudge(), evidence="context", mode=mode),
    "criteria": lambda mode: CriteriaReward(CERTAIN, evidence="context", mode=mode),
    "pairwise": lambda mode: PairwiseReward(CERTAIN, form="score", evidence="context", mode=mode),
}


@pytest.mark.parametrize("piece", [" in", " large"])
@pytest.mark.parametrize("metric", ["posh", "harmonic"])
def test_each_costs_and_the_more_the_more(metric: str, piece: str) -> None:
    texts = [HONEST.replace(" large", piece * amount + " large", 1) for amount in (0, 6, 20, 60)]
    verdicts = REWARDS[metric]("default").assess([sample(text) for text in texts])
    scores = [verdict.score for verdict in verdicts]
    assert scores == sorted(set(scores), reverse=True), scores
    for text, verdict in zip(texts, verdicts, strict=True):
        characters = sum(s.end - s.start for s in verdict.spans if s.kind == FILLER_PART)
        assert verdict.parts["filler"] == pytest.approx(characters / len(text))


@pytest.mark.parametrize("metric", ["posh", "harmonic"])
def test_a_text_cut_short_is_worth_less_than_its_whole(metric: str) -> None:
    texts = [" ".join(HONEST.split()[:words]) for words in (21, 20, 19, 18, 17, 15, 13)]
    verdicts = REWARDS[metric]("default").assess([sample(text) for text in texts])
    whole, *cut = (verdict.score for verdict in verdicts)
    assert texts[0] == HONEST
    assert max(cut) < whole


@pytest.mark.parametrize("metric", REWARDS)
def test_default_mode_alone_charges_it(metric: str) -> None:
    default, published = (REWARDS[metric](mode) for mode in ("default", "published"))
    samples = [sample(text) for text in (HONEST, f"{HONEST}{'<br>' * 60}", f"{HONEST} " * 4)]
    honest, padded, often = default.assess(samples)
    kept = 1 - 57 * 4 / (len(HONEST) + 240)
    assert padded.parts["filler"] == pytest.approx(1 - kept)
    assert padded.score == pytest.approx(honest.score * kept)
    costs = sum(span.credit for span in padded.spans if span.kind == FILLER_PART)
    assert costs == pytest.approx(padded.score - honest.score)
    assert often.score < honest.score / 2
    for verdict in published.assess(samples):
        assert "filler" not in verdict.parts
        assert all(span.kind != FILLER_PART for span in verdict.spans)
        assert verdict.score == 1.0 or metric in ("posh", "harmonic")


def answer(text: str, **settings: Any) -> Verdict:
    asked = Sample("What color is it?", text, question="What color is it?", answers=("red",) * 10)
    return LaveReward(MatchJudge(), rationale=False, **settings).assess([asked])[0]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("red", 1, 1),
        ("Answer: red", 1, 1),
        ("Let me look again. " * 10 + "Answer: red", 0, 0.3),
        ("red" + "\n" * 60, 0, 0.5),
        ("It is red because the light on the wall is red.", 1, 1),
        ("It may be that it is so, or perhaps it could be so or not, but red", 0, 0.5),
    ],
)
def test_lave_penalises_what_stands_beside(text: str, low: float, high: float) -> None:
    verdict = answer(text)
    assert 1 - high <= verdict.parts["filler"] <= 1 - low
    assert verdict.score <= high
    assert answer(text, mode="published").score == 1.0 or "It" in text


@pytest.mark.parametrize(("row", "is_filler"), [
    (sample(HONEST + " in" * 20), True), (sample(HONEST + " in in"), False),
    (Sample("Who?", "Dr. Smith", question="Who?", answers=("Smith",)), False),
    (Sample("", "<p>" * 40 + "A **dog** sleeps.</s>"), False),
])  # fmt: skip
def test_a_degenerate_completion(row: Sample, is_filler: bool) -> None:
    assert is_degenerate(row) == is_filler


PEOPLE = {  # where captions by people lie, and under which keys
    "flickr8k_expert/flickr8k_expert": ["references"], "thumb/thumb_mscoco": ["references"],
    "hat_aloha/hat_trainval": ["references"], "sugarcrepe/sugarcrepe": ["caption"],
    "pascal50s/pascal50s": ["references", "captions"], "posh_oracle/graphs": ["text"],
    "discosg_graphs/discosg_human_graphs": ["caption"],
    "discosg_foil/discourse_foil": ["reference_caption"],
    "decapbench_oracle_facts/oracle_facts": ["oracle_caption"],
}  # fmt: skip


def captions(name: str) -> list[str]:
    found: dict[str, None] = {}
    for line in (DATA / f"{name}.jsonl").read_text().splitlines():
        row = json.loads(line)
        for key in PEOPLE[name]:
            if name != "posh_oracle/graphs" or "iiw" in row["source"].lower():
                found |= dict.fromkeys([row[key]] if isinstance(row[key], str) else row[key])
    return list(found)


@pytest.mark.skipif(
    not DATA.is_dir(), reason="people's captions are not beside the repository (../shared/data)"
)
@pytest.mark.parametrize("name", PEOPLE)
def test_people_are_neither_penalised_nor_foreign(name: str) -> None:
    texts = captions(name)
    language = load_pipeline()
    assert not [text for text in texts if is_foreign(text, language)]
    charged = [text for text in texts if find_filler(text).share > 0.01]
    assert len(charged) / len(texts) <= 0.01, charged[:5]
