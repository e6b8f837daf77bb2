"""A recipe: everything one run needs, in one typed YAML file.

    recipe = load_recipe("recipes/quickstart/scenes-dapo.yaml", ["seed=1", "trainer.learning_rate=2e-4"])

An unknown or misspelt key is an error that names the nearest valid one.
"""

import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rewards.naming import unknown
from training.scenes.language import PROMPT

SCIENTIFIC = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")


class RecipeError(ValueError):
    """The recipe cannot be run as written; the message says what to change."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LoraPart(Part):
    """peft's LoraConfig, the settings people change."""

    r: int = Field(16, gt=0)
    alpha: int = Field(32, gt=0)
    dropout: float = Field(0.0, ge=0, lt=1)
    target_modules: str | list[str] = "all-linear"


class PolicyPart(Part):
    """model: a hub id, a folder, or "tiny" (the untrained Scenes policy)."""

    model: str
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    lora: LoraPart | None = None


class ScenesPart(Part):
    """Built-in pictures. keep_object and keep_attribute below 1 make the descriptions terse.

    ask: for a description of each picture (column `reference`), for the answer to a question about it (columns
    `question` and `answers`), or for "both" in turns. unsure: how often one of the ten answers is "not sure".
    """

    source: Literal["scenes"]
    ask: Literal["descriptions", "questions", "both"] = "descriptions"
    level: Literal[1, 2, 3] = 1
    split: Literal["train", "validation", "test"] = "train"
    count: int = Field(4096, gt=0)
    references: int = Field(3, gt=0)
    keep_object: float = Field(1.0, ge=0, le=1)
    keep_attribute: float = Field(1.0, ge=0, le=1)
    unsure: float = Field(0.0, ge=0, le=1)
    seed: int = 0
    prompt: str = PROMPT


class JsonlPart(Part):
    """A file with one JSON object a line. `columns` says which of its keys holds the picture's path, the reference and
    so on; a column that is not named there is looked for under its own name. See training/jsonl.py for the rows.

    prompt: what the policy is asked, in which `{question}` stands for a row's question; without that the question
    follows it. None is the question alone, and where there is none "Describe the picture.".
    """

    source: Literal["jsonl"]
    path: str
    columns: dict[Literal["image", "reference", "question", "answers", "context", "bbox", "task"], str] = {}
    count: int | None = Field(None, gt=0)
    prompt: str | None = None


class JudgePart(Part):
    """A judge by its name (see `rewards.judges.load_judge`), which alone may stand for the whole: `judge: vllm:MODEL`.

    placement: every rank has one, or rank 0 for all of them. cache: keep the answers, in the cache folder (true) or in
    the file of that path. options: of the judge's class, such as {memory: 2e9}.
    """

    name: str
    placement: Literal["per_rank", "rank0"] = "per_rank"
    cache: bool | str = False
    options: dict[str, Any] = {}


def named(judge: Any) -> Any:
    """A name as the mapping it stands for."""
    return {"name": judge} if isinstance(judge, str) else judge


class RewardPart(Part):
    """A metric, the judge that answers its questions, and options of the metric's class."""

    metric: str
    judge: Annotated[JudgePart, BeforeValidator(named)] = JudgePart(name="match")
    weight: float = 1.0
    options: dict[str, Any] = {}


class Recipe(Part):
    """One run. `trainer` goes to TRL's SFTConfig or to SpanGRPOConfig (GRPOConfig and span_coef) as it is."""

    algorithm: Literal["sft", "dapo"]
    output: str
    seed: int = 0
    overwrite: bool = False
    policy: PolicyPart
    data: Annotated[ScenesPart | JsonlPart, Field(discriminator="source")]
    rewards: list[RewardPart] = []
    trainer: dict[str, Any] = {}


PARTS: dict[tuple[str, ...], type[Part]] = {
    (): Recipe,
    ("policy",): PolicyPart,
    ("policy", "lora"): LoraPart,
    ("data", "scenes"): ScenesPart,
    ("data", "jsonl"): JsonlPart,
    ("rewards",): RewardPart,
    ("rewards", "judge"): JudgePart,
}


