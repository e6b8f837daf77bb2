"""`experiments agreement people` takes the options of a metric and of a judge."""

import json
from pathlib import Path

import pytest

from tests.support.command import experiments


def test_people_takes_the_metric_s_options_too(tmp_path: Path) -> None:
    line = {"caption": "A dog.", "references": ["A dog."], "accurate": "yes"}
    wrong = {**line, "caption": "A cat.", "accurate": "no"}
    (tmp_path / "haelm").mkdir()
    lines = json.dumps(line) + "\n" + json.dumps(wrong) + "\n"
    (tmp_path / "haelm" / "haelm_eval.jsonl").write_text(lines)
    words = ("agreement", "people", tmp_path, "--sets", "haelm", "--judge", "match")
    assert 'mode is "default" or "published"' in experiments(*words, "mode=publishd").err
    assert experiments(*words, "mode=published").code == 0


@pytest.mark.parametrize("command", ["people", "answers"])
def test_a_judge_gets_its_options(command: str, tmp_path: Path) -> None:
    done = experiments("agreement", command, tmp_path, "--set", "judge.corref=none")
    assert done.code == 1
    assert "'corref': did you mean 'coref'?" in done.err
