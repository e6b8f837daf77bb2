"""`python -m experiments reproduce`: a step that fails, or measures nothing, makes the exit code 1."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.reproduce.figures import without_figures
from tests.experiments.reproduce.test_printed_tables import flickr8k, judging, mmhe
from tests.support.command import Done, experiments

UNSEEN = "the judge match reads text only, and the metric shows it pictures"


def reproduce(data: Path, *words: Any) -> tuple[Done, dict[str, Any]]:
    numbers = data / "numbers.json"
    done = experiments("reproduce", *words, "--data", data, "--json", numbers)
    return done, json.loads(numbers.read_text()) if numbers.is_file() else {}


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_pictures_that_a_judge_cannot_see_are_refused_first(dry: Any, tmp_path: Path) -> None:
    mmhe(tmp_path)
    judging(tmp_path)
    done, numbers = reproduce(tmp_path, "harmonic-2", "--judge", "match", *dry)
    assert done.code == 1
    assert f"failed: mmhe-best, harmonic: harmonic: {UNSEEN}" in done.err
    assert len(done.err.splitlines()) == 1
    assert [one["step"] for one in numbers["failed"]] == ["mmhe-best, harmonic"]
    assert "Beside the paper" not in done.out
    done, _ = reproduce(tmp_path, "mllm-judge-2", "--judge", "match", *dry)
    assert f"failed: judge, GPT-4V: {UNSEEN}" in done.err


def test_a_failed_step_costs_no_other_and_is_not_hidden_by_it(tmp_path: Path) -> None:
    flickr8k(tmp_path)
    (tmp_path / "flickr8k_expert/flickr8k_expert.jsonl").write_text('{"image_id": 1}\n')
    fake = ("--judge", "tests/support/fakes.py:FakeJudge")
    done, numbers = reproduce(tmp_path, "harmonic-8", *fake)
    assert done.code == 1
    assert [step["table"] for step in numbers["steps"]] == ["flickr8k-cf"]
    (failed,) = numbers["failed"]
    assert failed["step"].startswith("flickr8k-expert, harmonic")
    assert "flickr8k_expert.jsonl" in failed["reason"]
    assert f"failed: {failed['step']}: {failed['reason']}" in done.err
    assert len(done.err.splitlines()) == 1


def test_which_rows_have_no_figure() -> None:
    none, one = {"value": None}, {"value": 0.5}
    of = {"a": {"posh": none, "length": one}, "b": {"posh": one, "length": none}}
    rows = [{"slice": "all", "measure": name, "metrics": row} for name, row in of.items()]
    assert without_figures("table", {"rows": rows}) == ["all, a"]
    models = {"x": {"score": None}, "y": {"score": 0.0}}
    assert without_figures("votes", {"models": models}) == ["x"]
    judged = {"pairs": [{"part": "all", "n": 0}], "scores": [{"part": "all", "n": 2}]}
    judges = {"match": {**judged, "rankings": []}}
    assert without_figures("judge", {"judges": judges}) == ["all, pairs"]
    assert without_figures("graphs", []) == []
