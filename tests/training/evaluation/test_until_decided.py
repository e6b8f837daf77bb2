"""Judging stops when it is known which side is better, nothing is judged beyond, and nothing twice."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanreward.rewards.comparison.until_decided import decide
from spanreward.rewards.reward import Reward
from spanreward.rewards.verdict import Sample, Status, Verdict
from spanreward.training.evaluation.evaluate import evaluate
from spanreward.training.evaluation.prompts import Prompts, prompts_of_file
from spanreward.training.evaluation.until_decided import BATCH, evaluate_until_decided
from tests.support.command import spanreward

ROWS = 200


class Counting(Reward):
    """Scores a text by the number that it is; counts what it judges, and fails on "none"."""

    main_parts = ("value",)

    def __init__(self) -> None:
        super().__init__("counting")
        self.judged: list[str] = []

    def assess(self, samples: Any) -> list[Verdict]:
        self.judged += [sample.completion for sample in samples]
        return [self.verdict(sample) for sample in samples]

    def verdict(self, sample: Sample) -> Verdict:
        if sample.completion == "none":
            return Verdict(None, Status.TIMEOUT)
        return Verdict(float(sample.completion), parts={"value": float(sample.completion)})


def sides(folder: Path, **values: list[str]) -> dict[str, list[str]]:
    """Files of answers, and the rows that they answer in rows.jsonl."""
    (folder / "rows.jsonl").write_text(
        "".join(json.dumps({"id": str(i), "reference": "A red circle."}) + "\n" for i in range(ROWS))
    )
    for name, texts in values.items():
        lines = [json.dumps({"id": str(i), "completion": text}) + "\n" for i, text in enumerate(texts)]
        (folder / f"{name}.jsonl").write_text("".join(lines))
    return {name: [str(folder / f"{name}.jsonl")] for name in values}


def prompts(folder: Path) -> Prompts:
    return prompts_of_file(str(folder / "rows.jsonl"), ROWS)


def test_it_stops_when_it_is_known(tmp_path: Path) -> None:
    both = sides(tmp_path, one=["0.2"] * ROWS, two=["0.9"] * ROWS)
    reward = Counting()
    asked, evaluation, decision = evaluate_until_decided(both, prompts(tmp_path), [reward], 96, "counting_value")
    assert decision.side == 1
    assert len(asked.rows) == BATCH < ROWS
    assert len(reward.judged) == 2 * BATCH
    assert evaluation.scores["two"]["counting_value"].shape == (1, BATCH)


def test_the_side_that_is_better_may_be_the_first(tmp_path: Path) -> None:
    both = sides(tmp_path, one=["0.9"] * ROWS, two=["0.2"] * ROWS)
    _, _, decision = evaluate_until_decided(both, prompts(tmp_path), [Counting()], 96, "counting_value")
    assert decision.side == -1


def test_undecided_is_all_prompts_and_what_evaluate_gives(tmp_path: Path) -> None:
    """In another order: every prompt keeps its scores."""
    generator = np.random.default_rng(0)
    texts = [f"{value:.3f}" for value in generator.uniform(0, 1, ROWS)]
    both = sides(tmp_path, one=texts, two=[*texts[:-1], "none"])
    reward = Counting()
    asked, evaluation, decision = evaluate_until_decided(both, prompts(tmp_path), [reward], 96, "counting_value")
    assert (decision.side, decision.prompts, len(reward.judged)) == (None, ROWS - 1, 2 * ROWS)
    whole = evaluate(both, prompts(tmp_path), [Counting()], 96)
    order = [int(row["id"]) for row in asked.rows]
    assert sorted(order) == list(range(ROWS))
    for side in both:
        for metric, scores in whole.scores[side].items():
            np.testing.assert_array_equal(evaluation.scores[side][metric], scores[:, order])
            np.testing.assert_array_equal(evaluation.failed[side][metric], whole.failed[side][metric][:, order])


def test_refusals(tmp_path: Path) -> None:
    both = sides(tmp_path, one=["0.2"] * ROWS, two=["0.9"] * ROWS)
    with pytest.raises(ValueError, match="no metric 'posh' to decide by: there are counting_value, overlap, words"):
        evaluate_until_decided(both, prompts(tmp_path), [Counting()], 96, "posh")
    longer = sides(tmp_path, one=["0.2"] * ROWS, two=["0.9 and more"] * ROWS)
    with pytest.raises(ValueError, match=r"words leaves \[0, 1\]"):
        evaluate_until_decided(longer, prompts(tmp_path), [Nothing("nothing")], 96, "words")


class Nothing(Reward):
    def assess(self, samples: Any) -> list[Verdict]:
        return [Verdict(0.5) for _ in samples]


def test_the_command_says_when_it_stopped(tmp_path: Path) -> None:
    both = sides(tmp_path, one=["A blue star."] * ROWS, two=["A red circle."] * ROWS)
    models = [f"{name}={runs[0]}" for name, runs in both.items()]
    words = ("--data", tmp_path / "rows.jsonl", "--metric", "posh", "--output", tmp_path / "out", "--prompts", ROWS)
    done = spanreward("compare", *models, *map(str, words), "--until-decided", "posh_f1")
    assert done.code == 0, done.err
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    of_each = results["difference"]["two_minus_one"]["posh_f1"]["mean"]
    decision = {"side": 1, "prompts": decide([of_each] * ROWS).prompts}
    assert results["until_decided"] == {"metric": "posh_f1", "of": ROWS, "asked": 16, **decision}
    said = "two is higher than one by posh_f1 after 16 of 200 prompts, valid whenever one stops"
    assert results["notes"][0].startswith(said)
    assert said in done.out.replace("\n", " ")
    assert said in (tmp_path / "out" / "report.html").read_text()
    assert len((tmp_path / "out" / "completions.jsonl").read_text().splitlines()) == 2 * 16
