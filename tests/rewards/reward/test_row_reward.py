"""Sentence credit of `pairwise` and `criteria`: the score less that without the sentence."""

from typing import Any

import pytest

from spanreward import CriteriaReward, PairwiseReward, Sample, Status, Verdict
from spanreward.rewards.language.pipeline import load_pipeline, pipeline_name
from tests.support.pair_judges import PairJudge, better

TEXT = "A red car stands here. It is nice. A bird flies."
SENTENCES = ["A red car stands here.", "It is nice.", "A bird flies."]
WITHOUT = [TEXT[23:], "A red car stands here. A bird flies.", "A red car stands here. It is nice."]


def row(text: str = TEXT, **more: Any) -> Sample:
    given = {"criteria": ("Says red.", "Says bird."), "anchor": "A car and more."}
    return Sample("Describe.", text, context="A car, a bird.", **given, **more)


REDS = PairJudge(better(lambda text: "red" in text))


def meets(probe: Any) -> int:
    return 5 if probe.criterion[5:-1] in probe.text else 1


def spans(verdict: Verdict, text: str = TEXT) -> list[tuple[str, float, float]]:
    sentences = [span for span in verdict.spans if span.kind == "sentence"]
    return [(one.text(text), one.score, one.credit) for one in sentences]


def test_criteria_one_by_one() -> None:
    judge = PairJudge(meets=meets)
    reward = CriteriaReward(judge, spans="ablation")
    (verdict,) = reward.assess([row()])
    assert verdict.score == 1.0
    found = spans(verdict)
    assert found == [(SENTENCES[0], 0.75, 0.5), (SENTENCES[1], 0.5, 0.0), (SENTENCES[2], 0.75, 0.5)]
    (asked,) = judge.asked
    assert [question.probe.text for question in asked[::2]] == [TEXT, *WITHOUT]
    assert len(asked) == 2 * (1 + 3)
    assert verdict.parsed_by == reward.reader() == pipeline_name(load_pipeline())
    plain = CriteriaReward(judge)
    assert (plain.assess([row()])[0].spans, plain.reader()) == ((), "")


VOTES = CriteriaReward(REDS, form="pairwise", spans="ablation")


@pytest.mark.parametrize("reward", [VOTES, PairwiseReward(REDS, anchor="anchor", spans="ablation")])
def test_votes_against_an_anchor(reward: Any) -> None:
    (verdict,) = reward.assess([row()])
    assert verdict.score == 1.0
    # without red it is a tie
    assert [credit for *_, credit in spans(verdict)] == [0.5, 0.0, 0.0]


def test_several_references_and_rows_that_lack_something() -> None:
    reward = PairwiseReward(REDS, anchor="reference", spans="ablation")
    rows = [row(references=()), row(references=("A car.", "A red car."))]
    rows.append(row(" ", references=("A car.",)))
    lacking, verdict, empty = reward.assess(rows)
    assert (lacking.status, empty.status, empty.spans) == (Status.NOT_APPLICABLE, Status.EMPTY, ())
    assert verdict.score == 0.75
    assert [credit for *_, credit in spans(verdict)] == [0.5, 0.0, 0.0]
    assert reward.assess(rows[::-1])[::-1] == [lacking, verdict, empty]


def test_a_score_of_its_own() -> None:
    judge = PairJudge(meets=lambda probe: 5 if "bird" in probe.text else 3)
    reward = PairwiseReward(judge, form="score", spans="ablation")
    verdict, single = reward.assess([row(), row("A bird.")])
    assert [credit for *_, credit in spans(verdict)] == [0.0, 0.0, 0.5]
    assert spans(single, "A bird.") == [("A bird.", 1.0, 1.0)]


def test_one_failure_fails_the_verdict_and_no_other() -> None:
    judge = PairJudge(meets=meets, fails=lambda probe: probe.text == WITHOUT[1])
    reward = CriteriaReward(judge, spans="ablation")
    failed, other = reward.assess([row(), row("A red car. A bird.")])
    assert (failed.score, failed.status, failed.spans) == (None, Status.TIMEOUT, ())
    assert other.score == 1.0


def test_penalties_come_after_the_credit() -> None:
    padded = f"{TEXT}{' in' * 30}"
    reward = CriteriaReward(PairJudge(meets=meets), spans="ablation")
    (verdict,) = reward.assess([row(padded)])
    kept = 1 - verdict.parts["filler"]
    assert verdict.score == pytest.approx(kept)
    assert spans(verdict, padded)[0][2] == pytest.approx(0.5 * kept)
    assert len({span.component for span in verdict.spans}) == len(verdict.spans)
    long = " ".join(f"Bird {number} flies." for number in range(2000))
    (verdict,) = reward.assess([row(long)])
    assert len(spans(verdict, long)) == 32


@pytest.mark.parametrize(
    ("reward", "options"), [(CriteriaReward, {}), (PairwiseReward, {"anchor": "anchor"})]
)
def test_what_it_costs_and_which_spans_there_are(reward: Any, options: Any) -> None:
    once = reward("match", **options, spans="none").cost(40, 1)
    many = reward("match", **options, spans="ablation").cost(40, 1)
    assert (many.questions, many.exact) == (5 * once.questions, False)
    with pytest.raises(ValueError, match=r"spans is .*'sentences'"):
        reward("match", spans="sentences")
    with pytest.raises(ValueError, match="name an anchor"):
        PairwiseReward("match", form="pair", spans="ablation")
