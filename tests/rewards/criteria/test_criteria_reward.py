"""CriteriaReward: the criteria are the parts, and MLLM-Bench's vote against an anchor."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from spanreward.rewards import CriteriaReward, Sample, Status
from spanreward.rewards.criteria.reward import CRITERIA_PROMPTS_FILE, read_criteria
from tests.support.fakes import FakeJudge, certain
from tests.support.pair_judges import PairJudge, better

CONTEXT = "A bridge with two towers."
CRITERIA = ("Says that it is a bridge.", "Counts the towers.")
GOOD, POOR = "A bridge with two towers is shown.", "A building is shown."


def row(text: str, **more: Any) -> Sample:
    return Sample("What is it?", text, **{"context": CONTEXT, "criteria": CRITERIA, **more})


def test_the_criteria_are_the_parts() -> None:
    judge = PairJudge(meets=lambda probe: 5 if "bridge" in probe.criterion else 2)
    (verdict,) = CriteriaReward(judge).assess([row(GOOD)])
    assert verdict.score == pytest.approx((1 + 0.25) / 2)
    assert verdict.parts == {"criterion_1": 5, "criterion_2": 2, "met": 0.5, "filler": 0}
    (asked,) = judge.asked
    assert [question.probe.criterion for question in asked] == list(CRITERIA)
    for question, criterion in zip(asked, CRITERIA, strict=True):
        content = question.messages[0]["content"]
        assert content.count(criterion) == content.count(GOOD) == 1
        assert content[slice(*question.description)] == GOOD


def test_numbered_criteria_are_taken_apart() -> None:
    found = read_criteria(("1. Says so.\n2) Counts 3. 4 of them.\n 3. Ends.",))
    assert found == ("Says so.", "Counts 3. 4 of them.", "Ends.")
    assert read_criteria(("Says so.\nAnd more.",)) == ("Says so.\nAnd more.",)
    assert read_criteria(CRITERIA) == CRITERIA


# what two orders say (the completion shown first, then second), and whether it won, tied or lost;
# C and D say that neither is better, so that the other order decides
DECISIONS = {"AB": 1.0, "BA": 0.0, "AA": 0.5, "CC": 0.5, "DD": 0.5, "CD": 0.5, "CB": 1.0, "BD": 0.0}


@pytest.mark.parametrize(("letters", "score"), DECISIONS.items())
def test_the_vote_of_mllm_bench(letters: str, score: float) -> None:
    one, two = letters[0], letters[1]
    judge = PairJudge(lambda probe: one if probe.first == GOOD else two)
    (verdict,) = CriteriaReward(judge, form="pairwise").assess([row(GOOD, anchor=POOR)])
    assert verdict.score == score
    assert verdict.parts["situation_one"] == letters.count("C") / 2
    assert verdict.parts["situation_two"] == letters.count("D") / 2
    assert verdict.note == f"votes, shown first / second: {one}/{two}"
    for question in judge.asked[0]:
        assert f"1. {CRITERIA[0]}\n2. {CRITERIA[1]}" in question.messages[0]["content"]


def test_the_anchor_itself_ties_unasked() -> None:
    judge = PairJudge(better(len))
    (verdict,) = CriteriaReward(judge, form="pairwise").assess([row(GOOD, anchor=GOOD)])
    assert (verdict.score, judge.asked) == (0.5, [])


@pytest.mark.parametrize("form", ["pointwise", "pairwise"])
def test_failures_empty_texts_and_rows_that_lack_something(form: str) -> None:
    reward = CriteriaReward(PairJudge(fails=lambda probe: True), form=form)
    rows = [row(GOOD, anchor=POOR), row(" ", anchor=POOR), row(GOOD, anchor=POOR, criteria=())]
    failed, empty, without, bare = reward.assess([*rows, row(GOOD, anchor=POOR, context=None)])
    assert (failed.score, failed.status) == (None, Status.TIMEOUT)
    assert (empty.score, empty.status) == (0.0, Status.EMPTY)
    assert without.status is bare.status is Status.NOT_APPLICABLE
    assert "no criteria" in without.note
    assert "no picture" in bare.note
    if form == "pairwise":
        (verdict,) = reward.assess([row(GOOD)])
        assert "no anchor" in verdict.note


@pytest.mark.parametrize("form", ["pointwise", "pairwise"])
def test_the_cost_is_what_is_asked(form: str) -> None:
    judge = PairJudge()
    reward = CriteriaReward(judge, form=form)
    reward.assess([row(GOOD, anchor=POOR, criteria=(*CRITERIA, "Says where it stands."))])
    assert reward.cost(8, 0).questions == len(judge.asked[0])


def test_prompts_of_one_s_own(tmp_path: Path) -> None:
    texts = yaml.safe_load(CRITERIA_PROMPTS_FILE.read_text("utf-8"))
    file = tmp_path / "criteria.yaml"
    own = {"criterion": "Told: {criterion}", "rating": "A digit."}
    file.write_text(yaml.safe_dump({**texts, **own}))
    judge = FakeJudge(lambda prompt: certain(4))
    reward = CriteriaReward(judge, evidence="context", prompts=file)
    reward.assess([row(GOOD, criteria=("Says 170 cm.",))])
    ((asked,),) = judge.rated
    assert asked.endswith("Told: Says 170 cm.\n\nA digit.")
    assert reward.wording != CriteriaReward(judge).wording
    for change in ({"criterion": "Told"}, {"x": ""}):
        file.write_text(yaml.safe_dump({**texts, **change}))
        with pytest.raises(ValueError, match=r"criterion: .*\{criterion\}|'x'"):
            CriteriaReward(judge, prompts=file)
