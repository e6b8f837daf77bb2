"""A recipe: a typed YAML file with all settings of a run.

    changes = ["seed=1", "trainer.learning_rate=2e-4"]
    recipe = load_recipe("recipes/quickstart/scenes-dapo.yaml", changes)

An unknown key is an error that names the nearest valid key.

Recipes can share their data: `data: ../data/docent.yaml` is the path, from the recipe's folder, of
a YAML file with the data block. Overrides such as `data.count=100` change keys of the block, and
the recipe.yaml that a run writes holds the whole block. `validation` holds the keys of `data` with
other values for the validation data, such as `{split: val}`.
"""

from collections.abc import Collection, Sequence
from dataclasses import fields
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from spanreward.rewards.base.checks import MIN_SPELLING_RATIO, unknown_name_message
from spanreward.rewards.files.custom_file import is_custom
from spanreward.rewards.files.home import expand_home, expanded_within
from spanreward.rewards.judges.by_name import names_of_members
from spanreward.rewards.rows.tables import is_table
from spanreward.training.recipe_file import RecipeError, apply_override, read_mapping
from spanreward.training.trainer_settings import OTHER_NAMES, fault_of_setting

# the columns of a row, by our names
ColumnName = Literal[
    "image", "prompt", "reference", "question", "answers", "context", "anchor", "criteria", "bbox",
    "task",
]  # fmt: skip

P = TypeVar("P", bound="Part")
# a path, alone or in a name such as FILE.py:NAME or encoder:FOLDER; `~` is expanded
PathText = Annotated[str, AfterValidator(expand_home)]
# keyword arguments of a class; `~` is expanded in paths among the values
KeywordArguments = Annotated[dict[str, Any], AfterValidator(expanded_within)]


class Part(BaseModel):
    """A block of a recipe. An unknown key is an error, and the values cannot be changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RunPart(Part):
    """The output folder of a run. overwrite: whether the run may replace an earlier run in this
    folder (training/run_folder.py).
    """

    output: PathText
    overwrite: bool = False


class LoraPart(Part):
    """Settings of peft's LoraConfig.

    target_modules: by default the linear layers of the language model. `all-linear` adds the linear
    layers of the vision tower and its projector.
    """

    r: int = Field(16, gt=0)
    alpha: int = Field(32, gt=0)
    dropout: float = Field(0.0, ge=0, lt=1)
    target_modules: str | list[str] | None = None


class PolicyPart(Part):
    """The model that is trained. model: a hub id, a folder, or FILE.py:FUNCTION, which is called
    with the seed (training/policy.py).
    """

    model: PathText
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    lora: LoraPart | None = None


class RowsPart(Part):
    """The keys that every data block has.

    Args:
        columns: the data's names of our columns, where the names differ, such as {reference:
            caption} (training/data/rows.py).
        count: only the first `count` rows are read.
        prompt: the policy's prompt, "Describe the picture." by default. The row's question replaces
            `{question}` in the prompt, or follows the prompt.
        max_pixels: larger pictures are scaled down to this number of pixels.
        target: the completion that SFT learns from a row with answers and a reference.
        task: HarmonicEval's task, for rows that name no task.
    """

    columns: dict[ColumnName, str] = {}
    count: int | None = Field(None, gt=0)
    prompt: str | None = None
    max_pixels: int | None = Field(None, gt=0)
    target: Literal["answers", "reference"] | None = None
    task: Literal["ic", "reg", "vqa", "vdu"] | None = None

    @property
    def parts(self) -> list[Any]:
        """A list with only this block, so that code can read `parts` of any data block."""
        return [self]


class JsonlPart(RowsPart):
    """A file with one JSON object a line, or another table (training/data/jsonl.py)."""

    source: Literal["jsonl"]
    path: PathText

    @property
    def file(self) -> Path:
        """The file's path. Raises RecipeError if the file does not exist."""
        if not Path(self.path).is_file():
            where = "give its path with data.path=PATH, from the folder that you start in."
            raise RecipeError(f"there is no data file {self.path}: {where}")
        return Path(self.path)


