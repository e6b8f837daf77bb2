"""The judge that sees the pictures of Scenes: what it sees, and how it errs."""

import random

import pytest
from PIL import Image

from experiments.scenes.language import describe
from experiments.scenes.picture_judge import PictureJudge
from experiments.scenes.world import Scene, Thing, draw, make_scenes
from spanreward.rewards import PoshReward, Sample
from spanreward.rewards.judges.judge import Failure, Question
from spanreward.rewards.judges.probe import Link, Mention, PictureProbe

COUNT = 40
SCENES = make_scenes("train", 1, COUNT)
TWO = next(scene for scene in SCENES if len(scene.objects) == 2)


def asked(scene: Scene, *probes: PictureProbe, errors: float = 0.0) -> list[bool]:
    """Returns whether the judge says yes to each."""
    image = draw(scene)
    questions = []
    for probe in probes:
        questions.append(Question([{"role": "user", "content": repr(probe)}], (image,), probe))
    answers = []
    for rating in PictureJudge(errors, count=COUNT).rate(questions):
        assert not isinstance(rating, Failure)
        answers.append(rating.mean > 3)
    return answers


def other_colour(thing: Thing) -> str:
    return "red" if thing.color != "red" else "blue"


def test_it_sees_things_with_all_their_words_and_where_they_are() -> None:
    thing = TWO.objects[0]
    wrong = other_colour(thing)
    probes = {
        PictureProbe("entity", Mention(thing.shape)): True,
        PictureProbe("entity", Mention(thing.shape, (thing.color,))): True,
        PictureProbe("entity", Mention("giraffe")): False,
        PictureProbe("attribute", Mention(thing.shape, (thing.color,)), thing.color): True,
        PictureProbe("attribute", Mention(thing.shape, (thing.color,)), wrong): False,
        PictureProbe("denied", Mention(thing.shape)): True,
        PictureProbe("relation", Mention(thing.shape), "on", Mention("giraffe")): False,
    }
    assert asked(TWO, *probes) == list(probes.values())


def test_a_thing_in_another_colour_is_not_the_thing() -> None:
    scene = next(scene for scene in SCENES if len(scene.objects) == 1)
    thing = scene.objects[0]
    probe = PictureProbe("entity", Mention(thing.shape, (other_colour(thing),)))
    assert asked(scene, probe) == [False]


def test_true_texts_have_full_precision_and_false_words_are_found() -> None:
    samples = []
    for scene in SCENES:
        text = describe(scene, random.Random(scene.seed), keep_attribute=0.9)
        reference = describe(scene, random.Random(0), keep_object=0.4)
        samples.append(Sample("", text, images=(draw(scene),), references=(reference,)))
    verdicts = PoshReward(PictureJudge(count=COUNT), evidence="picture").assess(samples)
    assert [verdict.parts["precision"] for verdict in verdicts] == [1.0] * COUNT
    thing = TWO.objects[0]
    false = f"There is a {other_colour(thing)} {thing.shape}."
    row = Sample("", false, images=(draw(TWO),), references=("There is a star.",))
    (verdict,) = PoshReward(PictureJudge(count=COUNT), evidence="both").assess([row])
    wrong = {false[span.start : span.end] for span in verdict.spans if span.score < 0.5}
    assert other_colour(thing) in wrong


@pytest.mark.parametrize("errors", [0.1, 0.3])
def test_errors_are_as_frequent_as_it_is_told_to_and_fixed(errors: float) -> None:
    probes = [PictureProbe("entity", Mention("star", (f"word{number}",))) for number in range(2000)]
    wrong = asked(TWO, *probes, errors=errors)  # no picture shows any of them
    assert abs(sum(wrong) / len(wrong) - errors) < 4 * (errors * (1 - errors) / len(wrong)) ** 0.5
    assert asked(TWO, *reversed(probes), errors=errors) == wrong[::-1]
    ties = (Link("by", Mention("edge")),)
    mentions = [Mention("star", probe.mention.attributes, ties=ties) for probe in probes]
    in_context = [PictureProbe("entity", mention) for mention in mentions]
    assert asked(TWO, *in_context, errors=errors) == wrong
    assert asked(SCENES[1], *probes, errors=errors) != wrong


def test_a_picture_of_another_world_has_no_answer() -> None:
    picture, probe = Image.new("RGB", (64, 64), "red"), PictureProbe("entity", Mention("star"))
    question = Question([{"role": "user", "content": "?"}], (picture,), probe)
    (failure,) = PictureJudge(count=COUNT).rate([question])
    assert isinstance(failure, Failure)
    assert "no picture of 40 scenes of level 1" in failure.message
