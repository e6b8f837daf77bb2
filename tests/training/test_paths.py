"""`~/x` is one folder everywhere: each key that may hold a path has its home written out."""

from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from spanreward.training.experimental.judge_training.data import JudgeRecipe
from spanreward.training.recipe import RECIPE_PARTS, CascadePart, Part, Recipe, load_recipe
from tests.support.command import spanreward
from tests.support.paths import ROOT

DAPO = ROOT / "recipes" / "quickstart" / "scenes-dapo.yaml"
# of all keys that may hold any text, those whose text is no path
TEXTS = {"columns", "prompt", "revision", "split", "subset", "target_modules"}
KINDS: set[type[Part]] = {Recipe, JudgeRecipe, *RECIPE_PARTS.values()}
KINDS.remove(CascadePart)  # whose judges are JudgeParts


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("kind", sorted(KINDS, key=lambda kind: kind.__name__))
def test_every_key_with_a_path_has_its_home_written_out(kind: type[Part], home: Path) -> None:
    for name, field in kind.model_fields.items():
        reader: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, None, *field.metadata])
        for value in ("~/x", ["~/x"], {"~/x": {"a": "~/y"}}, {"a": "~/x"}):
            try:
                read = reader.validate_python(value)
            except ValidationError:
                continue
            assert name in TEXTS or f"{home}/" in str(read), (kind, name, read)


def test_a_recipe_and_its_judges_are_at_home(home: Path) -> None:
    changes = [
        "output=~/run",
        "data={source: mixed, parts: [{source: jsonl, path: ~/rows.jsonl}, {source: hub, id: ~/d}]}",
        "validation={parts: [{source: jsonl, path: ~/held.jsonl}]}",
        "rewards=[{metric: ~/own.py:One, judge: encoder:~/a+match}]",
    ]
    written = yaml.safe_load(DAPO.read_text()) | {"data": "~/data.yaml"}
    (home / "recipe.yaml").write_text(yaml.safe_dump(written))
    (home / "data.yaml").write_text("{source: jsonl, path: ~/rows.jsonl}")
    recipe = load_recipe("~/recipe.yaml", changes)
    assert "~" not in recipe.model_dump_json()
    assert recipe.validation_data is not None
    assert recipe.validation_data.parts[0].path == f"{home}/held.jsonl"
    assert recipe.output == f"{home}/run"
    assert recipe.rewards[0].judge.name == f"encoder:{home}/a+match"


def test_the_files_of_a_command_are_at_home(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (home / "rows.jsonl").write_text('{"completion": "A cat.", "reference": "A cat."}\n')
    done = spanreward(
        *("score", "posh", "--judge", "match", "--input", "~/rows.jsonl"),
        *("--output=~/verdicts.jsonl", "--json=~/numbers.json", "--html=~/page.html"),
    )
    assert done.code == 0, done.err
    assert not list(folder.iterdir())
    for name in ("verdicts.jsonl", "numbers.json", "page.html"):
        assert (home / name).is_file()
