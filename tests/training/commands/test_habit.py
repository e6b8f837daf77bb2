"""A flag means the same in all commands, and none is accepted and ignored."""

import argparse
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest

from spanreward.training.commands.main import COMMAND_MODULES
from spanreward.training.commands.metric_options import (
    ALL_FLAGS,
    JUDGE_FLAGS,
    METRIC_FLAGS,
    ROW_FLAGS,
    Once,
    add_flags,
    overrides_of,
)
from spanreward.training.recipe import load_recipe
from tests.support.command import spanreward
from tests.support.command_parsers import WORDS, catch_parsers
from tests.support.files import write_lines
from tests.support.paths import ROOT

SCORE = "score posh --judge match --input rows.jsonl --output v.jsonl"
PAGE = "--html p.html"


@pytest.fixture
def parsers(monkeypatch: pytest.MonkeyPatch) -> dict[str, argparse.ArgumentParser]:
    return catch_parsers(monkeypatch)


def defined(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {action.dest: action for action in parser._actions}


def test_a_flag_is_the_same_in_every_command(parsers: dict[str, argparse.ArgumentParser]) -> None:
    assert {words[0] for words in WORDS.values()} == COMMAND_MODULES.keys()
    plain = argparse.ArgumentParser()
    add_flags(plain, *METRIC_FLAGS)
    shared = defined(plain)
    for command, parser in parsers.items():
        for dest, action in defined(parser).items():
            if dest not in METRIC_FLAGS or action.help == argparse.SUPPRESS:
                continue
            other = shared[dest]
            assert action.option_strings == other.option_strings, (command, dest)
            assert (action.nargs, action.type) == (other.nargs, other.type), (command, dest)
            if dest != "output":  # whose value says what kind of file it is
                assert action.metavar == other.metavar, (command, dest)
            if (command, dest) != ("doctor", "judge"):  # checks several
                assert type(action) is type(other), (command, dest)


def test_who_asks_has_all_of_a_judges_flags_and_who_reads_rows_theirs(
    parsers: dict[str, argparse.ArgumentParser],
) -> None:
    flags = {name: set(defined(parser)) for name, parser in parsers.items()}
    for name in ("score", "compare", "judge label", "labels spans", "criteria write"):
        assert {*JUDGE_FLAGS, *ROW_FLAGS, "overwrite", "json", "options"} <= flags[name], name
    for name in ("score", "compare"):
        assert set(ALL_FLAGS) <= flags[name]
    for name in ("train", "judge train"):
        assert {"output", "overwrite", "options", "json"} <= flags[name]
    for name, known in flags.items():
        assert "json" in known or name in ("recipes", "serve"), name  # which print no numbers
        assert ("output" in known) == ("overwrite" in known) or name in (
            "recipes",
            "labels spans",
        ), name


def test_what_may_be_repeated_is_added_to(parsers: dict[str, argparse.ArgumentParser]) -> None:
    """An option of several values that is given twice must not lose the first ones."""
    for name, parser in parsers.items():
        for action in parser._actions:
            if action.option_strings and action.nargs in ("*", "+"):
                assert type(action).__name__ == "_ExtendAction", (name, action.option_strings)


def test_a_second_value_is_refused() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", **METRIC_FLAGS["limit"])
    assert METRIC_FLAGS["limit"]["action"] is Once
    assert parser.parse_args(["--limit", "3", "--limit", "3"]).limit == 3
    done = spanreward(*f"{SCORE} --judge vllm:x".split())
    assert done.code == 2
    assert "twice, match and vllm:x" in done.err


ROW = {"id": "1", "completion": "A red dog.", "reference": "A red dog."}
ROW |= {"mistakes": [], "answers": ["a red dog"], "context": "A dog."}


class Watched(argparse.Namespace):
    """Arguments that know which of them were looked at."""

    looked: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        if name in object.__getattribute__(self, "__dict__"):
            Watched.looked.add(name)
        return object.__getattribute__(self, name)


WRITER = """
from spanreward import Judge, Rating
class Writer(Judge):
    name = "writer"
    def write(self, questions, max_tokens):
        return ['["Says red."]' for _ in questions]
    def rate(self, questions, scale=()):
        return [Rating({entry: float(entry == "4") for entry in "12345"}) for _ in questions]
"""
RUNS = {
    "score": f"{SCORE} {PAGE}",
    "labels spans": "labels spans rows.jsonl",
    "judge label": "judge label rows.jsonl --judge match --output l.jsonl",
    "criteria write": "criteria write rows.jsonl --judge own.py:Writer "
    "--output c.jsonl --html c.html",
    "compare": "compare a=a.jsonl b=b.jsonl --data rows.jsonl --metric posh --output out",
    "doctor": "doctor --judge match",
}
READERS = ("compare", "score", "labels spans", "judge label", "criteria write")
RUNS = {name: f"{words} --json n.json" for name, words in RUNS.items()}
RUNS["recipes"] = "recipes accelerate_configs/ddp.yaml --output out"  # prints no numbers


@pytest.mark.parametrize("name", RUNS)
def test_every_flag_is_looked_at(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{**ROW, "id": str(number)} for number in range(8)]
    for file in ("rows", "a", "b"):
        write_lines(f"{file}.jsonl", rows)
    Path("own.py").write_text(WRITER)
    defaults = set[str]()
    real = argparse.ArgumentParser.parse_known_args

    def watched(self: argparse.ArgumentParser, args: Any = None, namespace: Any = None) -> Any:
        space, extra = real(self, args, namespace)
        found = Watched(**vars(space))
        defaults.update(action.dest for action in self._actions)
        return found, extra

    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", watched)
    Watched.looked = set()
    done = spanreward(*RUNS[name].split())
    assert done.code == 0, done.err
    options = {dest for dest in defaults if dest not in ("help", "version", "command")}
    assert options - Watched.looked == set()
    assert Path("n.json").is_file() == (name != "recipes")


def test_a_recipe_s_flags_are_short_for_its_keys(tmp_path: Path) -> None:
    output = tmp_path / "a: b"
    flags = argparse.Namespace(options=["seed=1"], output=output, overwrite=True, limit=3)
    changes = overrides_of(flags)
    assert changes == ["seed=1", f'output="{output}"', "overwrite=true", "data.count=3"]
    recipe = load_recipe("recipes/data/../qwen2.5-vl-7b/docent-posh-dapo.yaml", changes)
    assert (recipe.output, recipe.overwrite, recipe.data.count) == (str(output), True, 3)
    nothing = argparse.Namespace(options=[], output=None, overwrite=False)
    assert overrides_of(nothing) == []
    told = spanreward("train", "recipes/quickstart/scenes-sft.yaml", "--stop-on", "failed")
    assert "--stop-on watches rewards" in told.err


RECIPE = f"{ROOT}/recipes/qwen2.5-vl-7b/docent-posh-dapo.yaml"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (f"{SCORE} --set mode=published --set mode=default", "mode is given twice, "),
        (f"{SCORE} --columns reference=a --columns reference=b", "reference is given twice, "),
        (f"{SCORE} --set judge.coref=none judge.coref=rules", "coref is given twice, "),
        (f"train {RECIPE} --output x --set output=y", "output is given twice, "),
        ("recipes accelerate_configs/ddp.yaml --output rows.jsonl", r"\[Errno .*rows.jsonl"),
    ],
)
def test_a_key_with_two_values_and_a_place_that_cannot_be_written_are_refused(
    words: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines("rows.jsonl", [ROW])
    done = spanreward(*words.split())
    assert done.code == 1, done.err
    assert re.search(told, done.err)


LONE = "'reference' behind --columns has no \"=\": a column is written --columns OURS=THEIRS"
OPTION = "'reference' behind --set has no \"=\": an option is written --set KEY=VALUE"
EXTRA = "'reference' is one word too many: .*, an option is written --set KEY=VALUE"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        *((f"{RUNS[name]} --columns id=id reference", LONE) for name in READERS),
        *((f"{RUNS[name]} --set a=b reference", OPTION) for name in (*READERS, "doctor")),
        *((f"{RUNS[name]} reference", EXTRA) for name in (*READERS[1:], "doctor")),
        ("labels spans rows.jsonl --metric reference --columns id=id reference", LONE),
        (f"{SCORE} --columns id=id --set a=b reference", OPTION),
        (f"train {RECIPE} --set seed=1 reference", OPTION),
        ("judge train recipes/judges/people.yaml --set seed=1 reference", OPTION),
        ("serve posh --judge match --set a=b reference", OPTION),
        ("serve posh --judge match reference", EXTRA),
        ("compare --data r --output o --metric posh --columns id=id a=a b=b", "in front of --set"),
    ],
)
def test_a_stray_word_is_named_with_its_cure(words: str, told: str) -> None:
    done = spanreward(*words.split())
    assert done.code == 1
    assert re.search(told, done.err)
    assert done.err.count("\n") == 1


def test_of_two_values_of_a_recipe_s_key_the_last_one_counts() -> None:
    """As in scripts that pass their own words on."""
    twice = argparse.Namespace(options=["seed=1", "output=a", "seed=2"], output=None, limit=None)
    assert load_recipe(RECIPE, overrides_of(twice)).seed == 2
    with pytest.raises(ValueError, match=r"data.count: .*got 0"):
        load_recipe(RECIPE, overrides_of(argparse.Namespace(options=[], limit=0)))
