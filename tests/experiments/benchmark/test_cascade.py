"""The measurements of cascades: what a stricter `sure` costs, and a run with its figures."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmark import cascade
from experiments.scenes.cascade_judges import GullibleStudent, NoisyReferee
from experiments.scenes.parts import TINY
from spanreward.rewards.judges import Question, Rating
from spanreward.rewards.judges.probe import Mention, PresenceProbe
from spanreward.training.policy import load_policy


def asked(text: str, thing: str, source: str = "") -> Question:
    return Question([], probe=PresenceProbe(text, "entity", Mention(thing), source=source))


def means(ratings: Any) -> list[float]:
    assert all(isinstance(rating, Rating) for rating in ratings)
    return [rating.mean for rating in ratings]


def test_a_gullible_student_believes_what_the_phrase_stands_beside() -> None:
    questions = [asked("A red circle.", "dog"), asked("A red circle.", "dog", "A star and a dog.")]
    questions.append(asked("A star.", "dog"))
    honest, *believed = means(GullibleStudent("a star").rate(questions))
    assert honest < 2
    assert believed == [5, 5]


def test_the_noise_is_the_share_of_wrong_answers_and_the_same_again() -> None:
    questions = [asked(f"A red circle. Picture {number}.", "circle") for number in range(400)]
    answers = means(NoisyReferee(0.2).rate(questions))
    assert 80 - 4 * 8 < answers.count(1) < 80 + 4 * 8  # four standard deviations
    assert answers == means(NoisyReferee(0.2).rate(questions))
    assert means(NoisyReferee(0).rate(questions)) == [5] * 400


def test_a_stricter_cascade_asks_more_and_comes_nearer() -> None:
    found = [one for one in cascade.closeness(12) if one["student"] == "calibrated"]
    shares = [one["teacher_share"] for one in found]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert found[-1]["correlation"] > found[0]["correlation"]


@pytest.mark.slow
def test_a_run_has_its_figures(tmp_path: Path) -> None:
    model, processor = load_policy(TINY)
    for part in (model, processor):
        part.save_pretrained(tmp_path)
    parser = argparse.ArgumentParser()
    cascade.add_arguments(parser)
    given = f"--start {tmp_path} --seeds 0 --students honest --steps 2 --batch 16".split()
    arguments = parser.parse_args([*given, "--audit", "0.5", "--pictures", "0"])
    (one,) = cascade.measure(arguments)["runs"]
    assert (one["student"], one["seed"], one["falls"], len(one["steps"])) == ("honest", 0, None, 2)
    assert 0 <= one["best"] <= 1