def load_recipe(path: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and apply `key=value` overrides (dotted keys, YAML values). Raises RecipeError."""
    path = Path(path)
    if not path.is_file():
        raise RecipeError(f"there is no recipe {path}: the recipes are in the folder recipes/.")
    data = read_yaml(path.read_text(), str(path))
    if not isinstance(data, dict):
        raise RecipeError(f"{path} must hold keys and values, and holds {type(data).__name__}.")
    for override in overrides:
        apply_override(data, override)
    return check_recipe(data)


def read_yaml(text: str, where: str) -> Any:
    """A YAML value, texts like "1e-4" as numbers. Raises RecipeError for what is not YAML."""
    try:
        return with_numbers(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise RecipeError(f"{where} is not YAML: {' '.join(str(error).split())}.") from None


def check_recipe(data: dict[str, Any]) -> Recipe:
    """A Recipe from plain data. Raises RecipeError with one sentence for the first thing that is wrong."""
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as error:
        raise RecipeError(explain(error)) from None
    valid = [field.name for field in fields(trainer_config(recipe.algorithm)) if field.init]
    for key in recipe.trainer:
        if key not in valid:
            raise RecipeError(unknown("recipe key", key, valid, shown=f"trainer.{key}"))
    for key in ("output_dir", "seed", "reward_weights"):
        if key in recipe.trainer:
            raise RecipeError(f"trainer.{key} is set by the recipe itself: use output, seed or rewards instead.")
    if recipe.algorithm == "dapo" and not recipe.rewards:
        raise RecipeError("a dapo recipe needs at least one entry under rewards, such as {metric: posh, judge: match}.")
    return recipe


def trainer_config(algorithm: str) -> Any:
    """The configuration class that the recipe's `trainer` block fills. Imported late: TRL takes seconds to load."""
    if algorithm == "sft":
        from trl import SFTConfig

        return SFTConfig
    from training.trainer import SpanGRPOConfig

    return SpanGRPOConfig


def apply_override(data: dict[str, Any], override: str) -> None:
    """Set `a.b=value` in nested data. A number between dots indexes a list (rewards.0.judge=match)."""
    key, equals, text = override.partition("=")
    if not equals:
        raise RecipeError(f"an override is written key=value, got {override!r}.")
    *parents, last = key.split(".")
    place: Any = data
    for name in parents:
        place = place[index_of(name, place, key)] if isinstance(place, list) else place.setdefault(name, {})
        if not isinstance(place, (dict, list)):
            raise RecipeError(f"{key} cannot be set: {name} holds {place!r}.")
    place[index_of(last, place, key) if isinstance(place, list) else last] = read_yaml(text, f"the value of {key}")


def index_of(name: str, entries: list[Any], key: str) -> int:
    """A list's index from its text. Raises RecipeError when the list has none such."""
    if not name.isdecimal() or int(name) >= len(entries):
        raise RecipeError(f"{key} cannot be set: {name!r} must be one of 0 .. {len(entries) - 1}.")
    return int(name)


def with_numbers(value: Any) -> Any:
    """The same data with texts like "1e-4" as numbers, which YAML 1.1 leaves texts."""
    if isinstance(value, dict):
        return {key: with_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [with_numbers(entry) for entry in value]
    return float(value) if isinstance(value, str) and SCIENTIFIC.fullmatch(value) else value


def explain(error: ValidationError) -> str:
    """The first validation error as a sentence with the key's path."""
    first = error.errors()[0]
    path = [str(step) for step in first["loc"]]
    written = path[:1] + path[2:] if path[:1] == ["data"] else path  # pydantic puts the source's name behind "data"
    shown = ".".join(written)
    if first["type"] == "extra_forbidden":
        parents = tuple(step for step in path[:-1] if not step.isdigit())
        return unknown("recipe key", path[-1], PARTS[parents].model_fields, shown)
    value = f", got {first['input']!r}" if first["type"] != "missing" else ""
    return f"recipe key {shown or 'data'}: {first['msg']}{value}."
