"""Filler by hand, each kind alone; what people write is none; the penalty on every metric."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from experiments.scenes.word_judge import WordJudge
from spanreward.rewards import HarmonicReward, LaveReward, MatchJudge, PoshReward, Sample, Status
from spanreward.rewards.base.verdict import Span, Verdict
from spanreward.rewards.posh.scores import SCORES
from spanreward.rewards.text.filler import (
    COPIED_WORDS,
    FILLER,
    MOST_SIGNS,
    find_filler,
    is_degenerate,
    penalise_filler,
)
from tests.support.paths import DATA

HONEST = "There is a large black circle in the top left corner. There is a large purple circle at the bottom edge."


def found(text: str, **settings: Any) -> list[tuple[str, str]]:
    """(words, reason) of every piece."""
    return [
        (text[start:end], reason) for start, end, reason in find_filler(text, **settings).pieces
    ]


JUST_SAID = "words just said"


@pytest.mark.parametrize(
    ("text", "known", "filler"),
    [
        ("A large large red square.", "", "large"), ("A large, large red square.", "", "large"),
        ("A red square square.", "", "square"), ("A red-red square.", "A red square.", "red"),
        ("It sits in the corner in the corner.", "", "in the corner"),
        ("It sits in the corner. in the corner.", "", "in the corner"),
        ("It sits in the corner, in the corner.", "", "in the corner"),
        ("It sits in the corner and and sits in the corner.", "", ""),
        ("The square is red. The square is red.", "", "The square is red"),
        # it goes on
        ("A dog sits on the table. On the table, there is a cat.", "", ""),
        ("The bus is red. The bus stands still.", "", ""),
        ("He looks at the plane. The plane, a big one, waits.", "", ""),
        # a further thing
        ("A red circle, a red circle and a blue one.", "", ""),
        ("There is a red square. There is a red square.", "", ""),
        ("Two men, two men and a dog.", "", ""),
        # function words, chains, and names
        ("A very very old dog that that man had had.", "", ""),
        ("Row after row after row of seats.", "", ""), ("Duran Duran play.", "", ""),
        ("Red Red squares.", "A red square.", "Red"), ("A tuk tuk waits.", "A green tuk tuk.", ""),
        ('A sign says "PIZZA PIZZA".', "", ""),
    ],
)  # fmt: skip
def test_what_was_just_said_is_said_again(text: str, known: str, filler: str) -> None:
    expected = [(filler, JUST_SAID)] if filler else []
    assert found(text, beside_text=known) == expected


@pytest.mark.parametrize(
    ("text", "filler", "reason"),
    [
        ("A red star. so so so so so", "so so so so", "a phrase over and over"),
        ("A very very old red star.", None, None),
        # said twice; a fourth time is too often
        ("A dog and a cat and a dog and a cat.", None, None),
        ("Row after row after row after row of seats.", None, None),
        ("There is a circle. There is a circle. There is a circle.", None, None),
        ("and so and so and so and so and so", "and so and so and so and so", None),
        ('A sign says "STOP STOP STOP STOP".', None, None),
        # one quotation is free
        ('A sign says "STOP STOP STOP STOP" and "go go go go".', "go go go", None),
        ("A clock shows 1 2 3 4 5 6 7 8 9 10 11 12.", None, None),
        ("| thing | colour |\n|---|---|\n| horse | brown |", None, None),
        (f"{HONEST} {HONEST}", None, "a phrase over and over"),
        ("The the man on a of a bench.", None, None),  # one slip is free
        # from one slip of grammar to the next
        ("The is man on a of a bench.", "The is man on a", "words in no order"),
        ("It opens at 9:30 a.m. and closes at 4 p.m., not at 7 a.m. on Sundays.", None, None),
        ("George A. Robertson and Anna A. Smith climbed Mt. Pulag and Mt. Apo.", None, None),
        (f"The the man. {HONEST} A of a man.", None, None),  # a word twice in a row is no slip
        # far apart, and one is free
        (f"The is man. {HONEST} A of a man.", "A", "words in no order"),
        ( "A man who is there to be with it as well as of him.", "it as well as of him", "words that state nothing", ),
        ("A red star." + "\n" * 20, "\n" * (20 + 1 - MOST_SIGNS), "signs and white space"),
        ("A red star" + "!" * 20, "!" * (20 - MOST_SIGNS), "signs and white space"),
        ("A red 的的的 star.", "的的的", "no words"),
        ("A star in café Zürich, Łódź, 5⁷ and 20 °C.", None, None),
        ("A qzx vkj zzq jqk wvx dog.", "zzq jqk wvx", "no words"),
        ("A " + "abc" * 20, "abc" * 20, "no words"),
        ("A red star. A blue", "blue", "an unfinished end"),
        ("A red star and the", "the", "an unfinished end"),
        ("A red star and a blue one", None, None),  # many captions have no full stop
        ("A red star. A blue one.", None, None), ("", None, None), ("   ", None, None),
    ],
)  # fmt: skip
def test_each_kind_by_hand(text: str, filler: str | None, reason: str | None) -> None:
    pieces = found(text)
    if filler is None and reason is None:
        assert pieces == []
        return
    assert reason is None or {why for _, why in pieces} == {reason}
    if filler is not None:
        assert [words for words, _ in pieces] == [filler]


def test_the_share_is_of_characters() -> None:
    text = "A red circle. in in in in in in in in"
    assert find_filler(text).share == pytest.approx(len("in in in in in in in") / len(text))
    assert find_filler(f"{HONEST} {HONEST}").share == pytest.approx(0.5, abs=0.06)


def test_more_of_it_is_more() -> None:
    for piece in (" in", "\n", " and so on", " very", " 的", "!", " 😀", " zqx"):
        shares = [find_filler(HONEST + piece * count).share for count in (0, 20, 60, 180)]
        assert shares[0] == 0
        assert shares == sorted(set(shares)), piece


def test_what_stands_beside_is_nobodys_filler() -> None:
    text = "赤い星。 QXZ vkj zzq jqk."
    assert find_filler(text, beside_text="青い星 QXZ vkj zzq jqk").share == 0
    assert find_filler(text, beside_text="A star.").share > 0.4


def test_words_outside_what_is_asked_about() -> None:
    text = "A red star " + " ".join(f"word{n}" for n in range(20))
    assert find_filler(text).share == 0
    (piece,) = found(text, stated=[(2, 5), (6, 10)])
    assert piece == (" ".join(f"word{n}" for n in range(9, 20)), "words that state nothing")
    assert found(
        text, stated=[(2, 5), (6, 10), (text.index("word9"), text.index("word9") + 5)]
    ) == [("word19", "words that state nothing")]


def test_answers_have_no_end() -> None:
    assert found("Dr. Smith", ends=False) == []
    assert found("Dr. Smith") == [("Smith", "an unfinished end")]


@given(st.text(max_size=400))
def test_any_text_has_a_share_and_pieces_in_order(text: str) -> None:
    filler = find_filler(text)
    assert 0 <= filler.share <= 1
    ends = [0, *(place for start, end, _ in filler.pieces for place in (start, end)), len(text)]
    assert ends == sorted(ends)
    assert all(start < end for start, end, _ in filler.pieces)
    assert filler.share * len(text) == pytest.approx(
        sum(end - start for start, end, _ in filler.pieces)
    )


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
    after = penalise_filler(before, len(text), filler, dict.fromkeys(SCORES, 0.0))
    kept = 1 - filler.share
    assert after.score == pytest.approx(before.score * kept)
    assert after.parts["f1"] == pytest.approx(after.score)
    assert after.parts["precision"] == pytest.approx(0.8 * kept)
    assert (after.parts["precision_entity"], after.parts["filler"]) == (0.9, filler.share)
    first, cost = after.spans
    assert first.credit == pytest.approx(0.5 * kept)
    assert (cost.kind, cost.score, cost.component) == (FILLER, 0.0, 1)
    assert cost.credit == pytest.approx(after.score - before.score)
    failed = Verdict(None, Status.TIMEOUT)
    assert penalise_filler(failed, len(text), filler, dict.fromkeys(SCORES, 0.0)) is failed


def sample(text: str, **columns: Any) -> Sample:
    return Sample("Describe the picture.", text, references=(HONEST,), context=HONEST, **columns)


REWARDS = {
    "posh": lambda mode: PoshReward(MatchJudge(), mode=mode),
    "harmonic": lambda mode: HarmonicReward(
        WordJudge(), evidence="context", spans="none", mode=mode
    ),
}
TWELVE = {  # the measurements, each in growing amounts
    "in": lambda n: HONEST + " in" * n,
    "line breaks": lambda n: HONEST + "\n" * (n + 4),
    "and so on": lambda n: HONEST + " and so on" * n,
    "very inside": lambda n: HONEST.replace("large black", "large " + "very " * n + "black"),
    "large inside": lambda n: HONEST.replace("large black", "large " * (n + 1) + "black"),
    "Chinese": lambda n: HONEST + "的" * (2 * n),
    "the whole text again": lambda n: " ".join([HONEST] * (1 + n // 5)),
    "random letters": lambda n: " ".join(
        [HONEST, *(f"{'qzxvkjwhq'[i % 9 :]}zvq{i}" for i in range(n))]
    ),
}


@pytest.mark.parametrize("name", TWELVE)
@pytest.mark.parametrize("metric", REWARDS)
def test_each_costs_and_the_more_the_more(metric: str, name: str) -> None:
    texts = [HONEST, *(TWELVE[name](amount) for amount in (6, 20, 60))]
    verdicts = REWARDS[metric]("default").assess([sample(text) for text in texts])
    scores = [verdict.score for verdict in verdicts]
    assert scores == sorted(set(scores), reverse=True), scores
    for text, verdict in zip(texts, verdicts, strict=True):
        assert verdict.parts["filler"] == pytest.approx(
            sum(s.end - s.start for s in verdict.spans if s.kind == FILLER) / len(text)
        )


@pytest.mark.parametrize("metric", REWARDS)
def test_a_text_cut_short_is_worth_less_than_its_whole(metric: str) -> None:
    words = HONEST.split()
    texts = [HONEST, *(" ".join(words[:-cut]) for cut in (1, 2, 3, 4, 6, 8))]
    whole, *cut = (
        verdict.score
        for verdict in REWARDS[metric]("default").assess([sample(text) for text in texts])
    )
    assert max(cut) < whole


@pytest.mark.parametrize("metric", REWARDS)
def test_published_modes_penalise_nothing(metric: str) -> None:
    (verdict,) = REWARDS[metric]("published").assess([sample(HONEST + " in" * 60)])
    assert "filler" not in verdict.parts
    assert all(span.kind != FILLER for span in verdict.spans)


def answer(text: str, **settings: Any) -> Verdict:
    asked = Sample("What color is it?", text, question="What color is it?", answers=("red",) * 10)
    return LaveReward(MatchJudge(), rationale=False, **settings).assess([asked])[0]


def test_lave_penalises_what_stands_beside_a_right_answer() -> None:
    assert answer("red").score == answer("Answer: red").score == 1.0
    padded = "Let me look again. " * 10 + "Answer: red"
    assert answer(padded).score < 0.3
    assert answer(padded, mode="published").score == 1.0
    assert answer("red" + "\n" * 60).score < 0.5
    assert answer("It is red because the light on the wall is red.").score == 1.0
    hedged = "It may be that it is so, or perhaps it could be so or not, but red"
    assert answer(hedged).parts["filler"] > 0.5


def test_a_degenerate_completion() -> None:
    assert is_degenerate(sample(HONEST + " in" * 20))
    assert not is_degenerate(sample(HONEST + " in in"))
    assert not is_degenerate(Sample("Who?", "Dr. Smith", question="Who?", answers=("Smith",)))


def lines(path: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / path).read_text().splitlines()]


PEOPLE = {
    "flickr8k": lambda: [
        t for r in lines("flickr8k_expert/flickr8k_expert.jsonl") for t in r["references"]
    ],
    "thumb": lambda: [t for r in lines("thumb/thumb_mscoco.jsonl") for t in r["references"]],
    "hat": lambda: [t for r in lines("hat_aloha/hat_trainval.jsonl") for t in r["references"]],
    "sugarcrepe": lambda: [r["caption"] for r in lines("sugarcrepe/sugarcrepe.jsonl")],
    "pascal50s": lambda: [
        t for r in lines("pascal50s/pascal50s.jsonl") for t in (*r["references"], *r["captions"])
    ],
    "discosg": lambda: [r["caption"] for r in lines("discosg_graphs/discosg_human_graphs.jsonl")],
    "foil": lambda: [r["reference_caption"] for r in lines("discosg_foil/discourse_foil.jsonl")],
    "decapbench": lambda: [
        r["oracle_caption"] for r in lines("decapbench_oracle_facts/oracle_facts.jsonl")
    ],
    "iiw": lambda: [
        r["text"] for r in lines("posh_oracle/graphs.jsonl") if "iiw" in r["source"].lower()
    ],
}


@pytest.mark.skipif(
    not DATA.is_dir(), reason="people's captions are not beside the repository (../shared/data)"
)
@pytest.mark.parametrize("name", PEOPLE)
def test_people_are_not_penalised(name: str) -> None:
    texts = list(dict.fromkeys(PEOPLE[name]()))
    charged = [text for text in texts if find_filler(text).share > 0.01]
    assert len(charged) / len(texts) <= 0.01, charged[:5]
