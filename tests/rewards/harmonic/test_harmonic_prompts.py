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

LEVELS = {n: f"level {n} of it" for n in range(1, 6)}
SAFETY = {"question": "Is the text fit for children?", "levels": LEVELS}


def written(folder: Path, criteria: Any) -> str:
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(criteria))
    return str(path)


def test_our_criteria_are_the_paper_s_and_an_overall_one() -> None:
    prompts = load_harmonic_prompts()
    published = chosen_criteria(prompts, None)
    assert tuple(criterion.name for criterion in published) == PUBLISHED_CRITERIA
    assert set(prompts.tasks) == {"ic", "reg", "vqa", "vdu"}
    for criterion in prompts.criteria.values():
        assert len(set(criterion.levels)) == 5
        assert criterion.sees == (criterion.name in ("correctness", "completeness", "overall"))
        assert criterion.adds == (criterion.name == "completeness")


@pytest.mark.parametrize("task", ["ic", "reg", "vqa", "vdu"])
def test_correctness_asks_in_the_words_of_the_task(task: str) -> None:
    prompts = load_harmonic_prompts()
    words = prompts.tasks[task]
    asked = scale_of(prompts.criteria["correctness"], prompts.layout, words)
    assert f"Does the {words['noun']} {words['aim']}, " in asked


def ours() -> Any:
    return yaml.safe_load(HARMONIC_PROMPTS_FILE.read_text())


def pasted(**layout: Any) -> Any:
    """As a user lays out a published prompt: the criterion before the text, nothing of ours."""
    data = ours()
    empty = dict.fromkeys(("instructions", "alone", "begin", "end", "whole"), "")
    shown = {"picture": "", "context": "What is seen: {context}", "scale": "{question}\n{levels}"}
    order = {"order": ["criterion", "evidence", "text", "ask"], "level": "- {level} {text}"}
    data["layout"] |= {**empty, **shown, **order, **layout}
    data["criteria"]["correctness"] |= {
        "question": "Rate the {noun}.\n\n- Correctness: is it right?\n",
        "levels": {n: f"Level {n}: so right" for n in range(1, 6)},
    }
    return data


def test_the_criterion_may_stand_before_the_text(tmp_path: Path) -> None:
    judge = FakeJudge()
    options: dict[str, Any] = {"criteria": "correctness", "evidence": "context", "spans": "none"}
    reward = HarmonicReward(judge, prompts=written(tmp_path, pasted(begin="Caption:")), **options)
    reward.assess([Sample("", "A {noun} cat.", context="A cat.")])
    levels = "\n".join(f"- {n} Level {n}: so right" for n in range(1, 6))
    asked = f"Rate the caption.\n\n- Correctness: is it right?\n\n{levels}"
    assert judge.rated == [[f"{asked}\n\nWhat is seen: A cat.\n\nCaption:\nA {{noun}} cat."]]


@pytest.mark.parametrize("sentence", [None, (0, 6)])
@pytest.mark.parametrize("order", [
    ["criterion", "evidence", "text", "ask"], ["text", "criterion"], ["criterion", "text"],
])  # fmt: skip
def test_the_text_may_be_cut_anywhere(tmp_path: Path, order: Any, sentence: Any) -> None:
    prompts = load_harmonic_prompts(written(tmp_path, pasted(order=order)))
    shown, text = Shown(prompts.tasks["ic"], context="A cat."), "A cat. A dog."
    asked = ask_rating(prompts.layout, prompts.criteria["correctness"], shown, text, sentence)
    content = asked.messages[0]["content"]
    assert content[slice(*asked.description)] == text
    assert content == content.strip()
    assert content.index("is it right?") < content.index(text) or order[0] == "text"


def test_criteria_of_your_own(tmp_path: Path) -> None:
    path = written(tmp_path, {"safety": SAFETY, "taste": {**SAFETY, "sees": True}})
    judge = FakeJudge(rate=lambda prompt: certain(2 if "Safety" in prompt else 4))
    options: dict[str, Any] = {"evidence": "context", "gamma": 1, "spans": "none"}
    reward = HarmonicReward(judge, criteria=["correctness", path], **options)
    (verdict,) = reward.assess([Sample("", "A {noun} cat.", context="A cat.")])
    assert [verdict.parts[name] for name in ("correctness", "safety", "taste")] == [4.0, 2.0, 4.0]
    assert reward.main_parts == ("overall", "correctness", "safety", "taste")
    _, safety, taste = judge.rated[0]
    assert f"Safety. {SAFETY['question']}\n1 = level 1 of it\n2 = level 2 of it" in safety
    assert "known of it" not in safety
    assert "known of it" in taste
    names = [c.name for c in HarmonicReward(FakeJudge(), criteria=path).criteria]
    assert names == ["safety", "taste"]


