"""A recipe: everything one run needs, in one typed YAML file.

    recipe = load_recipe("recipes/quickstart/scenes-dapo.yaml", ["seed=1", "trainer.learning_rate=2e-4"])

An unknown or misspelt key is an error that names the nearest valid one.

Recipes that learn from the same data share it: where `data` is a text it is the path, from the recipe's folder, of a
YAML file with the data block, such as `data: ../data/docent.yaml`. Overrides reach into it (`data.count=100`), and the
recipe that a run writes holds it whole. `validation` says what
differs from `data` in what is evaluated on, such as `validation: {split: val}`.
"""

import logging
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from rewards.naming import unknown
from training.recipe_file import RecipeError, read_mapping, read_yaml
from training.scenes.language import PROMPT

Column = Literal["image", "reference", "question", "answers", "context", "anchor", "criteria", "bbox", "task"]

log = logging.getLogger(__name__)


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LoraPart(Part):
    """peft's LoraConfig, the settings people change."""

    r: int = Field(16, gt=0)
    alpha: int = Field(32, gt=0)
    dropout: float = Field(0.0, ge=0, lt=1)
    target_modules: str | list[str] = "all-linear"


class PolicyPart(Part):
    """model: a hub id, a folder, or an untrained one: "tiny" (the policy of Scenes), "tiny-judge" (its judge)."""

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


class ScenesJudgePart(Part):
    """What a text model learns from to judge descriptions of and answers about Scenes, for SFT.

    levels: of the pictures, as many of each. count: pictures, each with two texts for PoSh, and half of them with an
    answer for LAVE and a pair of texts. questions: of PoSh about a text, at most.
    """

    source: Literal["scenes_judge"]
    levels: list[Literal[1, 2, 3]] = Field([1, 2], min_length=1)
    split: Literal["train", "validation", "test"] = "train"
    count: int = Field(4000, gt=0)
    questions: int = Field(12, ge=4)
    seed: int = 0


class RowsPart(Part):
    """Rows that somebody else has written. `columns` says which of their keys holds the picture, the reference and so
    on; a column that is not named there is looked for under its own name. See training/data/rows.py.

    count: at most so many rows, the first ones. prompt: what the policy is asked, in which `{question}` stands for a
    row's question; without that the question follows it. None is the question alone, and where there is none "Describe
    the picture.". max_pixels: larger pictures are scaled down to so many, for the policy and the judges alike. task: of
    the rows that say none themselves, for HarmonicEval.
    """

    columns: dict[Column, str] = {}
    count: int | None = Field(None, gt=0)
    prompt: str | None = None
    max_pixels: int | None = Field(None, gt=0)
    task: Literal["ic", "reg", "vqa", "vdu"] | None = None


class JsonlPart(RowsPart):
    """A file with one JSON object a line. See training/data/jsonl.py."""

    source: Literal["jsonl"]
    path: str


class HubPart(RowsPart):
    """A dataset of the Hugging Face hub, or a folder on disk that `datasets` reads. training/data/hub.py downloads it.

    id, subset, split, revision: as `datasets.load_dataset` takes them (subset is its `name`). streaming: read the first
    `count` rows over the network and keep them in memory, in place of downloading the whole split.
    """

    source: Literal["hub"]
    id: str
    subset: str | None = None
    split: str = "train"
    revision: str | None = None
    streaming: bool = False

    @model_validator(mode="after")
    def streams_so_many(self) -> "HubPart":
        if self.streaming and self.count is None:
            raise ValueError("streaming needs a count, as what it reads is kept in memory")
        return self


class MixedPart(Part):
    """Several data blocks in one run, each a block or the path of its file: the rows of all, one after another."""

    source: Literal["mixed"]
    parts: list[Annotated[ScenesPart | JsonlPart | HubPart, Field(discriminator="source")]] = Field(min_length=1)


DataPart = ScenesPart | JsonlPart | HubPart | MixedPart  # what a policy learns from


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


class CheckPart(Part):
    """What must hold after a run. training/run_checks.py says what is compared, the run's check.json what was found.

    reward_rises and loss_falls: from the first to the last tenth of the logged steps. max_failed_fraction: completions
    that a judge failed on, over the whole run. max_truncated_fraction: completions cut at the maximal length, in the
    last tenth. max_degenerate_fraction: those padded with filler (health/degenerate_fraction), in the last tenth.
    """

    reward_rises: bool = False
    loss_falls: bool = False
    max_failed_fraction: float | None = Field(None, ge=0, le=1)
    max_truncated_fraction: float | None = Field(None, ge=0, le=1)
    max_degenerate_fraction: float | None = Field(None, ge=0, le=1)


class Recipe(Part):
    """One run. `trainer` goes to TRL's SFTConfig or to SpanGRPOConfig (GRPOConfig and ours) as it is.

    referees: rewards that nothing is trained on, for `spanreward compare`. verdicts: keep every completion with its
    verdicts in the output folder (training/callbacks/verdict_file.py).
    """

    algorithm: Literal["sft", "dapo"]
    output: str
    seed: int = 0
    overwrite: bool = False
    verdicts: bool = True
    policy: PolicyPart
    data: Annotated[DataPart | ScenesJudgePart, Field(discriminator="source")]
    validation: dict[str, Any] | None = None
    rewards: list[RewardPart] = []
    referees: list[RewardPart] = []
    trainer: dict[str, Any] = {}
    check: CheckPart | None = None

    @property
    def policy_data(self) -> DataPart:
        """`data` of a recipe whose model writes. Raises RecipeError where it learns to judge."""
        if isinstance(self.data, ScenesJudgePart):
            raise RecipeError(
                "this recipe teaches a judge, which writes no text: `spanreward agreement scenes --judge "
                f"transformers:{self.output}` says how right it is."
            )
        return self.data

    @property
    def validation_data(self) -> DataPart | None:
        """What is evaluated on: `data` with what `validation` changes in it. None where there is none."""
        if self.validation is None:
            return None
        return type(self.policy_data).model_validate(self.policy_data.model_dump() | self.validation)


