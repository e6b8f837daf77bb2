"""MatchJudge: presence questions answered from the words alone."""

import pickle
from typing import Any
from unittest.mock import Mock

import pytest

from spanreward import MatchJudge, Question, Status
from spanreward.rewards.judges.probe import Link, Mention, PresenceProbe
from spanreward.rewards.language.lemmas import lemma_of_word, lemmas_of_phrase
from spanreward.rewards.language.parse import scene_graphs
from tests.support.fakes import asked

TEXT = (
    "A small red circle is above a blue square. Two dogs sit on the bench. The man's hat is black."
)


ABSENT = 1.05  # 1 is for what no other wording excuses


def rating(
    text: str, kind: Any, mention: Any, words: str = "", other: str = "", **more: Any
) -> Any:
    """The rating, equal to a number or to its text."""
    said = [Mention(one) if isinstance(one, str) else one for one in (mention, other)]
    asked = said[:1] if kind == "entity" else [said[0], words, *(said[1:] if other else [])]
    probe = PresenceProbe(text, kind, *asked, **more)
    (answer,) = MatchJudge().rate([Question([], probe=probe)])
    assert sum(answer.probabilities.values()) == pytest.approx(1.0)
    return pytest.approx(answer.mean)


def above(place: str, **link: Any) -> Mention:
    """The circle above the square, by the name of one of them."""
    other = "square" if place == "circle" else "circle"
    return Mention(place, (), (Link("above", Mention(other), **link),))


BOARD = "A man on a snowboard."


@pytest.mark.parametrize(
    ("text", "mention", "expected"),
    [
        (TEXT, "circle", 5),
        (TEXT, "Circles", 5),
        (TEXT, Mention("circle", ("red",)), 5),
        (TEXT, Mention("circle", ("red", "small")), 5),
        (TEXT, Mention("circle", ("blue",)), 2),
        (TEXT, "triangle", ABSENT),
        (TEXT, Mention("triangle", ("red",)), ABSENT),
        (TEXT, above("circle"), 5),
        (TEXT, above("square", reverse=True), 5),
        (TEXT, above("square"), 2),
        ("Some men wait.", "group", 4),
        ("A man waits.", "group", ABSENT),
        ("A box.", "top", 4),  # everything has one
        ("A box at the bottom.", "top", ABSENT),
        ("There is a red.zebra.", "zebra", ABSENT),
        ("A zebra.", "red.zebra", ABSENT),
        ("See www.circle.zebra.com.", "circle", ABSENT),
        ("A dog-cat-zebra-circle.", "zebra", ABSENT),  # more words than any compound has
        ("A zebra.", "dog-zebra", ABSENT),  # all words of a name, not any
        ("A snow-covered hill.", "snow", 4),
        ("A man in a T-shirt.", "shirt", 4),
        ("An ice cream.", "ice-cream", 4),
        ("Oh no, zebra circle dog never.", "never", ABSENT),  # precision does not ask about it
        (BOARD, Mention("board", details=("snow",)), 4),
        (BOARD, Mention("board", details=("surf",)), ABSENT),
    ],
)
def test_things(text: str, mention: Any, expected: float) -> None:
    assert rating(text, "entity", mention) == expected


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        (TEXT, "circle/red", 5),
        (TEXT, "circle/RED", 5),
        (TEXT, "circle/blue", 1),
        (TEXT, "dog/2", 5),
        (TEXT, "dogs/two", 5),
        (TEXT, "dogs/three", 1),
        (TEXT, "circle/left", 1),
        (TEXT, "circle/shiny", ABSENT),
        (TEXT, "cat/red", ABSENT),
        (TEXT, "circle/above/square", 5),
        (TEXT, "circle/is above/square", 4),
        (TEXT, "square/above/circle", 1),
        (TEXT, "circle/below/square", 1),
        (TEXT, "dog/sits on/bench", 5),
        (TEXT, "dog/on/bench", 5),
        (TEXT, "dog/on/table", ABSENT),
        (TEXT, "dog/sleeps on/bench", 1),
        ("A man rides a horse.", "man/rides on/horse", 4),
        ("A man rides near a horse.", "man/rides behind/horse", 1),
        ("A man is near a horse.", "man/close to/horse", 4),
        ("A man is behind a horse.", "man/close to/horse", 1),
        ("A horse is near a man.", "man/near/horse", 5),  # said both ways
    ],
)
def test_attributes_and_relations(text: str, question: str, expected: float) -> None:
    name, words, *other = question.split("/")
    assert rating(text, "relation" if other else "attribute", name, words, *other) == expected


def test_any_of_several_satisfies_unless_the_question_tells_which_is_meant() -> None:
    text = "A small red circle. A large blue circle."
    assert rating(text, "attribute", "circle", "blue") == 5
    assert rating(text, "attribute", Mention("circle", ("small",)), "blue") == 1
    told = Mention("circle", details=("small", "blue", "red"))
    assert rating(text, "attribute", told, "blue") == 1


def test_a_graph_brought_along_spares_the_parser() -> None:
    (graph,) = scene_graphs(["A red circle."])
    assert rating("not parsed: a dog", "entity", "circle", graph=graph) == 5


def test_the_texts_of_a_call_are_parsed_together_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = Mock(wraps=scene_graphs)
    monkeypatch.setattr("spanreward.rewards.judges.match.match_judge.scene_graphs", parser)
    judge, texts = MatchJudge(), ["A cat.", "A dog."]
    probes = [PresenceProbe(text, "entity", Mention("cat")) for text in texts * 3]
    questions = [Question([], probe=probe) for probe in probes]
    first = judge.rate(questions)
    assert [answer.mean for answer in first] == pytest.approx([5, ABSENT] * 3)
    assert [list(call.args[0]) for call in parser.call_args_list] == [texts]
    assert pickle.loads(pickle.dumps(judge)).rate(questions) == first


def test_without_a_probe_there_is_no_answer() -> None:
    (question,) = asked('Is "cat" mentioned? Respond with 5.')
    judge = MatchJudge()
    for answer in (*judge.rate([question]), *judge.write([question], max_tokens=20)):
        assert answer.status is Status.UNPARSED


@pytest.mark.parametrize(
    "forms",
    ["circle circles", "ride rides riding", "sit sits sitting sat", "hold holding held", "box boxes", "man men",
     "party parties", "two 2", "paint painted painting", "glass glasses", "horse horses", "bus buses", "gray grey"],
)  # fmt: skip
def test_forms_of_one_word_meet(forms: str) -> None:
    assert len({lemma_of_word(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "pair", ["red read", "left leaf", "bed be", "ring r", "this the", "string star"]
)
def test_different_words_stay_apart(pair: str) -> None:
    assert len({lemma_of_word(word) for word in pair.split()}) == 2


def test_lemmas_leave_out_articles() -> None:
    assert lemmas_of_phrase("sits in the corners") == {"sit", "in", "corner"}
    assert lemmas_of_phrase("of") == {"of"}
