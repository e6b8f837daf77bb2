"""Every recipe, shrunk to two steps, through the command a user types."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from PIL import Image

from training.policy import load_policy
from training.recipe import Recipe, check_recipe, load_recipe
from training.run import build_rewards

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").rglob("*.yaml"))
ACCELERATE = str(Path(sys.executable).with_name("accelerate"))
SFT_KEYS = {"step", "loss", "grad_norm", "learning_rate"}
DAPO_KEYS = {
    *("step", "loss", "grad_norm", "learning_rate", "reward", "reward_std", "completions/mean_length"),
    *(f"judge/failed_fraction{look}" for look in ("", "_long", "_short", "_control_tokens")),
    *("judge/questions", "judge/cached", "judge/prompt_tokens", "judge/retries", "judge/timeout", "judge/unparsed"),
    *("judge/seconds", "judge/wake_seconds", "judge/sleep_seconds", "judge/peak_memory_gb"),
}


def reward_keys(recipe: Recipe) -> set[str]:
    """What the recipe's rewards log: their main parts, and of their spans where these reach the tokens."""
    rewards = build_rewards(recipe.rewards)
    keys = {f"{reward.__name__}/{part}" for reward in rewards for part in reward.main_parts}
    if recipe.trainer.get("span_coef"):
        keys |= {"spans/covered_fraction", "spans/unaligned_fraction"}
        keys |= {f"spans/{reward.__name__}/credit_std" for reward in rewards}
    return keys


def launch(*arguments: str | Path, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    start = [ACCELERATE, "launch", *options, "--config_file", "accelerate_configs/cpu.yaml"]
    command = [*start, "scripts/train.py", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def shrunk(path: Path, folder: Path) -> list[str]:
    """Overrides that make a recipe small: two steps of the tiny policy, and photos of our own."""
    recipe = load_recipe(path)
    overrides = [
        *(f"output={folder / 'out'}", "policy.model=tiny", "trainer.max_steps=2", "trainer.logging_steps=1"),
        *("trainer.per_device_train_batch_size=8", "data.count=16"),
    ]
    if recipe.algorithm == "dapo":
        overrides += ["trainer.num_generations=4", "trainer.max_completion_length=16"]
    if recipe.data.source == "jsonl":
        overrides.append(f"data.path={photos(folder, recipe.data.columns)}")
    return overrides


def photos(folder: Path, columns: dict[str, str]) -> Path:
    """Two pictures with two captions each, under the recipe's own keys."""
    captions = {"red.png": ["A red wall.", "A wall is red."], "blue.png": ["The blue sky.", "A sky of blue."]}
    for name in captions:
        Image.new("RGB", (40, 30), name.removesuffix(".png")).save(folder / name)
    records = [{columns["image"]: name, columns["reference"]: texts} for name, texts in captions.items()]
    path = folder / "photos.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe_runs(path, tmp_path):
    overrides = shrunk(path, tmp_path)
    done = launch(path, *overrides)
    assert done.returncode == 0, done.stderr
    output = tmp_path / "out"
    recipe = load_recipe(path, overrides)

    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    steps, total = lines[:2], lines[2:]
    assert [line["step"] for line in steps] == [1, 2]
    assert [line["step"] for line in total] == [2]
    assert "train_loss" in total[0]
    logged = set().union(*steps)  # of a mixed run, a step may lack rows for one of the rewards
    assert logged >= reward_keys(recipe), sorted(logged)
    for line in steps:
        assert line.keys() >= (DAPO_KEYS if recipe.algorithm == "dapo" else SFT_KEYS), sorted(line)
        if recipe.algorithm == "dapo":
            assert line["judge/failed_fraction"] == 0
            assert 0 <= line.get("spans/covered_fraction", 0) <= 1

    assert load_recipe(output / "recipe.yaml") == recipe
    assert check_recipe(yaml.safe_load((output / "recipe.yaml").read_text())) == recipe
    versions = json.loads((output / "versions.json").read_text())
    assert versions["torch"] == torch.__version__.split("+")[0] or versions["torch"] == torch.__version__
    assert versions.keys() >= {"spanreward", "transformers", "trl"}

    trained, processor = load_policy(str(output))
    assert processor.chat_template
    start = load_policy("tiny", recipe.seed)[0].state_dict()
    assert trained.state_dict().keys() == start.keys()
    if recipe.algorithm == "sft":  # two steps of a reward that is the same for all completions may move nothing
        assert any(not torch.equal(weight, start[name]) for name, weight in trained.state_dict().items())


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """What the script says when it stops, with no traceback anywhere."""
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("train.py: ")]
    return sentence


def train_alone(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/train.py", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_a_full_output_folder_is_left_alone(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("mine")
    done = train_alone(RECIPES[0], f"output={tmp_path}", "policy.model=tiny")
    assert f"the output folder {tmp_path} is not empty" in one_sentence(done)
    assert list(tmp_path.iterdir()) == [kept]
    assert kept.read_text() == "mine"


def test_a_policy_that_is_not_there_is_one_sentence(tmp_path):
    done = train_alone(RECIPES[0], f"output={tmp_path / 'out'}", "policy.model=outputs/none/such/base", "data.count=4")
    assert "'outputs/none/such/base'" in one_sentence(done)
    assert not (tmp_path / "out").exists()


def test_a_misspelt_key_is_one_sentence(tmp_path):
    """Through accelerate, which without --quiet adds a traceback of its own when a script fails."""
    done = launch(RECIPES[0], f"output={tmp_path / 'out'}", "polcy.model=tiny", options=("--quiet",))
    assert one_sentence(done) == "train.py: unknown recipe key 'polcy': did you mean 'policy'?"
    assert not (tmp_path / "out").exists()
