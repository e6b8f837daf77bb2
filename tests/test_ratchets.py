"""Scope is rationed: what users have to know does not grow, and no file or function outgrows a reader.

A new public name, command, option, recipe key or extra takes another one's place in the same commit, or
an issue names it. Raise a number only then, and say in the commit which issue.
"""

import argparse
import ast
import inspect
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

import spanreward
from spanreward.training import recipe
from spanreward.training.experimental.judge_training.data import JudgeRecipe
from tests.import_graph import files_of
from tests.support.command_parsers import WORDS, catch_parsers
from tests.support.paths import ROOT

PUBLIC_NAMES = 40  # 39, and JudgedReward, which issue 65 names
COMMANDS = 10
# Of all commands together, --help aside: 78, --show of issue 67, and of issue 70 --quiet of two commands and
# --set, which takes the place of --judge-option and of words without a flag.
OPTIONS = 82
# Those of judges' recipes too, each where it is first defined: 70, and data.target of issue 68.
RECIPE_KEYS = 71
EXTRAS = 8
FUNCTION_LINES = 80
FILE_LINES = 600


def test_public_names() -> None:
    assert len(spanreward.__all__) <= PUBLIC_NAMES


def test_commands() -> None:
    assert len(WORDS) <= COMMANDS  # test_habit.py holds that WORDS has all of them


def test_options(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = set()
    for command, parser in catch_parsers(monkeypatch).items():
        for action in parser._actions:
            shown = action.option_strings and action.help != argparse.SUPPRESS
            if shown and action.dest != "help":
                flags.add((command, action.dest))
    assert len(flags) <= OPTIONS


def recipe_keys() -> Iterator[tuple[str, str]]:
    """Yields each key that a recipe may have, with the part that first defines it."""
    for name, part in {**vars(recipe), "JudgeRecipe": JudgeRecipe}.items():
        if isinstance(part, type) and issubclass(part, BaseModel):
            for key in inspect.get_annotations(part).keys() & part.model_fields.keys():
                yield name, key


def test_recipe_keys() -> None:
    assert len(list(recipe_keys())) <= RECIPE_KEYS


def test_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(project["optional-dependencies"]) <= EXTRAS


def long_functions(path: Path) -> Iterator[str]:
    """Yields the functions of a file that have too many lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield f"{path.relative_to(ROOT)} {node.name}: {lines}"


def test_no_function_is_long() -> None:
    """A guard against slips, and no reason to cut a whole in two."""
    long = [line for path in files_of(ROOT).values() for line in long_functions(path)]
    assert long == []


def test_no_file_is_long() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in files_of(ROOT).values()}
    assert {path: count for path, count in lines.items() if count > FILE_LINES} == {}
