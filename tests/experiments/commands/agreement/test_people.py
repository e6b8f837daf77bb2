"""`experiments agreement people` takes the options of a metric and of a judge."""

import json
from pathlib import Path

import pytest

from tests.support.command import experiments


def test_people_takes_the_metric_s_options_too(tmp_path: Path) -> None:
    line = {"caption": "A dog.", "references": ["A dog."], "accurate": "yes"}
    (tmp_path / "haelm").mkdir()
    wrong = {**line, "caption": "A cat.", "accurate": "no"}
    (tmp_path / "haelm" / "haelm_eval.jsonl").write_text(
        json.dumps(line) + "\n" + json.dumps(wrong) + "\n"
    )
    done = experiments(
        "agreement", "people", tmp_path, "--sets", "haelm", "--judge", "match", "mode=publishd"
    )
    assert done.code == 1
    assert 'mode is "default" or "published"' in done.err
    done = experiments("agreement", "people", tmp_path, "mode=published", "--sets", "haelm")
    assert done.code == 0, done.err
    done = experiments("agreement", "people", tmp_path, "mode=published", "--metric", "4grams")
    assert "4grams takes no options, got mode=published." in done.err


@pytest.mark.parametrize("command", ["people", "answers"])
def test_a_judge_gets_its_options(command: str, tmp_path: Path) -> None:
    done = experiments("agreement", command, tmp_path, "--set", "judge.corref=none")
    assert done.code == 1
    told = "unknown option of the judge match: 'corref': did you mean 'coref'?"
    assert done.err == f"python -m experiments agreement: {told}\n"
