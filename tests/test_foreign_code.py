"""No code of a model's folder runs here: every load of a model's files says so.

transformers asks on the terminal where `trust_remote_code` is left out, and runs the folder's code
after a "y".
"""

import ast
import io
import json
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards.judges.by_name import load_judge
from spanreward.training.policy import load_policy
from spanreward.training.recipe import RecipeError
from tests.import_graph import files_of
from tests.support.paths import ROOT
from tests.support.tiny_models import save_llama

READERS = ("from_pretrained", "from_config")
# The tokenizers library reads one JSON file, peft the weights of an adapter
# over a loaded model, and a GenerationConfig is numbers.
WITHOUT_CODE = ("Tokenizer", "PeftModel", "GenerationConfig")


def loads() -> list[tuple[str, ast.Call]]:
    calls = []
    for path in [*files_of(ROOT).values(), *(ROOT / "scripts").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr in READERS and ast.unparse(node.func.value) not in WITHOUT_CODE:
                calls.append((f"{path}:{node.lineno}", node))
    return calls


def test_every_load_of_a_model_turns_its_code_off() -> None:
    calls = loads()
    assert len(calls) > 10
    for where, call in calls:
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert given.get("trust_remote_code") == "False", where


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder whose configuration, tokenizer and model are read by code of its own."""
    save_llama(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["model_type"] = "stranger"
    config["auto_map"] = {"AutoConfig": "stranger.Config", "AutoModelForCausalLM": "stranger.Model"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    code = f"open({str(tmp_path / 'ran')!r}, 'w').write('x')\n"
    (tmp_path / "stranger.py").write_text(code)
    return tmp_path


def test_a_strangers_code_does_not_run(
    foreign: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 10))
    with pytest.raises(RecipeError):
        load_policy(str(foreign))
    with pytest.raises(ValueError, match="stranger"), load_judge(f"transformers:{foreign}"):
        pass
    assert not (foreign / "ran").exists()
    assert "Do you wish to run" not in capsys.readouterr().out


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES: list[Any] = [
    lambda folder: cut(folder / "model.safetensors"),
    lambda folder: (folder / "model.safetensors").unlink(),
    lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 99),
    lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
    lambda folder: cut(folder / "tokenizer.json"),
    lambda folder: (folder / "tokenizer.json").write_text("[]"),
    lambda folder: cut(folder / "config.json"),
    lambda folder: (folder / "config.json").write_text("[1]"),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_one_sentence(damage: Any, tmp_path: Path) -> None:
    save_llama(tmp_path)
    damage(tmp_path)
    with pytest.raises(RecipeError) as error:
        load_policy(str(tmp_path))
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)
