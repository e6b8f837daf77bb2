"""What tests/gpu/whole.py would run on a GPU still fits README, the guide and its own archives."""

import importlib.util
import json
import sys
import zipfile
from pathlib import Path

import pytest

from spanreward.training.recipe import load_recipe
from tests.gpu import unpack
from tests.gpu.phases import readme, smollm2, step
from tests.gpu.phases.timeline import Timeline
from tests.gpu.whole import PHASES, environment, streamed


@pytest.mark.parametrize("size", ["toy", "real"])
def test_the_guides_recipe_and_readmes_script_take_our_models(size: str, tmp_path: Path) -> None:
    recipe = tmp_path / "one_gpu.yaml"
    recipe.write_text(step.RECIPE.search(step.GUIDE.read_text())[1])  # type: ignore[index]
    changed = load_recipe(recipe, step.changes(tmp_path, tmp_path / "rows.jsonl", size))
    assert changed.trainer["max_steps"] == 3
    assert changed.trainer["use_vllm"]
    compile(readme.script(tmp_path, tmp_path / "rows.jsonl", size), "README", "exec")


def test_smollm2s_recipe_takes_both_samplers() -> None:
    path = Path("recipes/smollm2/captions-dapo.yaml")
    for changes in (smollm2.IN_VLLM, smollm2.TOY, ()):
        recipe = load_recipe(path, [*smollm2.SAME, *changes])
        assert recipe.trainer.get("use_vllm", False) == (changes == smollm2.IN_VLLM)


def test_parts_are_joined_and_unpacked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, "BUILD", tmp_path)
    with pytest.raises(SystemExit, match="carry all parts"):
        unpack.unpack("gpu_packages")
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        archive.writestr("package/__init__.py", "there = True" * 100)
    whole = (tmp_path / "whole.zip").read_bytes()
    for number, start in enumerate(range(0, len(whole), 500)):
        part = tmp_path / f"gpu_packages-{unpack.PYTHON}.zip.{number:02}"
        part.write_bytes(whole[start : start + 500])
    assert [unpack.unpack("gpu_packages"), unpack.unpack("gpu_packages")] == [True, False]
    assert (unpack.folder("gpu_packages") / "package" / "__init__.py").is_file()


def test_a_phase_says_its_seconds_and_keeps_what_others_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Engine:
        def ask(self) -> int:
            return 4

    path = tmp_path / "whole.json"
    path.write_text(json.dumps({"models": {"seconds": {}}}))
    timeline = Timeline("step", path)
    timeline.watch(Engine, "ask", "ask")
    timeline.add(Engine, "ask", "asked")
    assert Engine().ask() == 4
    assert "ask: 0.00 s" in capsys.readouterr().out
    assert timeline.take_sums()["asked"][1] == 1
    found = {"models": {"seconds": {}}, "step": {"seconds": {"ask": [0.0]}}}
    assert json.loads(path.read_text()) == found


def test_a_phase_that_hangs_is_ended() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert streamed(command, 1.0, environment("toy", "eager")) == -9


def test_every_phase_can_be_started() -> None:
    for _, command in PHASES.values():
        assert importlib.util.find_spec(command[2]) is not None
