"""All commands have one habit: a flag means the same in each of them, and none is accepted and
ignored.
"""

import argparse
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from spanreward.training.commands.main import COMMANDS
from spanreward.training.commands.metric_options import (
    ALL_FLAGS,
    FLAGS,
    JUDGE_FLAGS,
    ROW_FLAGS,
    Once,
    add_flags,
    overrides_of,
)
from spanreward.training.recipe import load_recipe
from tests.support.command import spanreward
from tests.support.command_parsers import WORDS, catch_parsers

SAME = ("action", "nargs", "type", "metavar")  # of a flag, in every command
OWN = {("doctor", "judge", "action")}  # checks several


@pytest.fixture
def parsers(monkeypatch: pytest.MonkeyPatch) -> dict[str, argparse.ArgumentParser]:
    return catch_parsers(monkeypatch)


def defined(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {action.dest: action for action in parser._actions}


def test_a_flag_is_the_same_in_every_command(parsers: dict[str, argparse.ArgumentParser]) -> None:
    assert {words[0] for words in WORDS.values()} == COMMANDS.keys()
    plain = argparse.ArgumentParser()
    add_flags(plain, *FLAGS)
    shared = defined(plain)
    for command, parser in parsers.items():
        for dest, action in defined(parser).items():
            if dest not in FLAGS or action.help == argparse.SUPPRESS:
                continue
            assert action.option_strings == shared[dest].option_strings, (command, dest)
            for part in SAME:
                one, other = (
                    type(a) if part == "action" else vars(a)[part] for a in (action, shared[dest])
                )
                if part == "metavar" and dest == "output":  # what kind of file it is
                    continue
                assert one == other or (command, dest, part) in OWN, (command, dest, part)


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
    parser.add_argument("--limit", **FLAGS["limit"])
    assert FLAGS["limit"]["action"] is Once
    assert parser.parse_args(["--limit", "3", "--limit", "3"]).limit == 3
    done = spanreward(
        "score", "posh", "--judge", "match", "--judge", "vllm:x", "--input", "a", "--output", "b"
    )
    assert done.code == 2
    assert "twice, match and vllm:x" in done.err


ROW = {
    "id": "1",
    "completion": "A red dog.",
    "reference": "A red dog.",
    "mistakes": [],
    "answers": ["a red dog"],
} | {"context": "A dog."}
READ_BY_NONE = {"help"}


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
    "score": "score posh --judge match --input rows.jsonl --output v.jsonl --json n.json",
    "labels spans": "labels spans rows.jsonl --json n.json",
    "judge label": "judge label rows.jsonl --judge match --output l.jsonl --json n.json",
    "criteria write": "criteria write rows.jsonl --judge own.py:Writer --output c.jsonl --html "
    "c.html --json n.json",
    "compare": "compare a=a.jsonl b=b.jsonl --data rows.jsonl --metric posh --output out --json "
    "n.json",
    "doctor": "doctor --judge match --json n.json",
    "recipes": "recipes accelerate_configs/ddp.yaml --output out",
}


@pytest.mark.parametrize("name", RUNS)
def test_every_flag_is_looked_at(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{**ROW, "id": str(number)} for number in range(8)]
    for file in ("rows.jsonl", "a.jsonl", "b.jsonl"):
        Path(file).write_text("".join(json.dumps(row) + "\n" for row in rows))
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
    assert Path("n.json").is_file() or name == "recipes"


def test_a_recipe_s_flags_are_short_for_its_keys(tmp_path: Path) -> None:
    flags = argparse.Namespace(
        options=["seed=1"], output=tmp_path / "a: b", overwrite=True, limit=3
    )
    assert overrides_of(flags) == [
        "seed=1",
        f'output="{tmp_path}/a: b"',
        "overwrite=true",
        "data.count=3",
    ]
    recipe = load_recipe("recipes/data/../qwen2.5-vl-7b/docent-posh-dapo.yaml", overrides_of(flags))
    assert (recipe.output, recipe.overwrite, recipe.data.count) == (str(tmp_path / "a: b"), True, 3)
    nothing = argparse.Namespace(options=[], output=None, overwrite=False)
    assert overrides_of(nothing) == []
    told = spanreward("train", "recipes/quickstart/scenes-sft.yaml", "--stop-on", "failed")
    assert "--stop-on watches rewards" in told.err


def test_a_key_with_two_values_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = str(Path("recipes/qwen2.5-vl-7b/docent-posh-dapo.yaml").resolve())
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(json.dumps(ROW) + "\n")
    score = "score posh --judge match --input rows.jsonl --output v.jsonl"
    for words, key in (
        (f"{score} --set mode=published --set mode=default", "mode"),
        (f"{score} --columns reference=a --columns reference=b", "reference"),
        (f"{score} --set judge.coref=none judge.coref=rules", "coref"),
        (f"train {recipe} --output x --set output=y", "output"),
    ):
        done = spanreward(*words.split())
        assert (done.code, f"{key} is given twice, " in done.err) == (1, True), (words, done.err)
    twice = argparse.Namespace(options=["seed=1", "output=a", "seed=2"], output=None, limit=None)
    # as in scripts that pass their own words on
    assert load_recipe(recipe, overrides_of(twice)).seed == 2
    with pytest.raises(ValueError, match=r"data.count: .* greater than 0, got 0"):
        load_recipe(recipe, overrides_of(argparse.Namespace(options=[], limit=0)))


def test_a_place_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    for words in (
        "recipes accelerate_configs/ddp.yaml --output file",
        "doctor --json file/found.json",
    ):
        done = spanreward(*words.split())
        assert (done.code, "[Errno " in done.err, "file" in done.err) == (1, True, True), done.err
