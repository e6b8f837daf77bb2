"""How scripts are told of a judge: the same switches everywhere, and a sentence for what does not
exist.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards.judges import CachedJudge
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.training.commands.metric_options import ASKING, add_flags, judge_of, read_option
from tests.support.command import spanreward


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("spanreward.rewards.judges.shared.cached_judge.CACHE", tmp_path)
    parser = argparse.ArgumentParser()
    add_flags(parser, *ASKING)
    return parser


def test_a_judge_as_the_command_line_says(parser: Any) -> None:
    options = ["--judge-option", "memory=2e9", "--judge-option", "dtype=bfloat16"]
    judge = judge_of(parser.parse_args(["--judge", "vllm:smollm2", "--no-cache", *options]))
    assert isinstance(judge, VllmJudge)
    assert (judge.memory, judge.dtype) == (2_000_000_000, "bfloat16")
    assert isinstance(judge_of(parser.parse_args(["--judge", "vllm:smollm2"])), CachedJudge)
    assert isinstance(judge_of(parser.parse_args(["--judge", "match", "--cache"])), CachedJudge)
    assert not isinstance(judge_of(parser.parse_args(["--judge", "match"])), CachedJudge)


def test_values_are_yaml() -> None:
    texts = ("a=1", "a=2e9", "a=null", "a=b=c", "a=[1, x]", "a=")
    assert [read_option(text)[1] for text in texts] == [1, 2e9, None, "b=c", [1, "x"], None]
    for text in ("a", "a=["):
        with pytest.raises(ValueError, match=r"key=value|YAML"):
            read_option(text)


def test_labels_passes_them_on(tmp_path: Path) -> None:
    row = {"id": 1, "completion": "A star.", "reference": "A star.", "mistakes": []}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    done = spanreward("labels", "spans", tmp_path / "rows.jsonl", "--judge-option", "corref=none")
    assert (done.code, done.out) == (1, "")
    assert (
        done.err
        == "spanreward labels: unknown option of the judge match: 'corref': did you mean 'coref'?\n"
    )
