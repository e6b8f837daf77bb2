"""The match judge on answers: every rule of its table, by hand."""

from typing import Any

import pytest

from spanreward.rewards.judges import Failure, MatchJudge, Question
from spanreward.rewards.judges.match.rate_answer import rate_answer
from spanreward.rewards.judges.probe import AnswerProbe

COLOR, COUNT, PLACE = "What color is it?", "How many are there?", "Where is it?"


@pytest.mark.parametrize(
    ("question", "candidate", "references", "rating"),
    [
        (COLOR, "Red.", ("red", "red"), 3),
        (COLOR, "dark red", ("red", "red"), 2),  # a bare list of which half is known
        (COLOR, "It is dark red.", ("red", "red"), 2),
        (COLOR, "It is not red.", ("red", "red"), 1),
        (COLOR, "blue", ("red", "red"), 1),
        (COLOR, "It is red and blue.", ("red", "red"), 2),  # one of two
        (COLOR, "red and blue", ("red", "blue", "red"), 3),  # both are reference answers
        (COLOR, "blue", ("red", "red", "red", "red", "blue"), 2),  # one against four
        (COUNT, "two", ("2", "2"), 3),
        (COUNT, "There are 2 of them", ("two",), 3),
        (COUNT, "2 or 3", ("2", "2"), 2),
        (COUNT, "a few", ("2", "2"), 1),
        (COUNT, "12", ("2",), 1),
        (PLACE, "top left", ("top left", "upper left"), 3),
        (PLACE, "top right", ("top left",), 2),  # half of it
        (PLACE, "in the top left corner", ("top left",), 3),
        (PLACE, "left", ("top left",), 2),  # half of the reference's words
        (COLOR, "dark", ("red", "red", "red", "dark red"), 1),  # part of what few people say
        (PLACE, "upper left", ("top left",), 2),  # half of the words are shared
        ("Who?", "Wilhelm Röntgen", ("Wilhelm Conrad Rontgen",), 3),
        ("Who?", "Wilhelm", ("Wilhelm Conrad Rontgen",), 1),  # a third of it
        ("What?", "dog cat horse", ("dog",), 1),
        ("What?", "a dog or a cat", ("dog",), 2),  # one of two
        ("What?", "a dog and a cat", ("dog",), 2),
        ("Which animal?", "The animal is a dog or a cat.", ("dog",), 2),
        ("What?", "The animal is a cat, or a dog, or a cow, or a horse.", ("dog",), 1),
        ("What?", "It is a dog or a hound.", ("dog", "hound"), 3),  # both are reference answers
        # a short answer says only the answer
        ("What?", "The animal is a dog in a house or a garden.", ("dog",), 1),
        # "garden"
        (
            "Which animal is kept?",
            "The animal that is kept is a dog in a house or a garden.",
            ("dog",),
            2,
        ),
        ("What?", "I doubt that it is a dog.", ("dog",), 1),
        ("What?", "It is unlikely to be a dog.", ("dog",), 1),
        ("What?", "A dog is wrong.", ("dog",), 1),
        ("What?", "A dog is not right.", ("dog",), 1),
        ("What?", "Anything but a dog.", ("dog",), 1),
        ("What?", "Is it a dog?", ("dog",), 1),
        ("What?", "It might be a dog.", ("dog",), 3),  # a hedge leaves the claim standing
        ("What?", "It is not a cat, it is a dog.", ("dog",), 3),
        ("What?", "It is far from a dog.", ("dog",), 1),
        ("What?", "It is something other than a dog.", ("dog",), 1),
        ("What?", "It fails to be a dog.", ("dog",), 1),
        ("What?", "It is a mistake to say a dog.", ("dog",), 1),
        ("What?", "It is hardly a dog.", ("dog",), 1),
        ("What?", "It is empty unless it is a dog.", ("dog",), 1),
        ("What?", "A dog can be ruled out.", ("dog",), 1),
        ("What?", "A dog, no way.", ("dog",), 1),
        ("What?", "It is a dog, or not.", ("dog",), 1),
        ("What?", "I am not sure that it is a dog.", ("dog",), 1),
        ("What?", "I am not sure, but it is a dog.", ("dog",), 3),
        # the "if" is far away
        ("What?", "If you mean the animal on the left, it is a dog.", ("dog",), 3),
        ("Where?", "It is far from the house.", ("far from the house",), 3),
        ("Is it?", "It is far from yes.", ("yes",), 1),
        ("Is it?", "If it is yes, fine.", ("yes",), 1),
        ("Is it?", "I doubt that yes", ("yes",), 1),
        ("Is it?", "yes is wrong", ("yes",), 1),
        ("Is it?", "yes, or red, or blue", ("yes",), 1),
        ("Is it?", "yes?", ("yes",), 1),
        ("Is it?", "That is false.", ("no",), 3),
        ("What?", "It is a dog, a cat, a cow, a horse.", ("dog",), 1),  # one of four
        ("What?", "dog and cat and cow", ("dog",), 1),
        ("What?", "It is a dog/cat/cow.", ("dog",), 1),
        ("What?", "It is a dog. It is a cat. It is a cow.", ("dog",), 1),
        ("What?", "A dog with a cat with a cow with a horse.", ("dog",), 1),
        ("What?", "It is dog cat cow horse.", ("dog",), 1),
        (COLOR, "dark violet gold", ("gold",), 1),
        (COUNT, "several", ("2",), 1),
        ("What?", "A dog, without doubt.", ("dog",), 3),
        ("What?", "probably a dog", ("dog",), 3),
        (COLOR, "It is red, not blue.", ("red",), 3),
        (COLOR, "It is not blue, but red.", ("red",), 3),
        (COUNT, "2, not 3", ("2",), 3),
        (COUNT, "two dogs", ("2",), 3),
        ("Is it?", "Yes, there is no plate on it.", ("yes",), 3),
        ("Who?", "The prize went to Wilhelm Röntgen, a German physicist.", ("Wilhelm Röntgen",), 1),
        (
            "Who won the first Nobel prize?",
            "The first Nobel prize was won by Wilhelm Röntgen, who was a German physicist.",
            ("Wilhelm Röntgen",),
            3,  # prose: it says two words of the question
        ),
        ("Where?", "It is in Nashville, Tennessee.", ("Nashville, Tennessee",), 3),
        ("Who sang don't worry?", "Don't worry was sung by Bobby.", ("Bobby",), 3),
        ("What?", "cat", ("dog",), 1),
        (COLOR, "It is red because the light on the wall is red.", ("red",), 3),
        (COLOR, "red because blue because green", ("green",), 1),  # what stands first is the answer
        (
            "What animal is it?",
            "What animal is it is a dog on a cat with a cow by a horse.",
            ("dog",),
            1,
        ),
        ("What animals?", "dogs", ("dog",), 3),
        ("Is it?", "yes", ("yes",), 3),
        ("Is it?", "No, it is not.", ("yes", "yes"), 1),
        ("Is it?", "yes", ("yes", "no"), 2),
        ("Is it?", "yes", ("yes", "yes", "no"), 3),
        ("Is it?", "yes", ("yes", "no", "no"), 1),
        ("Is it?", "yes and no", ("yes",), 1),
        ("Is it?", "it", ("yes",), 1),
        ("Is it?", "not sure", ("no",), 1),
        ("Is it?", "I don't know", ("no",), 1),
        ("What?", "the", ("dog",), 1),
        ("What?", "dog", (), 1),
    ],
)
def test_ratings(question: Question, candidate: str, references: Any, rating: int) -> None:
    assert rate_answer(AnswerProbe(question, candidate, references))[0] == rating
    assert rate_answer(AnswerProbe(question, candidate, references[::-1]))[0] == rating


def test_both_ways_to_be_asked() -> None:
    judge = MatchJudge()
    question = Question([], probe=AnswerProbe(COLOR, "blue", ("red",)))
    rating = judge.rate([question], ("1", "2", "3"))[0]
    assert rating.probabilities == {"1": 1.0, "2": 0.0, "3": 0.0}
    (text,) = judge.write([question], 64)
    assert text.endswith("So rating=1")
    assert "'blue'" in text
    assert all(isinstance(answer, Failure) for answer in judge.write([Question([])], 64))
