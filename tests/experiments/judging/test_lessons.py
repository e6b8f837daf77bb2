"""What a judge of Scenes is taught: the metrics' own prompts, answered with the truth."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from experiments.judging import lessons as teaching
from experiments.judging.conversations import judge_rows, judged_scenes
from experiments.scenes.language import PROMPT, describe
from experiments.scenes.mistakes import with_mistakes
from experiments.scenes.noisy_judge import scene_of
from experiments.scenes.referee import judge_description, read
from experiments.scenes.referee_judge import says
from experiments.scenes.world import make_scenes
from spanreward.rewards import LaveReward, MatchJudge, PairwiseReward, PoshReward
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Question, Rating, rating_of
from spanreward.rewards.judges.probe import PairProbe
from spanreward.rewards.reward.reward import Reward

SCENES = make_scenes("test", level=1, count=6) + make_scenes("test", level=2, count=6)


class Spy(MatchJudge):
    """Keeps the prompts that it is put."""

    def __init__(self) -> None:
        super().__init__()
        self.prompts: set[str] = set()

    def rate(
        self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE
    ) -> list[Rating | Failure]:
        self.prompts |= {question.messages[0]["content"] for question in questions}
        return super().rate(questions, scale)


def prompts(lessons: Sequence[teaching.Lesson]) -> set[str]:
    return {lesson.question.messages[0]["content"] for lesson in lessons}


def asked_by(reward: Reward, judge: Spy, samples: Sequence[Sample]) -> set[str]:
    reward.judge_samples(list(samples))
    return judge.prompts


def test_posh_asks_these_prompts_whoever_judges() -> None:
    lessons = teaching.posh_lessons(SCENES, random.Random(3))
    generator = random.Random(3)
    samples = []
    for scene in SCENES:
        text = teaching.told(scene, generator)
        samples.append(Sample(PROMPT, text, references=(describe(scene, generator),)))
    judge = Spy()
    asked = asked_by(PoshReward(judge), judge, samples)
    # What is asked next depends on the answers before, on which match and the referee sometimes
    # disagree.
    of_things = [prompt for prompt in asked if "Does the TEXT speak of" in prompt]
    first = {prompt for prompt in of_things if " as in " not in prompt}
    assert len(first & prompts(lessons)) / len(first) > 0.95
    taught = {prompt.split("TEXT:")[0] for prompt in prompts(lessons)}
    assert taught == {prompt.split("TEXT:")[0] for prompt in asked}


def test_pairs_ask_exactly_these_prompts() -> None:
    judge, generator = Spy(), random.Random(5)
    contexts = [describe(scene, generator) for scene in SCENES]
    samples = []
    for scene, text in zip(SCENES, contexts, strict=True):
        samples += [Sample(PROMPT, teaching.told(scene, generator), context=text) for _ in range(2)]
    asked = asked_by(PairwiseReward(judge, evidence="context"), judge, samples)
    assert asked == prompts(teaching.pair_lessons(SCENES, random.Random(5)))


def test_lave_asks_exactly_these_prompts() -> None:
    judge, lessons = Spy(), teaching.lave_lessons(SCENES, random.Random(5))
    samples = []
    for lesson in lessons:
        probe = lesson.question.probe
        row: dict[str, Any] = {"question": probe.question, "answers": probe.references}
        samples.append(Sample(probe.question, probe.candidate, **row))
    assert asked_by(LaveReward(judge, rationale=False), judge, samples) == prompts(lessons)


def test_the_answers_are_the_referees() -> None:
    lessons = teaching.posh_lessons(SCENES, random.Random(0))
    assert {lesson.kind for lesson in lessons} == {"entity", "attribute", "relation"}
    for lesson in lessons:
        probe = lesson.question.probe
        assert lesson.right == ("5" if says(probe, read(probe.text)) else "1")
    assert {lesson.right for lesson in lessons} == {"1", "5"}


def test_of_two_texts_the_truer_one_is_likelier() -> None:
    for lesson in teaching.pair_lessons(SCENES, random.Random(0)):
        probe = lesson.question.probe
        assert isinstance(probe, PairProbe)
        scene = scene_of(probe.context)
        first, second = (judge_description(text, scene).f1 for text in (probe.first, probe.second))
        assert (lesson.target["A"] > lesson.target["B"]) == (first > second)
        assert sum(lesson.target.values()) == pytest.approx(1)


def test_preference_and_soft_ratings_by_hand() -> None:
    # half a deviation to either side
    assert teaching.preference(0.5, 0.5) == pytest.approx((0.3085, 0.3085, 0.3829), abs=1e-4)
    assert teaching.preference(0.9, 0.4)[0] == pytest.approx(1, abs=1e-5)
    expected = {"1": 100 / 111, "2": 10 / 111, "3": 1 / 111}
    assert teaching.soft(rating_of(1.0, ("1", "2", "3"))) == pytest.approx(expected)


def test_every_mistake_changes_the_scene_and_keeps_it_one() -> None:
    generator = random.Random(0)
    for scene in SCENES * 5:
        wrong = with_mistakes(scene, generator, 1)
        assert wrong.objects != scene.objects
        places = [(thing.row, thing.column) for thing in wrong.objects]
        assert len(set(places)) == len(places) > 0
        assert judge_description(describe(wrong, generator), scene).f1 < 1


def test_rows_hold_whole_prompts_about_one_text() -> None:
    rows = judge_rows(count=8, questions=6)
    assert rows == judge_rows(count=8, questions=6)
    assert rows != judge_rows(count=8, questions=6, seed=1)
    for row in rows:
        assert len(row["prompts"]) == len(row["answers"]) <= 6
        if len(row["prompts"]) > 1:
            (text,) = {prompt.split("TEXT:\n")[1].split("\n\n")[0] for prompt in row["prompts"]}
            assert text
    kinds = [row["prompts"][0].split()[0] for row in rows]
    # LAVE's and the pair's beginning
    assert {kind: kinds.count(kind) for kind in ("A", "Two")} == {"A": 4, "Two": 4}


def test_no_scene_of_the_lessons_is_held_out() -> None:
    train, test = ({one.objects for one in judged_scenes(split=name)} for name in ("train", "test"))
    assert not train & test
    assert {len(scene) for scene in train} == {1, 2, 3, 4, 5}


def test_labels_are_draws_from_the_soft_truth() -> None:
    answers = [answer for row in judge_rows(count=200) for answer in row["answers"]]
    ratings = [answer for answer in answers if answer in "12345"]
    assert 0.06 < (ratings.count("2") + ratings.count("4")) / len(ratings) < 0.14  # SOFTNESS
