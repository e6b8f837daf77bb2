"""The command `spanreward`: every command there, and scoring without what only training needs."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import spanreward
from spanreward.rewards.base.needs import PACKAGES_OF_EXTRAS
from spanreward.training.commands import main as module
from tests.support import command
from tests.support.comparing import results_of
from tests.support.files import read_lines, write_lines
from tests.support.paths import ROOT

WITHOUT_EXTRA = """
import sys
sys.modules.update(dict.fromkeys({names}))
from spanreward.training.commands.main import main
main()
"""


def without_extra(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`spanreward` where none of the extra train's packages can be imported."""
    words = [
        sys.executable,
        "-c",
        WITHOUT_EXTRA.format(names=PACKAGES_OF_EXTRAS["train"]),
        *arguments,
    ]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize("name", module.COMMAND_MODULES)
def test_every_command_has_help(name: str) -> None:
    done = command.spanreward(name, "--help")
    assert done.code == 0
    assert f"usage: spanreward {name}" in done.out


@pytest.mark.parametrize(
    "path", sorted((ROOT / "scripts").glob("*.py")), ids=lambda path: path.stem
)
def test_scripts_are_the_commands(path: Path) -> None:
    where, _ = module.COMMAND_MODULES[path.stem]
    code = path.read_text()
    assert f"from spanreward.training.{where} import main" in code
    assert code.endswith('if __name__ == "__main__":\n    expand_arguments()\n    main()\n')
    assert callable(import_module(f"spanreward.training.{where}").main)


def test_no_command_prints_the_help_and_an_unknown_one_is_refused() -> None:
    done = command.spanreward()
    assert (done.code, "commands:" in done.out) == (0, True)
    assert "invalid choice: 'scroe'" in command.spanreward("scroe").err


def test_scoring_and_comparing_need_nothing_of_the_extra(tmp_path: Path) -> None:
    for name, text in (("rows", "A red circle."), ("a", "A red circle."), ("b", "A star.")):
        line = {"completion": text, "reference": "A red circle."}
        write_lines(tmp_path / f"{name}.jsonl", [{"id": str(n), **line} for n in range(8)])
    rows, out = f"{tmp_path}/rows.jsonl", tmp_path / "out"
    score = f"score posh --judge match --input {rows} --output {tmp_path}/verdicts.jsonl"
    done = without_extra(*score.split())
    assert done.returncode == 0, done.stderr
    assert read_lines(tmp_path / "verdicts.jsonl")[0]["score"] == 1.0
    files = f"a={tmp_path}/a.jsonl b={tmp_path}/b.jsonl"
    done = without_extra(*f"compare {files} --data {rows} --metric posh --output {out}".split())
    assert done.returncode == 0, done.stderr
    assert results_of(out)["models"]["a"]["posh_f1"]["mean"] == 1.0


def test_training_without_the_extra_is_one_sentence(tmp_path: Path) -> None:
    done = without_extra("train", "recipes/quickstart/scenes-dapo.yaml", f"output={tmp_path}")
    assert done.returncode == 1
    assert done.stderr.endswith(": pip install 'spanreward[train]'.\n")
    assert "Traceback" not in done.stderr


def test_the_version_is_that_of_the_package() -> None:
    assert version("spanreward") == spanreward.__version__
    assert command.spanreward("--version").out == f"spanreward {spanreward.__version__}\n"
