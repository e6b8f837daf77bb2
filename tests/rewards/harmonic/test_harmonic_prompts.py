"""Prompts and criteria files: what is complete, and one sentence for what is not."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from spanreward import HarmonicReward, Sample
from spanreward.rewards.harmonic.prompts import (
    HARMONIC_PROMPTS_FILE,
    PUBLISHED_CRITERIA,
    Shown,
    ask_rating,
    chosen_criteria,
    load_harmonic_prompts,
    scale_of,
)
from tests.support.fakes import FakeJudge, certain

SAFETY = {
    "question": "Is the text fit for children?",
    "levels": {n: f"level {n} of it" for n in range(1, 6)},
}


def written(folder: Path, criteria: Any, name: str = "own.yaml") -> str:
    path = folder / name
    path.write_text(yaml.safe_dump(criteria))
    return str(path)


def test_our_criteria_are_the_paper_s_with_five_described_levels_and_an_overall_one() -> None:
    prompts = load_harmonic_prompts()
    assert (
        tuple(criterion.name for criterion in chosen_criteria(prompts, None)) == PUBLISHED_CRITERIA
    )
    assert set(prompts.criteria) == {*PUBLISHED_CRITERIA, "overall"}
    assert set(prompts.tasks) == {"ic", "reg", "vqa", "vdu"}
    for criterion in prompts.criteria.values():
        assert len(set(criterion.levels)) == 5
        assert all(level.strip() for level in criterion.levels)
        assert criterion.sees == (criterion.name in ("correctness", "completeness", "overall"))
        assert criterion.adds == (criterion.name == "completeness")


HELD = {
    "correctness": ("missing", "missing", "missing", "details", "every detail"),
    "completeness": ("missing", "missing", "missing", "missing", "nothing of any weight"),
    "clarity": ("several ways", '"or"', "another way", "plainly", "wrongly"),
    "fluency": ("hard to understand", "odd", "disturb", "flows", "no mistake of grammar"),
    "conciseness": ("hard to read", "repeated", "acceptable", "phrase or two", "that is needed"),
}


def test_the_levels_hold_what_the_paper_s_hold() -> None:
    for criterion in chosen_criteria(load_harmonic_prompts(), None):
        for level, held in zip(criterion.levels, HELD[criterion.name], strict=True):
            assert held in level, (criterion.name, level)


@pytest.mark.parametrize(
    ("task", "noun", "about"),
    [
        ("ic", "caption", "in the picture"),
        ("reg", "expression", "the red box"),
        ("vqa", "answer", "in the picture"),
        ("vdu", "answer", "in the document"),
    ],
)
def test_correctness_asks_what_the_task_is_about(task: str, noun: str, about: str) -> None:
    prompts = load_harmonic_prompts()
    asked = scale_of(prompts.criteria["correctness"], prompts.layout, prompts.tasks[task])
    assert f"Does the {noun} " in asked
    assert about in asked


def pasted(data: Any, **layout: Any) -> Any:
    """As a user lays out a published prompt: the criterion before the text, nothing of ours around
    it.
    """
    ours = dict.fromkeys(("instructions", "alone", "begin", "end", "whole"), "")
    shown = {"picture": "", "context": "What is seen: {context}", "scale": "{question}\n{levels}"}
    order = {"order": ["criterion", "evidence", "text", "ask"], "level": "- {level} {text}"}
    data["layout"] |= {**ours, **shown, **order, **layout}
    data["criteria"]["correctness"] |= {
        "question": "Rate the {noun}.\n\n- Correctness: is it right?\n",
        "levels": {n: f"Level {n}: so right" for n in range(1, 6)},
    }
    return data


def test_the_criterion_may_stand_before_the_text(tmp_path: Path) -> None:
    ours = yaml.safe_load(HARMONIC_PROMPTS_FILE.read_text())
    path = written(tmp_path, pasted(ours, begin="Caption:"), "prompts.yaml")
    judge = FakeJudge()
    reward = HarmonicReward(
        judge, prompts=path, criteria="correctness", evidence="context", spans="none"
    )
    reward.assess([Sample("", "A {noun} cat.", context="A cat.")])
    levels = "\n".join(f"- {n} Level {n}: so right" for n in range(1, 6))
    asked = f"Rate the caption.\n\n- Correctness: is it right?\n\n{levels}"
    assert judge.rated == [[f"{asked}\n\nWhat is seen: A cat.\n\nCaption:\nA {{noun}} cat."]]


@pytest.mark.parametrize(
    "order",
    [["criterion", "evidence", "text", "ask"], ["text", "criterion"], ["criterion", "text"]],
)
def test_the_text_is_what_may_be_cut_wherever_it_stands(tmp_path: Path, order: Any) -> None:
    ours = yaml.safe_load(HARMONIC_PROMPTS_FILE.read_text())
    prompts = load_harmonic_prompts(written(tmp_path, pasted(ours, order=order), "prompts.yaml"))
    shown = Shown(prompts.tasks["ic"], context="A cat.")
    for sentence in (None, (0, 6)):
        question = ask_rating(
            prompts.layout, prompts.criteria["correctness"], shown, "A cat. A dog.", sentence
        )
        content = question.messages[0]["content"]
        assert content[slice(*question.description)] == "A cat. A dog."
        assert content == content.strip()
        assert content.index("is it right?") < content.index("A cat. A dog.") or order[0] == "text"


def test_criteria_of_your_own(tmp_path: Path) -> None:
    path = written(tmp_path, {"safety": SAFETY, "taste": {**SAFETY, "sees": True}})
    judge = FakeJudge(rate=lambda prompt: certain(2 if "Safety" in prompt else 4))
    reward = HarmonicReward(
        judge, criteria=["correctness", path], evidence="context", gamma=1, spans="none"
    )
    (verdict,) = reward.assess([Sample("", "A {noun} cat.", context="A cat.")])
    assert [verdict.parts[name] for name in ("correctness", "safety", "taste")] == [4.0, 2.0, 4.0]
    assert reward.main_parts == ("overall", "correctness", "safety", "taste")
    _, safety, taste = judge.rated[0]
    wanted = (
        "Criterion: Safety. Is the text fit for children?\n1 = level 1 of it\n2 = level 2 of it"
    )
    assert wanted in safety
    assert "what is known of it" not in safety
    assert "what is known of it" in taste
    names = [c.name for c in HarmonicReward(FakeJudge(), criteria=path).criteria]
    assert names == ["safety", "taste"]


def test_a_task_s_words_may_stand_in_criteria(tmp_path: Path) -> None:
    path = written(tmp_path, {"safety": {**SAFETY, "question": "Is the {noun} fit for {subject}?"}})
    judge = FakeJudge()
    HarmonicReward(judge, criteria=path, task="vqa").assess([Sample("", "A cat.")])
    assert "Is the answer fit for the picture and the question?" in judge.rated[0][0]


LEVELS = SAFETY["levels"]
NOT_WHOLE: list[tuple[Any, str]] = [
    (SAFETY | {"levels": dict.fromkeys((1, 2, 4), "x")}, "levels: .*1, 2, 3, 4, 5, got 1, 2, 4$"),
    (SAFETY | {"levels": {1: "x", 3: "x"}}, "1, 2, 3, 4, 5, got 1, 3$"),
    (SAFETY | {"levels": {**LEVELS, 3: None}}, r"levels.2: .* got None"),
    (SAFETY | {"levels": {**LEVELS, 6: "x"}}, "got 1, 2, 3, 4, 5, 6$"),
    (SAFETY | {"levels": ["a", "b", "c", "d", "e"]}, r"got \['a', 'b', 'c', 'd', 'e'\]$"),
    (SAFETY | {"question": " "}, r"question: .*, got ' '$"),
    (SAFETY | {"question": "Is {text} good?"}, r"\{aim\}, .*got \{text\}"),
    (SAFETY | {"sees": "yes please"}, "sees: .*got 'yes please'"),
    (SAFETY | {"level": {}}, "'level': .*'levels'"),
    (SAFETY | {"name": "taste"}, "'safety' .*leave out the key name"),
    ("x", "safety: .*, got 'x'"),
]


@pytest.mark.parametrize(("criterion", "told"), NOT_WHOLE, ids=range(len(NOT_WHOLE)))
def test_a_criterion_that_is_not_whole(tmp_path: Path, criterion: Any, told: str) -> None:
    path = written(tmp_path, {"safety": criterion})
    with pytest.raises(ValueError, match=told) as caught:
        HarmonicReward(FakeJudge(), criteria=path)
    assert str(caught.value).startswith(path) or "name" in criterion
    with pytest.raises(ValueError, match=r"own.yaml: .*got \['safety'\]"):
        HarmonicReward(FakeJudge(), criteria=written(tmp_path, ["safety"]))


def test_prompts_of_your_own(tmp_path: Path) -> None:
    data = yaml.safe_load(HARMONIC_PROMPTS_FILE.read_text())
    data["layout"]["instructions"] = "Be strict."
    path = written(tmp_path, data, "prompts.yaml")
    judge = FakeJudge()
    HarmonicReward(judge, prompts=path, criteria="fluency").assess([Sample("", "A cat.")])
    assert judge.rated[0][0].startswith("Be strict.\n\n")
    assert HarmonicReward(judge, prompts=path).wording != HarmonicReward(judge).wording


LACKING: list[tuple[Any, str]] = [
    (lambda data: data.pop("layout"), "layout: Field required"),
    (lambda data: data["layout"].pop("whole"), "layout.whole: Field required"),
    (lambda data: data["layout"].pop("order"), "layout.order: Field required"),
    (lambda data: data["layout"].update(order=["text", "text", "criterion"]), "layout.order: "),
    (lambda data: data["layout"].update(order=["criterion", "ask"]), r"\('criterion', 'ask'\)"),
    (lambda data: data["layout"].update(order=["text", "criterion", "end"]), "order.2: .*'end'"),
    (lambda data: data["layout"].update(level="{text}"), r"layout.level: .*\{level\}, \{text\}"),
    (lambda data: data["layout"].update(whole="{criterion}?"), r"layout.whole: .*\{criterion\}"),
    (lambda data: data["layout"].update(extra="x"), "layout: .*'extra'"),
    (lambda data: data["tasks"]["ic"].pop("noun"), "noun, subject, got aim, matters, subject$"),
    (lambda data: data["layout"].update(sentence="Rate it."), r"sentence: .*\{sentence\}"),
    (lambda data: data["criteria"]["fluency"]["levels"].pop(4), "fluency.levels: .* 1, 2, 3, 5$"),
]


@pytest.mark.parametrize(("change", "told"), LACKING, ids=range(len(LACKING)))
def test_prompts_that_are_not_whole(tmp_path: Path, change: Any, told: str) -> None:
    data = yaml.safe_load(HARMONIC_PROMPTS_FILE.read_text())
    change(data)
    with pytest.raises(ValueError, match=told):
        load_harmonic_prompts(written(tmp_path, data))
