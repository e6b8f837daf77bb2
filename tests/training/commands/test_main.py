"""The command `spanreward`: every command there, and scoring without what only training needs."""

import json
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import spanreward
from spanreward.rewards.base.needs import EXTRAS
from spanreward.training.commands import main as module
from tests.support.paths import ROOT

WITHOUT_EXTRA = """
import sys
sys.modules.update(dict.fromkeys({names}))
from spanreward.training.commands.main import main
main()
"""


def without_extra(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`spanreward` where none of the extra train's packages can be imported."""
    command = [sys.executable, "-c", WITHOUT_EXTRA.format(names=EXTRAS["train"]), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize("name", module.COMMANDS)
def test_every_command_has_help(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["spanreward", name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    assert f"usage: spanreward {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "path", sorted((ROOT / "scripts").glob("*.py")), ids=lambda path: path.stem
)
def test_scripts_are_the_commands(path: Path) -> None:
    where, _ = module.COMMANDS[path.stem]
    assert f"from spanreward.training.{where} import main" in path.read_text()
    assert callable(import_module(f"spanreward.training.{where}").main)


def test_a_command_that_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["spanreward", "scroe"])
    with pytest.raises(SystemExit):
        module.main()
    assert "invalid choice: 'scroe'" in capsys.readouterr().err


def test_scoring_needs_nothing_of_the_extra(tmp_path: Path) -> None:
    rows, verdicts = tmp_path / "rows.jsonl", tmp_path / "verdicts.jsonl"
    rows.write_text(
        json.dumps({"completion": "A red circle.", "reference": "A red circle."}) + "\n"
    )
    done = without_extra(
        "score", "posh", "--judge", "match", "--input", str(rows), "--output", str(verdicts)
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(verdicts.read_text())["score"] == 1.0


def test_files_of_answers_are_compared_without_the_extra(tmp_path: Path) -> None:
    for name, text in (("rows", "A red circle."), ("a", "A red circle."), ("b", "A star.")):
        lines = [
            {"id": str(number), "completion": text, "reference": "A red circle."}
            for number in range(8)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = [f"{name}={tmp_path / name}.jsonl" for name in "ab"]
    words = [*files, *f"--data {tmp_path}/rows.jsonl --metric posh --output {tmp_path}/out".split()]
    done = without_extra("compare", *words)
    assert done.returncode == 0, done.stderr
    assert (
        json.loads((tmp_path / "out" / "results.json").read_text())["models"]["a"]["posh_f1"][
            "mean"
        ]
        == 1.0
    )


def test_training_without_the_extra_is_one_sentence(tmp_path: Path) -> None:
    done = without_extra("train", "recipes/quickstart/scenes-dapo.yaml", f"output={tmp_path}")
    assert done.returncode == 1
    assert done.stderr.endswith(": pip install 'spanreward[train]'.\n")
    assert "Traceback" not in done.stderr


def test_the_version_is_that_of_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["spanreward", "--version"])
    with pytest.raises(SystemExit):
        module.main()
    assert (
        capsys.readouterr().out
        == f"spanreward {version('spanreward')}\n"
        == f"spanreward {spanreward.__version__}\n"
    )
