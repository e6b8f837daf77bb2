"""MatchJudge: presence questions answered from the words alone."""

import pickle
from dataclasses import replace
from typing import Any

import pytest

from spanreward import Failure, MatchJudge, Question, Rating, Status
from spanreward.rewards.judges.probe import Link, Mention, PresenceProbe
from spanreward.rewards.language.lemmas import lemma, lemmas
from spanreward.rewards.language.parse import describe

TEXT = (
    "A small red circle is above a blue square. Two dogs sit on the bench. The man's hat is black."
)


ABSENT = pytest.approx(1.05)  # 1 is for what no other wording excuses


def rating(probe: PresenceProbe) -> float:
    (answer,) = MatchJudge().rate([Question([], probe=probe)])
    assert isinstance(answer, Rating)
    assert sum(answer.probabilities.values()) == pytest.approx(1.0)
    return answer.mean


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        (Mention("circle"), 5),
        (Mention("Circles"), 5),
        (Mention("circle", ("red",)), 5),
        (Mention("circle", ("red", "small")), 5),
        (Mention("circle", ("blue",)), 2),
        (Mention("triangle"), ABSENT),
        (Mention("triangle", ("red",)), ABSENT),
        (Mention("circle", (), (Link("above", Mention("square")),)), 5),
        (Mention("square", (), (Link("above", Mention("circle"), reverse=True),)), 5),
        (Mention("square", (), (Link("above", Mention("circle")),)), 2),
    ],
)
def test_entities(mention: Any, expected: Any) -> None:
    assert rating(PresenceProbe(TEXT, "entity", mention)) == expected


@pytest.mark.parametrize(
    ("mention", "words", "expected"),
    [
        (Mention("circle"), "red", 5),
        (Mention("circle"), "RED", 5),
        (Mention("circle"), "blue", 1),
        (Mention("dog"), "2", 5),
        (Mention("dogs"), "two", 5),
        (Mention("dogs"), "three", 1),
        (Mention("circle"), "left", 1),
        (Mention("circle"), "shiny", ABSENT),
        (Mention("cat"), "red", ABSENT),
    ],
)
def test_attributes(mention: Any, words: str, expected: Any) -> None:
    assert rating(PresenceProbe(TEXT, "attribute", mention, words)) == expected


@pytest.mark.parametrize(
    ("mention", "words", "other", "expected"),
    [
        ("circle", "above", "square", 5),
        ("circle", "is above", "square", 4),
        ("square", "above", "circle", 1),
        ("circle", "below", "square", 1),
        ("dog", "sits on", "bench", 5),
        ("dog", "on", "bench", 5),
        ("dog", "sleeps on", "bench", 1),
        ("dog", "on", "table", ABSENT),
    ],
)
def test_relations(mention: str, words: str, other: str, expected: Any) -> None:
    probe = PresenceProbe(TEXT, "relation", Mention(mention), words, Mention(other))
    assert rating(probe) == expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Some men wait.", "group", 4),
        ("A man waits.", "group", ABSENT),
        ("A box.", "top", 4),  # everything has one
        ("A box at the bottom.", "top", ABSENT),
    ],
)
def test_light_nouns(text: str, name: str, expected: Any) -> None:
    assert rating(PresenceProbe(text, "entity", Mention(name))) == expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("There is a red.zebra.", "zebra", ABSENT),
        ("A zebra.", "red.zebra", ABSENT),
        ("See www.circle.zebra.com.", "circle", ABSENT),
        ("A dog-cat-zebra-circle.", "zebra", ABSENT),  # more words than any compound has
        ("A zebra.", "dog-zebra", ABSENT),  # all words of a name, not any
        ("A snow-covered hill.", "snow", 4),
        ("A man in a T-shirt.", "shirt", 4),
        ("An ice cream.", "ice-cream", 4),
        # a word that precision does not ask about
        ("Oh no, zebra circle dog never.", "never", ABSENT),
    ],
)
def test_one_token_is_one_word(text: str, name: str, expected: Any) -> None:
    assert rating(PresenceProbe(text, "entity", Mention(name))) == expected


def test_a_name_in_two_words_is_found_in_one() -> None:
    probe = PresenceProbe("A man on a snowboard.", "entity", Mention("board", details=("snow",)))
    assert rating(probe) == 4
    assert rating(replace(probe, mention=Mention("board", details=("surf",)))) == ABSENT


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        ("rides on", "A man rides a horse.", 4),
        ("rides behind", "A man rides near a horse.", 1),
        ("close to", "A man is near a horse.", 4),
        ("close to", "A man is behind a horse.", 1),
    ],
)
def test_prepositions_of_a_relation(words: str, text: str, expected: Any) -> None:
    assert rating(PresenceProbe(text, "relation", Mention("man"), words, Mention("horse"))) == (
        expected
    )


def test_near_is_said_both_ways() -> None:
    probe = PresenceProbe(
        "A cat is near a dog.", "relation", Mention("dog"), "near", Mention("cat")
    )
    assert rating(probe) == 5


def test_any_of_several_satisfies_unless_the_question_tells_which_is_meant() -> None:
    text = "A small red circle. A large blue circle."
    assert rating(PresenceProbe(text, "attribute", Mention("circle"), "blue")) == 5
    told = Mention("circle", details=("small", "blue", "red"))
    assert rating(PresenceProbe(text, "attribute", told, "blue")) == 1
    assert rating(PresenceProbe(text, "attribute", Mention("circle", ("small",)), "blue")) == 1


def test_a_graph_brought_along_spares_the_parser() -> None:
    (graph,) = describe(["A red circle."])
    assert rating(PresenceProbe("not parsed: a dog", "entity", Mention("circle"), graph=graph)) == 5


def test_the_texts_of_a_call_are_parsed_together_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def counted(texts: list[str], *settings: Any) -> Any:
        parsed.append(list(texts))
        return describe(texts, *settings)

    monkeypatch.setattr("spanreward.rewards.judges.match.match_judge.describe", counted)
    judge = MatchJudge()
    questions = [
        Question([], probe=PresenceProbe(text, "entity", Mention("cat")))
        for text in ("A cat.", "A dog.") * 3
    ]
    first = judge.rate(questions)
    assert [answer.mean for answer in first] == [5, ABSENT] * 3
    assert parsed == [["A cat.", "A dog."]]
    assert pickle.loads(pickle.dumps(judge)).rate(questions) == first


def test_without_a_probe_there_is_no_answer() -> None:
    judge = MatchJudge()
    question = Question([{"role": "user", "content": 'Is "cat" mentioned? Respond with 5.'}])
    (rated,) = judge.rate([question])
    (written,) = judge.write([question], max_tokens=20)
    for answer in (rated, written):
        assert isinstance(answer, Failure)
        assert answer.status is Status.UNPARSED


@pytest.mark.parametrize(
    "forms",
    ["circle circles", "ride rides riding", "sit sits sitting sat", "hold holding held", "box boxes", "man men",
     "party parties", "two 2", "paint painted painting", "glass glasses", "horse horses", "bus buses", "gray grey"],
)  # fmt: skip
def test_forms_of_one_word_meet(forms: str) -> None:
    assert len({lemma(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "pair", ["red read", "left leaf", "bed be", "ring r", "this the", "string star"]
)
def test_different_words_stay_apart(pair: str) -> None:
    first, second = pair.split()
    assert lemma(first) != lemma(second)


def test_lemmas_leave_out_articles() -> None:
    assert lemmas("sits in the corners") == {"sit", "in", "corner"}
    assert lemmas("of") == {"of"}