class HubPart(RowsPart):
    """A Hugging Face hub dataset, or a folder on disk that `datasets` reads (training/data/hub.py).

    id, subset, split, revision: arguments of `datasets.load_dataset`, where the subset is called
    `name`. streaming: read only the first `count` rows over the network and keep these rows in
    memory, instead of downloading the split.
    """

    source: Literal["hub"]
    id: PathText
    subset: str | None = None
    split: str = "train"
    revision: str | None = None
    streaming: bool = False

    @model_validator(mode="after")
    def streams_so_many(self) -> "HubPart":
        """Raises ValueError for `streaming` without `count`: all rows would fill the memory."""
        if self.streaming and self.count is None:
            raise ValueError("streaming needs a count, as what it reads is kept in memory")
        return self


class FilePart(RowsPart):
    """Rows from a function of your own, FILE.py:FUNCTION, which is called with `options`
    (training/data/custom.py).
    """

    source: PathText
    options: KeywordArguments = {}


def source_of(block: Any) -> Any:
    """Returns the tag by which pydantic chooses the class of a data block: "jsonl", "hub" or
    "mixed" from the block's `source`, and "file" for FILE.py:FUNCTION.

    block: a mapping or a Part. For an unknown source pydantic finds no class and reports an error.
    """
    if isinstance(block, dict):
        source = block.get("source")
    elif isinstance(block, Part):
        source = vars(block).get("source")
    else:
        source = None
    if isinstance(source, str) and is_custom(source):
        return "file"
    return source


WRONG_SOURCE = {
    "custom_error_type": "wrong_source",
    "custom_error_message": "source must be jsonl, hub, mixed or FILE.py:FUNCTION",
}
RowsOf = (
    Annotated[JsonlPart, Tag("jsonl")]
    | Annotated[HubPart, Tag("hub")]
    | Annotated[FilePart, Tag("file")]
)
DataBlock = Annotated[RowsOf, Discriminator(source_of, **WRONG_SOURCE)]


class MixedPart(Part):
    """The rows of several data blocks, one block after another. In YAML, each block may also be
    the path of a file that holds the block.
    """

    source: Literal["mixed"]
    parts: list[DataBlock] = Field(min_length=1)


DataPart = JsonlPart | HubPart | FilePart | MixedPart


def _judge_by_name(judge: Any) -> Any:
    """Returns the block of a judge: "vllm:MODEL" gives {"name": "vllm:MODEL"}."""
    if isinstance(judge, str):
        return {"name": judge}
    return judge


AskedJudge = Annotated["JudgePart", BeforeValidator(_judge_by_name)]


class CascadePart(Part):
    """Arguments of CascadeJudge."""

    student: AskedJudge
    teacher: AskedJudge
    sure: float = Field(0.9, ge=0, strict=True)
    audit: float = Field(0.02, ge=0, le=1, strict=True)
    seed: int = Field(0, strict=True)


class JudgePart(Part):
    """A judge by its name (see `load_judge`). `judge: vllm:MODEL` is short for `judge: {name:
    vllm:MODEL}`. A cascade is `judge: {cascade: {student: JUDGE, teacher: JUDGE}}`.

    cache: whether the judge's answers are kept in the cache folder; or the path of a file to keep
    the answers in. options: keyword arguments of the judge's class, such as {memory: 2e9}.
    """

    name: PathText = "cascade"
    cache: bool | PathText = False
    options: KeywordArguments = {}
    cascade: CascadePart | None = None

    @model_validator(mode="after")
    def is_whole(self) -> "JudgePart":
        """Raises ValueError for a cascade with another name or with options, and for the name
        `cascade` without the block `cascade`.
        """
        is_cascade = self.cascade is not None
        named_otherwise = (self.name == "cascade") != is_cascade
        if named_otherwise or (is_cascade and self.options):
            raise ValueError(
                "a judge has a name, or is {cascade: {student: JUDGE, teacher: JUDGE}} without "
                "options"
            )
        return self

    @property
    def answering(self) -> "list[JudgePart]":
        """The single judges behind this judge: the members of a jury, the student and the teacher
        of a cascade, or else a list with this judge.
        """
        if self.cascade is None:
            return [self.model_copy(update={"name": name}) for name in names_of_members(self.name)]
        return self.cascade.student.answering + self.cascade.teacher.answering


class MetricPart(Part):
    """A metric (a name or FILE.py:CLASS), the judge that answers its questions, and options of the
    metric's class.
    """

    metric: PathText
    judge: AskedJudge = JudgePart(name="match")
    options: KeywordArguments = {}


