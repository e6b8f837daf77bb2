"""`spanreward recipes`: what it lists, what it copies, and that a wheel would bring all of it."""

import tomllib
from pathlib import Path

import pytest

from spanreward.training.commands import recipes
from spanreward.training.recipe import load_recipe
from tests.support.command import Done, spanreward
from tests.support.paths import ROOT


def copied(name: str, folder: Path) -> Done:
    return spanreward("recipes", name, "--output", folder)


def test_the_list_names_every_file_and_cuts_no_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = spanreward("recipes").out.splitlines()
    said = dict(zip(lines[::2], (line.strip() for line in lines[1::2]), strict=True))
    assert list(said) == recipes.packaged_files()
    assert said["recipes/quickstart/scenes-dapo.yaml"].startswith("DAPO with PoSh")
    assert said["recipes/data/coco.yaml"].startswith("COCO 2017 (Lin et al.")
    assert "National Gallery of Art" in said["recipes/data/docent.yaml"]


@pytest.mark.parametrize("name", recipes.packaged_files())
def test_what_is_copied_is_whole(tmp_path: Path, name: str) -> None:
    assert copied(name, tmp_path).out.splitlines()[0] == str(tmp_path / name)
    assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()
    if name.startswith("recipes/") and not name.startswith(("recipes/data/", "recipes/judges/")):
        assert load_recipe(tmp_path / name) == load_recipe(ROOT / name)


def test_nothing_is_overwritten_and_data_is_shared(tmp_path: Path) -> None:
    name = "recipes/qwen2.5-vl-7b/docent-posh-dapo.yaml"
    copied(name, tmp_path)
    (tmp_path / "recipes/data/docent.yaml").write_text("mine: true\n")
    again = copied(name, tmp_path)
    assert (again.code, "docent-posh-dapo.yaml is there" in again.err) == (1, True)
    unknown = copied("recipes/quickstart/scene-dapo.yaml", tmp_path)
    assert (unknown.code, "'recipes/quickstart/scenes-dapo.yaml'" in unknown.err) == (1, True)
    copied("recipes/qwen2.5-vl-7b/docent-sft.yaml", tmp_path)
    assert (tmp_path / "recipes/data/docent.yaml").read_text() == "mine: true\n"


OF_A_CHECKOUT = (  # they name files of experiments/
    *("recipes/quickstart/", "recipes/smollm2/"),
    *("recipes/data/scenes.yaml", "recipes/data/scenes-people.yaml", "recipes/data/captions.yaml"),
)


def test_a_wheel_brings_every_file_that_needs_no_checkout() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    brought = set()
    for part in recipes.RECIPE_FOLDERS:
        for pattern in settings["package-data"][f"spanreward.{part}"]:
            for path in (ROOT / part).glob(pattern):
                brought.add(path.relative_to(ROOT).as_posix())
    assert brought == {
        path for path in recipes.packaged_files() if not path.startswith(OF_A_CHECKOUT)
    }
    assert not [path for path in brought if "experiments/" in (ROOT / path).read_text()]
