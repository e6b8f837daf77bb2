"""The small judge that sees, judge and policy in a loop, and cutting a text at a wrong span."""

import inspect
import re
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import pytest
import torch

from experiments.picture_map.judge_errors import errors_of, markdown_lines
from experiments.picture_map.revising import compare_revising
from experiments.scenes.parts import TINY
from experiments.scenes.picture_judge import PictureJudge
from experiments.scenes.picture_lessons import lessons
from experiments.scenes.policy import tiny
from experiments.scenes.revise import revise
from experiments.scenes.seeing_judge import SeeingJudge, short_question
from experiments.scenes.world import draw, make_scenes
from spanreward.rewards import PoshReward, Sample
from spanreward.rewards.judges.judge import Failure, Question, Rating
from spanreward.rewards.judges.probe import Link, Mention, PictureProbe
from spanreward.training.data.load import load_data
from spanreward.training.recipe import FilePart, load_recipe
from spanreward.training.sft import trained_tokens
from tests.support.command import spanreward
from tests.support.paths import ROOT

RECIPES = ROOT / "experiments" / "scenes"
STAR = Mention("star", ("red",))
EDGE = Mention("edge", ("left",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained judge."""
    folder = tmp_path_factory.mktemp("judge")
    model, processor = tiny(0)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def test_questions_of_a_few_words() -> None:
    in_corner = Mention("star", links=(Link("in", Mention("corner", ("top",))),))
    with_star = Mention("edge", links=(Link("sits at", STAR, reverse=True),))
    assert short_question(PictureProbe("entity", STAR)) == "red star?"
    assert short_question(PictureProbe("attribute", STAR, "red")) == "red star: red?"
    sits = PictureProbe("relation", STAR, "sits at", EDGE)
    assert short_question(sits) == "red star sits at, left edge?"
    assert short_question(PictureProbe("denied", in_corner)) == "star (in top corner)?"
    assert short_question(PictureProbe("entity", with_star)) == "edge (red star sits at)?"


def test_lessons_have_as_many_yes_as_no_of_each_picture() -> None:
    rows = list(lessons(count=12, each=8))
    by_picture: dict[bytes, Counter[str]] = {}
    for row in rows:
        lines = f"{row['question']}{row['completion']}".split("\n")
        assert 1 <= len(lines) <= 8
        assert all(re.fullmatch(r"\w[\w :,()]*\?[15]", line) for line in lines), lines
        answers = by_picture.setdefault(row["image"].tobytes(), Counter())
        answers.update(line[-1] for line in lines)
    assert len(by_picture) == 12
    for answers in by_picture.values():
        assert answers["5"] == answers["1"] > 0
    drawn = {draw(scene).tobytes() for scene in make_scenes("validation", 1, 12)}
    assert by_picture.keys() == drawn


def test_it_learns_the_very_tokens_that_it_is_asked(folder: Path) -> None:
    recipe = load_recipe(RECIPES / "seeing-judge.yaml", ["data.options.count=2"])
    assert isinstance(recipe.data, FilePart)
    row = load_data(recipe.data, completions=True)[0]
    judge = SeeingJudge(str(folder))
    question = Question([{"role": "user", "content": row["question"]}], (row["image"],))
    with (
        patch.object(judge.pictures, "_logprobs", side_effect=StopIteration) as asked,
        pytest.raises(StopIteration),
    ):
        judge.pictures.rate([question])
    (prompt,) = asked.call_args.args[0]
    taught = trained_tokens(tiny(0)[1], row)
    assert list(prompt.ids) == taught.prompt
    first, second = tiny(0)[1].decode(taught.answer).split("\n")[:2]
    assert first in ("1", "5")
    assert re.fullmatch(r".+\?[15]", second)


def test_only_pictures_are_shown_to_the_model(folder: Path) -> None:
    (scene,) = make_scenes("train", 1, 1)
    text = "There is a red star."
    row = Sample("", text, images=(draw(scene),), references=(text,))
    asked: dict[str, int] = {}
    for evidence in ("reference", "picture"):
        judge = SeeingJudge(str(folder))
        PoshReward(judge, evidence=evidence).assess([row])  # type: ignore[arg-type]
        asked[evidence] = judge.pictures.usage.questions
    assert asked["reference"] == 0
    assert asked["picture"] == 1  # an untrained model rates nothing, and that ends the row


def test_errors_are_counted_by_what_is_asked() -> None:
    perfect = errors_of(PictureJudge(), pictures=20)
    assert {row["wrong"] for row in perfect} == {0.0}
    assert {row["kind"] for row in perfect} == {"all", "entity", "attribute", "relation"}
    noisy = errors_of(PictureJudge(0.3), pictures=100)
    wrong = [row["wrong"] for row in noisy if row["kind"] == "all"]  # what is there, and what not
    assert wrong == [pytest.approx(0.3, abs=0.04)] * 2
    assert markdown_lines(perfect)[2].endswith("| 0.0% | 0.0% |")


@pytest.mark.runs
def test_judge_and_policy_both_look_at_the_picture(tmp_path: Path) -> None:
    judge, policy = tmp_path / "judge", tmp_path / "policy"
    # until it answers with digits
    lesson = "trainer.max_steps=40 trainer.per_device_train_batch_size=16 data.options.count=32"
    words = f"train {RECIPES}/seeing-judge.yaml --set output={judge} policy.model={TINY} {lesson}"
    taught = spanreward(*words.split(), "trainer.warmup_steps=0")
    assert taught.code == 0, taught.err
    asked = f'{{name: "{RECIPES}/seeing_judge.py:SeeingJudge", options: {{model: {judge}}}}}'
    # two pictures, so that there are decoys
    small = "trainer.max_steps=2 trainer.per_device_train_batch_size=8 data.options.count=8"
    small += " trainer.steps_per_generation=1 trainer.num_generations=4"
    small += " trainer.max_completion_length=16 trainer.soft_overlong_cache=4"
    recipe = ROOT / "recipes" / "quickstart" / "people-dapo.yaml"
    words = f"train {recipe} --set output={policy} policy.model={TINY} {small}"
    trained = spanreward(*words.split(), f"rewards.0.judge={asked}")
    assert trained.code == 0, trained.err
    assert '"posh/yes_rate"' in (policy / "metrics.jsonl").read_text()


class Scripted:
    """Stands for a policy: it writes these texts, one after another."""

    device = "cpu"

    def __init__(self, processor: object, *texts: str) -> None:
        self.processor = processor
        self.texts = list(texts)
        self.prompts: list[str] = []

    def generate(self, input_ids: torch.Tensor, **named: object) -> torch.Tensor:
        self.prompts.append(self.processor.decode(input_ids[0], skip_special_tokens=True))  # type: ignore[attr-defined]
        new = self.processor(text=self.texts.pop(0), return_tensors="pt")["input_ids"]  # type: ignore[operator]
        return torch.cat([input_ids, new], dim=1)


def test_a_text_is_cut_at_its_first_wrong_words() -> None:
    scene = next(scene for scene in make_scenes("train", 1, 40) if len(scene.objects) == 1)
    thing = scene.objects[0]
    wrong = "blue" if thing.color != "blue" else "red"
    processor = tiny(0)[1]
    texts = (f"There is a {wrong} {thing.shape}.", f" {thing.color} {thing.shape}.", "unused")
    policy = Scripted(processor, *texts)
    reward = PoshReward(PictureJudge(count=40), evidence="picture")
    text = revise(policy, processor, draw(scene), "Describe the picture.", reward)
    assert text == f"There is a {thing.color} {thing.shape}."
    assert policy.texts == ["unused"]  # nothing is wrong any more
    assert policy.prompts[0].endswith("Describe the picture.")
    assert policy.prompts[1].endswith("Describe the picture.There is a")


def test_the_best_answer_is_kept_when_the_judge_fails_or_rounds_end() -> None:
    class Failing(PictureJudge):
        def _look(self, *asked: object) -> Rating | Failure:
            return Failure(status=0, message="down")  # type: ignore[arg-type]

    (scene,) = make_scenes("train", 1, 1)
    processor = tiny(0)[1]
    texts = ("There is a giraffe.", " zebra.", " dog.")
    reward = PoshReward(PictureJudge(count=1), evidence="picture")
    assert revise(Scripted(processor, *texts), processor, draw(scene), "?", reward, rounds=3)


def test_docs_have_it_word_for_word() -> None:
    source = inspect.getsource(revise).strip()
    assert source in (ROOT / "docs" / "extending.md").read_text()


def test_ways_to_spend_questions_are_compared(folder: Path) -> None:
    figures = compare_revising(str(folder), errors=0.0, pictures=2, seed=0)
    assert list(figures) == ["one sample", *(f"best of {n}" for n in range(2, 9)), "revised"]
    assert figures["best of 8"]["questions"] >= figures["one sample"]["questions"] >= 0