class RewardPart(MetricPart):
    weight: float = 1.0


class WinRatePart(MetricPart):
    """Arguments of WinRateCallback."""

    every: int = Field(50, gt=0)
    anchor: PathText | None = None
    prompts: int = Field(64, gt=1)
    max_tokens: int | None = Field(None, gt=0)
    stop: bool = False


class Recipe(RunPart):
    """The settings of a run.

    Args:
        algorithm: "dapo" and "grpo" use the same trainer. "grpo" sets `loss_type: grpo`, where
            TRL's default is "dapo", and changes no other setting of DAPO (`dynamic_sampling`,
            `epsilon_high`, `soft_overlong_cache`).
        verdicts: whether every completion is written with its verdicts to the output folder
            (training/callbacks/json_lines.py).
        spans_every: the number of steps between two pages of spans. The last step has a page too.
        validation: the keys of `data` with other values for the validation data.
        rewards: the rewards that GRPO trains on. SFT uses no reward; `spanreward compare` asks the
            rewards of an SFT recipe.
        referees: rewards that only `spanreward compare` asks, and no training.
        win_rate: a metric that compares the policy with an anchor during the training
            (training/callbacks/win_rate.py).
        trainer: arguments of TRL's SFTConfig, or of SpanGRPOConfig, which extends GRPOConfig.
    """

    algorithm: Literal["sft", "grpo", "dapo"]
    seed: int = 0
    verdicts: bool = True
    spans_every: int = Field(50, gt=0)
    policy: PolicyPart
    data: Annotated[
        RowsOf | Annotated[MixedPart, Tag("mixed")], Discriminator(source_of, **WRONG_SOURCE)
    ]
    validation: KeywordArguments | None = None
    rewards: list[RewardPart] = []
    referees: list[RewardPart] = []
    win_rate: WinRatePart | None = None
    trainer: KeywordArguments = {}

    @property
    def watching(self) -> list[WinRatePart]:
        """The metrics that are asked during the training, and on which the policy is not
        trained.
        """
        if self.win_rate is None:
            return []
        return [self.win_rate]

    @property
    def validation_data(self) -> DataPart | None:
        """The block of the validation data: `data`, changed by the keys of `validation`. None if
        the recipe has no `validation`.
        """
        if self.validation is None:
            return None
        data = self.data.model_dump()
        changed = {**data, **self.validation}
        # merge `options` key by key, so that the other options of `data` stay
        new_options = self.validation.get("options")
        if "options" in data and isinstance(new_options, dict):
            changed["options"] = {**data["options"], **new_options}
        return type(self.data).model_validate(changed)


DATA_SOURCES: dict[str, type[Part]] = {
    "jsonl": JsonlPart,
    "hub": HubPart,
    "file": FilePart,
    "mixed": MixedPart,
}
# The class of a block, by the last name in the block's path that is no list index: "rewards" for
# rewards.0
RECIPE_PARTS: dict[str, type[Part]] = {
    **DATA_SOURCES,
    "policy": PolicyPart,
    "lora": LoraPart,
    "rewards": RewardPart,
    "referees": RewardPart,
    "win_rate": WinRatePart,
    "judge": JudgePart,
    "student": JudgePart,
    "teacher": JudgePart,
    "cascade": CascadePart,
}

# the class of a block, by the block's name in error messages
BLOCK_CLASSES: dict[str, type[Part]] = {
    "at the top level": Recipe,
    **{f"under {name}": part for name, part in RECIPE_PARTS.items() if name not in DATA_SOURCES},
    **{f"under data of source {name}": part for name, part in DATA_SOURCES.items()},
}
# trainer arguments that other keys set
RESERVED_ARGUMENTS = ("output_dir", "seed", "reward_weights")