PARTS: dict[tuple[str, ...], type[Part]] = {
    (): Recipe,
    ("policy",): PolicyPart,
    ("policy", "lora"): LoraPart,
    ("data", "scenes"): ScenesPart,
    ("data", "scenes_judge"): ScenesJudgePart,
    ("data", "jsonl"): JsonlPart,
    ("data", "hub"): HubPart,
    ("data", "mixed"): MixedPart,
    ("rewards",): RewardPart,
    ("rewards", "judge"): JudgePart,
    ("referees",): RewardPart,
    ("referees", "judge"): JudgePart,
    ("check",): CheckPart,
}
SOURCES = ("scenes", "scenes_judge", "jsonl", "hub", "mixed")
DAPO_ONLY = (  # checks of what SFT does not log
    "reward_rises",
    "max_failed_fraction",
    "max_truncated_fraction",
    "max_degenerate_fraction",
)


def load_recipe(path: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and apply `key=value` overrides (dotted keys, YAML values). Raises RecipeError."""
    path = Path(path)
    if not path.is_file():
        raise RecipeError(f"there is no recipe {path}: the recipes are in the folder recipes/.")
    data = read_mapping(path)
    if "data" in data:
        data["data"] = with_files(data["data"], path.parent)
    for override in overrides:
        apply_override(data, override)
    return check_recipe(data)


def with_files(block: Any, folder: Path) -> Any:
    """A data block; where it, or a part of a mixed one, is a text, what the file of that path in `folder` holds."""
    if isinstance(block, str):
        path = folder / block
        if not path.is_file():
            raise RecipeError(f"recipe key data: there is no data file {path}; the path goes from the recipe's folder.")
        return with_files(read_mapping(path), path.parent)
    if isinstance(block, dict) and isinstance(block.get("parts"), list):
        return {**block, "parts": [with_files(part, folder) for part in block["parts"]]}
    return block


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
    if isinstance(recipe.data, ScenesJudgePart) and recipe.algorithm != "sft":
        raise RecipeError("data.source scenes_judge teaches a judge its answers: set algorithm: sft.")
    check_validation(recipe)
    check_checks(recipe)
    check_judges(recipe)
    return recipe


def check_validation(recipe: Recipe) -> None:
    """Raises RecipeError for keys and values of `validation` that the data block does not take."""
    for key in recipe.validation or {}:
        valid = type(recipe.data).model_fields
        if key not in valid:
            raise RecipeError(unknown("recipe key", key, valid, shown=f"validation.{key}"))
    try:
        _ = recipe.validation_data
    except ValidationError as error:
        raise RecipeError(explain(error, "validation")) from None


def check_checks(recipe: Recipe) -> None:
    """Raises RecipeError for a check of what the algorithm does not log."""
    asked = recipe.check.model_dump(exclude_defaults=True) if recipe.check else {}
    wrong = [key for key in asked if (key in DAPO_ONLY) == (recipe.algorithm == "sft")]
    if wrong:
        instead = "loss_falls" if recipe.algorithm == "sft" else "reward_rises"
        raise RecipeError(f"check.{wrong[0]} says nothing of a {recipe.algorithm} run: use check.{instead}.")


def check_judges(recipe: Recipe) -> None:
    """Raises RecipeError for a judge in the folder that the run writes to, and warns of one that is the policy itself.

    A judge reads its weights once, so one that began as the policy does is a frozen copy, which may be meant; but an
    engine that is started anew would read whatever the run has written by then.
    """
    output, policy = Path(recipe.output).resolve(), Path(recipe.policy.model).resolve()
    for part in recipe.rewards:
        names = (part.judge.name.partition(":")[2], str(part.options.get("text_judge", "")).partition(":")[2])
        for model in filter(None, (*names, str(part.judge.options.get("adapter", "")))):
            place = Path(model).resolve()
            if output == place or output in place.parents:
                raise RecipeError(
                    f"the judge {model} of {part.metric} lies in the output folder {recipe.output}, which the run "
                    "writes to: choose another output=..., or copy the judge elsewhere."
                )
            if place == policy:
                log.warning("the judge of %s is %s, the model that is trained, as it was before.", part.metric, model)


def trainer_config(algorithm: str) -> Any:
    """The configuration class that the recipe's `trainer` block fills. Imported late: TRL takes seconds to load."""
    if algorithm == "sft":
        from trl import SFTConfig

        return SFTConfig
    from training.grpo.trainer import SpanGRPOConfig

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


def explain(error: ValidationError, within: str = "") -> str:
    """The first validation error as a sentence with the key's path, which begins with `within`."""
    first = error.errors()[0]
    path = [str(step) for step in first["loc"]]
    data = path[:1] == ["data"]
    steps = [step for step in path if not (data and step in SOURCES)]  # pydantic puts in which kind of source it is
    shown = ".".join(filter(None, [within, *steps]))
    if first["type"] == "extra_forbidden":
        kind = [step for step in path[:-1] if step in SOURCES]
        parents = ("data", kind[-1]) if data else tuple(step for step in path[:-1] if not step.isdigit())
        return unknown("recipe key", path[-1], PARTS[parents].model_fields, shown)
    value = f", got {first['input']!r}" if first["type"] not in ("missing", "value_error") else ""
    return f"recipe key {shown or 'data'}: {first['msg'].removeprefix('Value error, ')}{value}."
