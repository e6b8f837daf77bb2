"""Recipes made small: two batches of a tiny policy, our own data, a judge without a model."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
from datasets import Dataset, Features, Image, List, Value
from peft import get_peft_model
from PIL import Image as Pictures

from experiments.scenes.parts import TINY
from spanreward.training.adapters import lora_config
from spanreward.training.policy import load_policy
from spanreward.training.recipe import (
    DataPart,
    HubPart,
    JsonlPart,
    LoraPart,
    MixedPart,
    Recipe,
    load_recipe,
)
from tests.support.paths import ROOT
from tests.support.tiny_policies import SAVE

JUDGES = set((ROOT / "recipes/judges").iterdir())  # of another command
RECIPES = sorted(
    set((ROOT / "recipes").rglob("*.yaml")) - set((ROOT / "recipes/data").iterdir()) - JUDGES
)
COMPLETIONS = 8  # of a batch
SHRUNK = {  # what two batches on a CPU need otherwise; everything else is as the recipe has it
    "both": {
        "policy.dtype": "float32", "trainer.use_cpu": True, "trainer.bf16": False,
        "trainer.gradient_checkpointing": False, "trainer.gradient_accumulation_steps": 1,
    },
    "sft": {},
    "dapo": {"trainer.num_generations": 4, "trainer.max_completion_length": 16, "trainer.use_vllm": False},
}  # fmt: skip
# the columns of hub datasets: their type, and two values
ROWS: dict[str, tuple[Any, list[Any]]] = {
    "image": (
        Image(),
        [Pictures.new("RGB", (40, 30), "red"), Pictures.new("RGB", (30, 40), "blue")],
    ),
    "reference": (Value("string"), ["A red wall behind a chair.", "The blue sky over the sea."]),
    "question": (Value("string"), ["What color is the wall?", "Is it night?"]),
    "context": (Value("string"), ["A red wall.", "The sky and the sea."]),
    "answers": (List(Value("string")), [["red"] * 9 + ["pink"], ["no"] * 10]),
}


def shrunk(path: Path, folder: Path) -> list[str]:
    """Overrides that make a recipe small, with as many updates of a batch as it has."""
    recipe = load_recipe(path)
    updates = updates_of(recipe)
    changes: dict[str, Any] = {**SHRUNK["both"], **SHRUNK[recipe.algorithm]}
    changes["output"] = folder / "out"
    changes["trainer.per_device_train_batch_size"] = COMPLETIONS // updates
    changes["trainer.max_steps"] = 2 * updates
    if recipe.algorithm == "sft":
        changes["trainer.logging_steps"] = 1
    else:
        changes["trainer.steps_per_generation"] = updates
    if recipe.trainer.get("eval_strategy") == "steps":
        changes["trainer.eval_steps"] = 2 * updates
    changes["policy.model"] = tiny_policy(recipe, folder.parent)
    for number, reward in enumerate(recipe.rewards):
        # a judge of Scenes that sees needs no model either
        if reward.options.get("evidence", "reference") == "reference" or reward.metric != "posh":
            changes[f"rewards.{number}.judge"] = "experiments/scenes/word_judge.py:WordJudge"
        # it sees no pictures, and looks things up in a column `context`
        if reward.metric == "harmonic":
            changes[f"rewards.{number}.options.evidence"] = "context"
    if recipe.policy.lora is not None and recipe.policy.lora.target_modules is not None:
        changes["policy.lora.target_modules"] = "all-linear"  # the tiny policy has two layers
    if recipe.trainer.get("soft_overlong_cache"):
        changes["trainer.soft_overlong_cache"] = 4
    parts = recipe.data.parts if isinstance(recipe.data, MixedPart) else [recipe.data]
    for number, part in enumerate(parts):
        block = f"data.parts.{number}" if isinstance(recipe.data, MixedPart) else "data"
        changes[f"{block}.count"] = 16
        if isinstance(part, JsonlPart):
            pictured = "image" in part.columns
            changes[f"{block}.path"] = photos(folder, part) if pictured else texts(folder)
        if isinstance(part, HubPart):
            changes[f"{block}.id"] = stored(folder / f"dataset{number}", part, splits(recipe, part))
    if "path" in (recipe.validation or {}):
        changes["validation.path"] = changes["data.path"]
    return [f"{key}={value}" for key, value in changes.items()]


def updates_of(recipe: Recipe) -> int:
    """Returns the optimizer steps on one batch of completions; 1 of SFT."""
    accumulation = recipe.trainer.get("gradient_accumulation_steps", 1)
    return int(recipe.trainer.get("steps_per_generation", accumulation) // accumulation)


def tiny_policy(recipe: Recipe, folder: Path) -> str:
    """A tiny policy of the model's architecture, with an adapter where a recipe trains one."""
    model = recipe.policy.model
    for path in RECIPES:
        earlier = load_recipe(path)
        if earlier.output == model and path.parent.name != "quickstart":
            base = tiny_policy(earlier, folder)
            lora = earlier.policy.lora
            return base if lora is None else tiny_adapter(base, lora)
    for family, save in SAVE.items():
        if model.startswith(family):
            place = folder / family.replace("/", "-")
            if not place.exists():
                place.mkdir()
                save(place)
            return str(place)
    return TINY


def tiny_adapter(base: str, lora: LoraPart) -> str:
    """The folder of a new adapter over a policy, which changes what it writes."""
    place = Path(f"{base}-adapter")
    if not place.exists():
        model, _ = load_policy(base)
        config = lora_config(lora, model)
        config.init_lora_weights = False
        get_peft_model(model, config).save_pretrained(place)
    return str(place)


def splits(recipe: Recipe, part: DataPart) -> set[str]:
    assert isinstance(part, HubPart)
    return {part.split, (recipe.validation or {}).get("split", part.split)}


def stored(folder: Path, part: HubPart, splits: set[str]) -> Path:
    """A folder with the dataset's columns and splits, in place of a hub id."""
    (folder / "data").mkdir(parents=True)
    columns = {**part.columns, "context": "context"}  # see above
    features = Features({key: ROWS[column][0] for column, key in columns.items()})
    values = {key: ROWS[column][1] * 8 for column, key in columns.items()}
    for split in splits:
        table = Dataset.from_dict(values, features).data.table
        parquet.write_table(table, folder / "data" / f"{split}-00000-of-00001.parquet")
    return folder


def photos(folder: Path, part: JsonlPart) -> Path:
    """Two pictures with two captions each, under the recipe's own keys."""
    captions = {"red": ["A red wall.", "A wall is red."], "blue": ["The blue sky.", "A blue sky."]}
    records = []
    for colour, said in captions.items():
        Pictures.new("RGB", (40, 30), colour).save(folder / f"{colour}.png")
        image, reference = part.columns["image"], part.columns["reference"]
        records.append({image: f"{colour}.png", reference: said})
    return rows_file(folder / "photos.jsonl", records)


def rows_file(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def texts(folder: Path) -> Path:
    """Two rows without pictures, as experiments/captions.py writes them."""
    sky, wall = ["A sky of blue.", "Blue."], ["A wall is red.", "The wall."]
    rows: list[dict[str, Any]] = []
    for text, references in (("A red wall.", wall), ("The blue sky.", sky)):
        rows.append({"prompt": text, "reference": references, "context": text})
    return rows_file(folder / "texts.jsonl", rows)