def load_recipe(path: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Returns the recipe of a file. overrides: changes such as "trainer.learning_rate=2e-4".

    Raises RecipeError.
    """
    return check_recipe(read_recipe(Path(path), overrides))


def read_recipe(path: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the keys and values of a recipe's file, changed by the overrides and not yet checked.
    Also reads recipes of other classes than Recipe. Raises RecipeError.
    """
    path = path.expanduser()
    if not path.is_file():
        raise RecipeError(
            f"there is no recipe {path}: `spanreward recipes` lists those of this package."
        )
    if is_table(path) and path.suffix != ".json":  # JSON is YAML
        raise RecipeError(
            f"{path} is a table of rows, and no recipe: a recipe is a YAML file that names it as "
            "data.path. `spanreward recipes` lists some."
        )
    data = read_mapping(path)
    # read the data files first, since an override may change a key of a data file
    if "data" in data:
        data["data"] = with_data_files(data["data"], path.parent)
    for override in overrides:
        apply_override(data, override)
    return data


def with_data_files(block: Any, folder: Path) -> Any:
    """Returns a data block in which the block of a file replaces the file's path. folder: paths
    start from this folder. Raises RecipeError for a missing file.
    """
    if isinstance(block, str):
        path = folder / expand_home(block)
        if not path.is_file():
            raise RecipeError(
                f"recipe key data: there is no data file {path}; the path goes from the recipe's "
                "folder."
            )
        return with_data_files(read_mapping(path), path.parent)
    if isinstance(block, dict) and isinstance(block.get("parts"), list):  # `source: mixed`
        return {**block, "parts": [with_data_files(part, folder) for part in block["parts"]]}
    return block


def checked_part(part: type[P], data: dict[str, Any]) -> P:
    """Returns an object of the class `part`. Raises RecipeError for the first fault of the data."""
    try:
        return part.model_validate(data)
    except ValidationError as error:
        raise RecipeError(explain_error(error, part=part)) from None


def check_recipe(data: dict[str, Any]) -> Recipe:
    """Returns a Recipe from keys and values. Raises RecipeError for the first fault."""
    recipe = checked_part(Recipe, data)
    if recipe.rewards and not any(reward.weight for reward in recipe.rewards):
        raise RecipeError(
            "every reward has the weight 0, so nothing is learnt: give one of them another weight."
        )
    check_trainer_keys(recipe)
    if recipe.algorithm != "sft" and not recipe.rewards:
        raise RecipeError(
            f"a {recipe.algorithm} recipe needs at least one entry under rewards, as {{metric: "
            "posh}."
        )
    if recipe.algorithm == "grpo":
        recipe = recipe.model_copy(update={"trainer": {"loss_type": "grpo", **recipe.trainer}})
    try:
        _ = recipe.validation_data  # raises for a key of `validation` that no data block has
    except ValidationError as error:
        raise RecipeError(explain_error(error, "validation", type(recipe.data))) from None
    return recipe


def check_trainer_keys(recipe: Recipe) -> None:
    """Raises RecipeError for the first faulty key under `trainer`. No class of this file describes
    these keys: they are arguments of the trainer's own class.

    A key is faulty if it is unknown, if its value cannot be used, or if the recipe has another key
    for the same argument (RESERVED_ARGUMENTS): `seed: 1` in place of `trainer: {seed: 1}`.
    """
    config = trainer_config(recipe.algorithm)
    valid = arguments_of(recipe.algorithm)
    for key in RESERVED_ARGUMENTS:
        if key in recipe.trainer:
            raise RecipeError(
                f"trainer.{key} is set by the recipe itself: use output, seed or rewards instead."
            )
    for key, value in recipe.trainer.items():
        if key not in valid:
            if key in OTHER_NAMES:
                raise RecipeError(f"unknown recipe key 'trainer.{key}': {OTHER_NAMES[key]}.")
            raise RecipeError(unknown_key_message(key, valid, f"trainer.{key}"))
        wrong = fault_of_setting(config, key, value)
        if wrong:
            hint = ""
            if value is False:
                hint = " (YAML reads a bare no or off as False: quote it)"
            raise RecipeError(f"recipe key trainer.{key}: {wrong}, got {value!r}{hint}.")


def unknown_key_message(key: str, keys_here: Collection[str], key_path: str) -> str:
    """Returns the error message for an unknown key. The message names the nearest valid key, or the
    place of a recipe where the key belongs.

    key: such as "sed". keys_here: the valid keys of this block. key_path: such as "trainer.sed".
    """
    # the valid keys of a recipe by place, such as {"under policy": ["model", "dtype", "lora"]}
    places: dict[str, Collection[str]] = {
        place: part.model_fields for place, part in BLOCK_CLASSES.items()
    }
    places["under data.columns"] = get_args(ColumnName)
    recipe_keys = {*chain(*places.values())}
    # an unknown key in a block with `options` is probably an argument of the judge or metric
    is_like_key_here = bool(get_close_matches(key, keys_here, 1))
    if "options" in keys_here and key not in recipe_keys and not is_like_key_here:
        return f"unknown recipe key {key_path!r}: arguments of its class belong under options."
    # A trainer has hundreds of arguments, and a misspelled key is often close to one of these. So
    # the message may name an argument of a trainer only if no key of a recipe is close.
    candidates = {*keys_here, *recipe_keys}
    is_like_recipe_key = bool(get_close_matches(key, candidates, 1, MIN_SPELLING_RATIO))
    if not is_like_recipe_key:
        places |= trainer_places()
    return unknown_name_message("recipe key", key, keys_here, key_path, places)


def trainer_places() -> dict[str, Collection[str]]:
    """Returns the arguments of the trainers by the place of a recipe where they are valid, such as
    {"under trainer where the algorithm is sft": {"packing", ...}, ...}.
    """
    dapo = set(arguments_of("dapo")).difference(RESERVED_ARGUMENTS)
    sft = set(arguments_of("sft")).difference(RESERVED_ARGUMENTS)
    return {
        "under trainer": dapo & sft,
        "under trainer where the algorithm is grpo or dapo": dapo - sft,
        "under trainer where the algorithm is sft": sft - dapo,
    }


def arguments_of(algorithm: str) -> list[str]:
    """Returns the names of the trainer's arguments, the valid keys under `trainer`."""
    return [field.name for field in fields(trainer_config(algorithm)) if field.init]


def trainer_config(algorithm: str) -> Any:
    """Returns the class of the arguments under `trainer`. The import of TRL here takes seconds."""
    if algorithm == "sft":
        from trl import SFTConfig

        return SFTConfig
    from spanreward.training.grpo.config import SpanGRPOConfig

    return SpanGRPOConfig


def trainer_arguments(recipe: Recipe) -> dict[str, Any]:
    """Returns the keyword arguments for the class that `trainer_config` returns."""
    arguments = {"output_dir": recipe.output, "seed": recipe.seed, **recipe.trainer}
    if recipe.algorithm != "sft":
        arguments["reward_weights"] = [part.weight for part in recipe.rewards]
    return arguments


def explain_error(error: ValidationError, within: str = "", part: type[Part] = Recipe) -> str:
    """Returns the first fault that pydantic found as a sentence with the key's path.

    within: the path of the checked block, such as "validation". part: the class of the block.
    """
    # unknown keys come first: if the file has `polcy:`, this explains the missing `policy`
    faults = error.errors()
    unknown_keys = [fault for fault in faults if fault["type"] == "extra_forbidden"]
    fault = unknown_keys[0] if unknown_keys else faults[0]
    # the fault's place: ["rewards", "0", "wieght"] for an unknown key, ["rewards", "0"] for a block
    path = [str(step) for step in fault["loc"]]
    # pydantic adds the tag of a data block ("jsonl") to the path, which is no key of the recipe
    keys = [step for step in path if step and step not in DATA_SOURCES]
    if within:
        keys.insert(0, within)
    key_path = ".".join(keys)
    if fault["type"] == "extra_forbidden":
        *block_path, unknown_key = path
        valid_keys = class_of_block(block_path, part).model_fields
        return unknown_key_message(unknown_key, valid_keys, key_path)
    if fault["type"] == "model_type":  # a text or a list in place of a block
        first_key = next(iter(class_of_block(path, part).model_fields))
        return (
            f"recipe key {key_path}: it holds keys and values, as {{{first_key}: ...}}, got "
            f"{fault['input']!r}."
        )
    value = ""
    # a missing value cannot be quoted, and the messages of our own errors quote the value already
    if fault["type"] not in ("missing", "value_error"):
        value = f", got {fault['input']!r}"
    message = fault["msg"].removeprefix("Value error, ")
    return f"recipe key {key_path or 'data'}: {message}{value}."


def class_of_block(path: Sequence[str], whole: type[Part]) -> type[Part]:
    """Returns the class of the block at a path: RewardPart for ["rewards", "0"].

    The last name in the path that is no list index decides. whole: the class of the checked block,
    for an empty path and for a block without a class of its own.
    """
    names = [step for step in path if not step.isdigit()]
    if not names:
        return whole
    return RECIPE_PARTS.get(names[-1], whole)
