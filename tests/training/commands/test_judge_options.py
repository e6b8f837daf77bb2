"""How scripts are told of a judge: the same switches everywhere, a sentence for a mistake."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards.judges import CachedJudge, MatchJudge
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.training.commands.metric_options import (
    JUDGE_FLAGS,
    add_flags,
    add_words,
    judge_alone,
    judge_of,
    read_arguments,
    read_option,
    values_last,
)


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("spanreward.rewards.judges.cache.cached_judge.CACHE_FOLDER", tmp_path)
    parser = argparse.ArgumentParser()
    add_flags(parser, *JUDGE_FLAGS)
    return parser


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("vllm:smollm2 --no-cache", VllmJudge),
        ("vllm:smollm2", CachedJudge),
        ("match --cache", CachedJudge),
        ("match", MatchJudge),
    ],
)
def test_a_judge_as_the_command_line_says(parser: Any, words: str, kind: type) -> None:
    assert isinstance(judge_of(read_arguments(parser, ["--judge", *words.split()])), kind)


def test_a_judge_has_its_options(parser: Any) -> None:
    words = "--judge vllm:smollm2 --no-cache --set judge.memory=2e9 --set judge.dtype=bfloat16"
    judge = judge_of(read_arguments(parser, words.split(" ")))
    assert (judge.memory, judge.dtype) == (2_000_000_000, "bfloat16")


def test_set_gives_options_of_the_metric_and_of_the_judge(
    parser: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--set", "mode=published", "judge.memory=2e9", "--set", "judge.dtype=bfloat16"]
    arguments = read_arguments(parser, words)
    assert arguments.options == ["mode=published"]
    assert arguments.judge_option == ["memory=2e9", "dtype=bfloat16"]
    assert read_arguments(parser, []).judge_option == []  # nothing is left of the call before
    assert capsys.readouterr().err == ""
    assert "--set key=value [key=value ...]" in parser.format_help()
    assert "judge-option" not in parser.format_help()


def test_the_old_ways_are_accepted_and_told_what_to_write(
    parser: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    add_words(parser)
    words = ["mode=published", "--judge-option", "memory=2e9", "--judge", "match", "a=[1, b]"]
    arguments = read_arguments(parser, words)
    assert arguments.options == ["mode=published", "a=[1, b]"]
    assert arguments.judge_option == ["memory=2e9"]
    (line,) = capsys.readouterr().err.splitlines()
    assert "write --set mode=published 'a=[1, b]' judge.memory=2e9: " in line
    assert line.endswith("from 0.2 on.")


def test_a_judge_alone_takes_no_options_of_a_metric(parser: Any) -> None:
    arguments = read_arguments(parser, ["--judge", "match", "--set", "memory=2e9"])
    with pytest.raises(ValueError, match=r"written --set judge\.KEY=VALUE, got memory=2e9\."):
        judge_alone(arguments)


def test_values_are_yaml() -> None:
    texts = ("a=1", "a=2e9", "a=null", "a=b=c", "a=[1, x]", "a=")
    assert [read_option(text)[1] for text in texts] == [1, 2e9, None, "b=c", [1, "x"], None]
    for text in ("a", "a=["):
        with pytest.raises(ValueError, match=r"key=value|YAML"):
            read_option(text)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--set seed=1 RECIPE", "RECIPE --set seed=1"),
        ("--set seed=1 output=o RECIPE --dry-run", "RECIPE --dry-run --set seed=1 output=o"),
        ("RECIPE --set seed=1", "RECIPE --set seed=1"),
        ("posh --columns a=b --set c=d IN --set e=f", "posh IN --columns a=b --set c=d --set e=f"),
        ("--set seed RECIPE", "RECIPE --set seed"),  # its value lacks a sign, which is then said
        ("--set seed=1 -- RECIPE", "--set seed=1 -- RECIPE"),
        ("a=DIR b=DIR --json out", "a=DIR b=DIR --json out"),
    ],
)
def test_what_follows_the_values_of_an_option_is_not_its_value(line: str, expected: str) -> None:
    assert values_last(line.split()) == expected.split()