def test_a_task_s_words_may_stand_in_criteria(tmp_path: Path) -> None:
    path = written(tmp_path, {"safety": {**SAFETY, "question": "Is the {noun} fit for {subject}?"}})
    judge = FakeJudge()
    HarmonicReward(judge, criteria=path, task="vqa").assess([Sample("", "A cat.")])
    assert "Is the answer fit for the picture and the question?" in judge.rated[0][0]


NOT_WHOLE: list[tuple[Any, str]] = [
    (SAFETY | {"levels": dict.fromkeys((1, 2, 4), "x")}, "levels: .*1, 2, 3, 4, 5, got 1, 2, 4$"),
    (SAFETY | {"levels": {**LEVELS, 3: None}}, r"levels.2: .* got None"),
    (SAFETY | {"levels": {**LEVELS, 6: "x"}}, "got 1, 2, 3, 4, 5, 6$"),
    (SAFETY | {"levels": ["a", "b", "c", "d", "e"]}, r"got \['a', 'b', 'c', 'd', 'e'\]$"),
    (SAFETY | {"question": " "}, r"question: .*, got ' '$"),
    (SAFETY | {"question": "Is {text} good?"}, r"\{aim\}, .*got \{text\}"),
    (SAFETY | {"sees": "yes please"}, "sees: .*got 'yes please'"),
    (SAFETY | {"level": {}}, "'level': .*'levels'"),
    (SAFETY | {"name": "taste"}, "'safety' .*leave out the key name"), ("x", "safety: .*, got 'x'"),
]  # fmt: skip


@pytest.mark.parametrize(("criterion", "told"), NOT_WHOLE, ids=range(len(NOT_WHOLE)))
def test_a_criterion_that_is_not_whole(tmp_path: Path, criterion: Any, told: str) -> None:
    path = written(tmp_path, {"safety": criterion})
    with pytest.raises(ValueError, match=told) as caught:
        HarmonicReward(FakeJudge(), criteria=path)
    assert str(caught.value).startswith(path) or "name" in criterion
    with pytest.raises(ValueError, match=r"own.yaml: .*got \['safety'\]"):
        HarmonicReward(FakeJudge(), criteria=written(tmp_path, ["safety"]))


def test_prompts_of_your_own(tmp_path: Path) -> None:
    data = ours()
    data["layout"]["instructions"] = "Be strict."
    path = written(tmp_path, data)
    judge = FakeJudge()
    HarmonicReward(judge, prompts=path, criteria="fluency").assess([Sample("", "A cat.")])
    assert judge.rated[0][0].startswith("Be strict.\n\n")
    assert HarmonicReward(judge, prompts=path).wording != HarmonicReward(judge).wording


# what of our prompts has another value, or is gone (None)
LACKING: list[tuple[str, Any, str]] = [
    ("layout", None, "layout: "),
    ("layout.order", ["text", "text", "criterion"], "layout.order: "),
    ("layout.order", ["criterion", "ask"], r"\('criterion', 'ask'\)"),
    ("layout.order", ["text", "criterion", "end"], "order.2: .*'end'"),
    ("layout.level", "{text}", r"layout.level: .*\{level\}, \{text\}"),
    ("layout.whole", "{criterion}?", r"layout.whole: .*\{criterion\}"),
    ("layout.extra", "x", "layout: .*'extra'"),
    ("tasks.ic.noun", None, "noun, subject, got aim, matters, subject$"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "told"), LACKING, ids=range(len(LACKING)))
def test_prompts_that_are_not_whole(tmp_path: Path, key: str, value: Any, told: str) -> None:
    data = ours()
    *above, last = key.split(".")
    part = data
    for name in above:
        part = part[name]
    if value is None:
        del part[last]
    else:
        part[last] = value
    with pytest.raises(ValueError, match=told):
        load_harmonic_prompts(written(tmp_path, data))
