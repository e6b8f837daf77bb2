"""Prompts and criteria files: what is complete, and one sentence for what is not."""

import pytest
import yaml

from rewards import HarmonicReward
from rewards.harmonic.prompts import DEFAULT, PUBLISHED, chosen_criteria, load_prompts
from rewards.verdict import Sample
from tests.support.fakes import FakeJudge, certain

SAFETY = {"question": "Is the text fit for children?", "levels": {n: f"level {n} of it" for n in range(1, 6)}}


def written(folder, criteria, name="own.yaml"):
    path = folder / name
    path.write_text(yaml.safe_dump(criteria))
    return str(path)


def test_our_criteria_are_the_paper_s_with_five_described_levels_and_the_ablation():
    prompts = load_prompts()
    assert tuple(criterion.name for criterion in chosen_criteria(prompts, None)) == PUBLISHED
    assert set(prompts.criteria) == {*PUBLISHED, "overall"}
    assert set(prompts.tasks) == {"ic", "reg", "vqa", "vdu"}
    for criterion in prompts.criteria.values():
        assert len(set(criterion.levels)) == 5
        assert all(level.strip() for level in criterion.levels)
        assert criterion.sees == (criterion.name in ("correctness", "completeness", "overall"))
        assert criterion.adds == (criterion.name == "completeness")


def test_criteria_of_your_own(tmp_path):
    path = written(tmp_path, {"safety": SAFETY, "taste": {**SAFETY, "sees": True}})
    judge = FakeJudge(rate=lambda prompt: certain(2 if "Safety" in prompt else 4))
    reward = HarmonicReward(judge, criteria=["correctness", path], evidence="context", gamma=1, spans="none")
    (verdict,) = reward.assess([Sample("", "A {noun} cat.", context="A cat.")])
    assert [verdict.parts[name] for name in ("correctness", "safety", "taste")] == [4.0, 2.0, 4.0]
    assert reward.main_parts == ("overall", "correctness", "safety", "taste")
    _, safety, taste = judge.rated[0]
    assert "Criterion: Safety. Is the text fit for children?\n1 = level 1 of it\n2 = level 2 of it" in safety
    assert "what is known of it" not in safety
    assert "what is known of it" in taste
    assert [c.name for c in HarmonicReward(FakeJudge(), criteria=path).criteria] == ["safety", "taste"]


def test_a_task_s_words_may_stand_in_criteria(tmp_path):
    path = written(tmp_path, {"safety": {**SAFETY, "question": "Is the {noun} fit for {subject}?"}})
    judge = FakeJudge()
    HarmonicReward(judge, criteria=path, task="vqa").assess([Sample("", "A cat.")])
    assert "Is the answer fit for the picture and the question?" in judge.rated[0][0]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"levels": dict.fromkeys((1, 2, 4, 5), "x")}, "lacks the level 3: describe each of 1 to 5 with a text"),
        ({"levels": dict.fromkeys((1, 3), "x")}, "lacks the level 2, 4, 5"),
        ({"levels": {**SAFETY["levels"], 3: None}}, "lacks the level 3"),
        ({"levels": {**SAFETY["levels"], 6: "x"}}, "has the level 6: there are 1 to 5"),
        ({"levels": ["a", "b", "c", "d", "e"]}, "lacks the level 1, 2, 3, 4, 5"),
        ({"question": " "}, "needs a question, got ' '"),
        ({"question": "Is {text} good?"}, r"takes the placeholders .*has \{text\}"),
        ({"sees": "yes please"}, "sees is true or false, got 'yes please'"),
        ({"level": {}}, "unknown key 'level': did you mean 'levels'"),
    ],
)
def test_a_criterion_that_is_not_whole(tmp_path, change, sentence):
    path = written(tmp_path, {"safety": {**SAFETY, **change}})
    with pytest.raises(ValueError, match=sentence) as caught:
        HarmonicReward(FakeJudge(), criteria=path)
    assert str(caught.value).startswith(f"{path}: the criterion 'safety'")


def test_files_that_are_no_criteria(tmp_path):
    with pytest.raises(ValueError, match="must hold criteria by name, and holds list"):
        HarmonicReward(FakeJudge(), criteria=written(tmp_path, ["safety"]))
    with pytest.raises(ValueError, match="must hold a question and levels, got 'x'"):
        HarmonicReward(FakeJudge(), criteria=written(tmp_path, {"safety": "x"}))
    with pytest.raises(FileNotFoundError):
        HarmonicReward(FakeJudge(), criteria=str(tmp_path / "none.yaml"))


def test_prompts_of_your_own(tmp_path):
    data = yaml.safe_load(DEFAULT.read_text())
    data["layout"]["instructions"] = "Be strict."
    path = written(tmp_path, data, "prompts.yaml")
    judge = FakeJudge()
    HarmonicReward(judge, prompts=path, criteria="fluency").assess([Sample("", "A cat.")])
    assert judge.rated[0][0].startswith("Be strict.\n\n")
    assert HarmonicReward(judge, prompts=path).wording != HarmonicReward(judge).wording


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda data: data.pop("layout"), "lacks 'layout'"),
        (lambda data: data["layout"].pop("why"), "lacks the text 'why'"),
        (lambda data: data["layout"].update(extra="x"), "unknown text 'extra'"),
        (lambda data: data["tasks"]["ic"].pop("noun"), "the task ic lacks the text 'noun'"),
        (lambda data: data["layout"].update(sentence="Rate it."), r"takes the placeholders \{sentence\} and"),
        (lambda data: data["criteria"]["fluency"]["levels"].pop(4), "'fluency' lacks the level 4"),
    ],
)
def test_prompts_that_are_not_whole(tmp_path, change, sentence):
    data = yaml.safe_load(DEFAULT.read_text())
    change(data)
    with pytest.raises(ValueError, match=sentence):
        load_prompts(written(tmp_path, data))
