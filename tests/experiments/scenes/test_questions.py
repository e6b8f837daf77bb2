"""Questions about scenes: their answers are right and balanced, and a recipe's data asks them."""

import random
from collections import Counter

from experiments.scenes.parts import scenes_of, scenes_part
from experiments.scenes.questions import COUNTS, PEOPLE, UNSURE, SceneQuestion, ask, place_name
from experiments.scenes.world import Scene, Thing, make_scenes
from spanreward.rewards.language.answer_text import normalise_answer
from spanreward.rewards.lave.vqa import vqa_accuracy
from spanreward.training.data.load import load_data

ASK = scenes_part(ask="questions", count=40)
BOTH = scenes_part(ask="both", count=8)


def solve(text: str, scene: Scene) -> str:
    """The answer, worked out from the text alone."""
    words = text.rstrip("?").split()
    if words[0] == "How":
        shape = words[2].removesuffix("s")
        return str(sum(shape in ("shape", thing.shape) for thing in scene.objects))
    if words[0] == "Is":
        there = any([thing.color, thing.shape] == words[-2:] for thing in scene.objects)
        return "yes" if there else "no"
    (thing,) = [thing for thing in scene.objects if thing.shape in words]
    return thing.color if words[0] == "What" else place_name(thing.row, thing.column)


def test_the_most_frequent_answer_is_the_right_one() -> None:
    kinds = set()
    for row, scene in zip(load_data(ASK), scenes_of(ASK), strict=True):
        right = solve(row["question"], scene)
        counts = Counter(row["answers"])
        assert len(row["answers"]) == PEOPLE
        assert all(count < counts[right] for answer, count in counts.items() if answer != right)
        assert row["prompt"] == [{"role": "user", "content": row["question"]}]
        kinds.add(row["question"].split()[0])
    assert kinds == {"How", "Is", "Where", "What"}


def asked(count: int, unsure: float = 0.0) -> list[tuple[str, SceneQuestion]]:
    """Right answers, worked out from the text, and their questions."""
    generator = random.Random(0)
    questions = [(scene, ask(scene, generator, unsure)) for scene in make_scenes("train", 1, count)]
    return [(solve(question.text, scene), question) for scene, question in questions]


def test_people_vary_and_slip() -> None:
    questions = asked(500)
    usual = sum(question.answers.count(right) for right, question in questions)
    assert 0.7 < usual / (PEOPLE * len(questions)) < 0.85
    assert all(question.right == right for right, question in questions)
    assert min(vqa_accuracy(right, question.answers) for right, question in questions) >= 0.9


def test_unsure_people_answer_less() -> None:
    unsure = sum(question.answers.count(UNSURE) for _, question in asked(500, 0.4)) / (PEOPLE * 500)
    assert 0.37 < unsure < 0.43
    assert not any(UNSURE in question.answers for _, question in asked(500))


def test_yes_and_no_are_right_equally_often() -> None:
    counts = Counter(right for right, question in asked(2000) if question.kind == "presence")
    assert set(counts) == {"yes", "no"}
    # three standard deviations
    assert abs(counts["yes"] - counts["no"]) < 3 * counts.total() ** 0.5


def test_the_same_questions_each_time_and_other_ones_held_out() -> None:
    assert load_data(ASK)["answers"] == load_data(ASK)["answers"]
    held_out = scenes_of(scenes_part(**ASK.options | {"split": "test"}))
    assert not {scene.objects for scene in held_out} & {scene.objects for scene in scenes_of(ASK)}


def test_a_full_picture_of_one_shape_can_still_be_asked_about() -> None:
    stars = [Thing("star", "red", "small", row, "left") for row in ("top", "bottom")]
    scene = Scene(tuple(stars), "x")
    texts = {ask(scene, random.Random(number)).text.split()[0] for number in range(50)}
    # which of the two stars would be meant by color or place is not clear
    assert texts == {"How", "Is"}


def test_number_words_are_the_numbers() -> None:
    assert all(normalise_answer(word) == str(number) for number, word in COUNTS.items())


def test_captions_and_questions_in_turns() -> None:
    rows = load_data(BOTH)
    assert len(rows) == len(scenes_of(BOTH)) == 8
    for number, row in enumerate(rows):
        described = number % 2 == 0
        assert (row["reference"] is not None) is described
        assert (row["question"] is None) is (row["answers"] is None) is described
        asked_ = "Describe the picture." if described else row["question"]
        assert row["prompt"][0]["content"] == asked_


def test_a_question_is_one_sft_row() -> None:
    rows = load_data(BOTH, completions=True)
    assert len(rows) == 4 * 3 + 4
    for row in rows:
        (turn,) = row["completion"]
        assert turn["content"] in (row["reference"] or row["answers"][:1])
