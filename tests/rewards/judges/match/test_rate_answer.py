"""The match judge on answers: every rule of its table, by hand."""

from typing import Any

import pytest

from spanreward.rewards.judges import Failure, MatchJudge, Question
from spanreward.rewards.judges.match.rate_answer import rate_answer
from spanreward.rewards.judges.probe import AnswerProbe

COLOR, COUNT, PLACE, IS = "What color is it?", "How many are there?", "Where is it?", "Is it?"


def answers(question: str, known: str, rating: int, *candidates: str) -> list[tuple[Any, ...]]:
    """Candidates with this rating; the reference answers stand between slashes."""
    references = tuple(known.split("/")) if known else ()
    return [(question, candidate, references, rating) for candidate in candidates]


WHO, WHAT = "Who?", "What?"
RED, DOG = ("red/red", "dog")
RATED = [
    *answers(COLOR, RED, 3, "Red."),
    # a bare list of which half is known; one of two
    *answers(COLOR, RED, 2, "dark red", "It is dark red.", "It is red and blue."),
    *answers(COLOR, RED, 1, "It is not red.", "blue"),
    *answers(COLOR, "red/blue/red", 3, "red and blue"),  # both are reference answers
    *answers(COLOR, "red/red/red/red/blue", 2, "blue"),  # one against four
    *answers(COLOR, "red/red/red/dark red", 1, "dark"),  # part of what few people say
    *answers(COLOR, "gold", 1, "dark violet gold"),
    *answers(COLOR, "green", 1, "red because blue because green"),  # what stands first is it
    *answers(COLOR, "red", 3,
        "It is red, not blue.", "It is not blue, but red.",
        "It is red because the light on the wall is red.",
    ),
    *answers(COUNT, "2/2", 3, "two"),
    *answers(COUNT, "2/2", 2, "2 or 3"),
    *answers(COUNT, "2/2", 1, "a few"),
    *answers(COUNT, "two", 3, "There are 2 of them"),
    *answers(COUNT, "2", 3, "2, not 3", "two dogs"),
    *answers(COUNT, "2", 1, "12", "several"),
    *answers(PLACE, "top left/upper left", 3, "top left"),
    *answers(PLACE, "top left", 3, "in the top left corner"),
    *answers(PLACE, "top left", 2, "top right", "left", "upper left"),  # half of the words
    *answers(WHO, "Wilhelm Conrad Rontgen", 3, "Wilhelm Röntgen"),
    *answers(WHO, "Wilhelm Conrad Rontgen", 1, "Wilhelm"),  # a third of it
    *answers(WHO, "Wilhelm Röntgen", 1, "The prize went to Wilhelm Röntgen, a German physicist."),
    # prose: it says two words of the question
    *answers("Who won the first Nobel prize?", "Wilhelm Röntgen", 3,
        "The first Nobel prize was won by Wilhelm Röntgen, who was a German physicist.",
    ),
    *answers("Who sang don't worry?", "Bobby", 3, "Don't worry was sung by Bobby."),
    *answers("Where?", "Nashville, Tennessee", 3, "It is in Nashville, Tennessee."),
    *answers("Where?", "far from the house", 3, "It is far from the house."),
    *answers(WHAT, DOG, 3,
        "It might be a dog.",  # a hedge leaves the claim standing
        "It is not a cat, it is a dog.", "I am not sure, but it is a dog.",
        "If you mean the animal on the left, it is a dog.",  # the "if" is far away
        "A dog, without doubt.", "probably a dog",
    ),
    *answers(WHAT, DOG, 2, "a dog or a cat", "a dog and a cat"),  # one of two
    *answers(WHAT, DOG, 1,
        "dog cat horse", "The animal is a cat, or a dog, or a cow, or a horse.",
        "The animal is a dog in a house or a garden.",  # a short answer says only the answer
        "I doubt that it is a dog.", "It is unlikely to be a dog.", "A dog is wrong.",
        "A dog is not right.", "Anything but a dog.", "Is it a dog?", "It is far from a dog.",
        "It is something other than a dog.", "It fails to be a dog.", "It is hardly a dog.",
        "It is a mistake to say a dog.", "It is empty unless it is a dog.",
        "A dog can be ruled out.", "A dog, no way.", "It is a dog, or not.",
        "I am not sure that it is a dog.", "It is a dog, a cat, a cow, a horse.",
        "dog and cat and cow", "It is a dog/cat/cow.", "It is a dog. It is a cat. It is a cow.",
        "A dog with a cat with a cow with a horse.", "It is dog cat cow horse.", "cat", "the",
    ),
    *answers(WHAT, "dog/hound", 3, "It is a dog or a hound."),  # both are reference answers
    *answers(WHAT, "", 1, "dog"),
    *answers("Which animal?", DOG, 2, "The animal is a dog or a cat."),
    # "garden"
    *answers("Which animal is kept?", DOG, 2,
        "The animal that is kept is a dog in a house or a garden.",
    ),
    *answers("What animal is it?", DOG, 1,
        "What animal is it is a dog on a cat with a cow by a horse.",
    ),
    *answers("What animals?", DOG, 3, "dogs"),
    *answers(IS, "yes", 3, "yes", "Yes, there is no plate on it."),
    *answers(IS, "yes", 1,
        "It is far from yes.", "If it is yes, fine.", "I doubt that yes", "yes is wrong",
        "yes, or red, or blue", "yes?", "yes and no", "it",
    ),
    *answers(IS, "no", 3, "That is false."),
    *answers(IS, "no", 1, "not sure", "I don't know"),
    *answers(IS, "yes/yes", 1, "No, it is not."),
    *answers(IS, "yes/no", 2, "yes"),
    *answers(IS, "yes/yes/no", 3, "yes"),
    *answers(IS, "yes/no/no", 1, "yes"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "candidate", "references", "rating"), RATED)
def test_ratings(question: str, candidate: str, references: Any, rating: int) -> None:
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
