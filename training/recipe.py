"""A recipe: everything one run needs, in one typed YAML file.

    changes = ["seed=1", "trainer.learning_rate=2e-4"]
    recipe = load_recipe("recipes/quickstart/scenes-dapo.yaml", changes)

An unknown key is an error that names the nearest valid one.

Recipes can share their data: `data: ../data/docent.yaml` is the path, from the recipe's folder, of
a YAML file with the data block. Overrides reach into it (`data.count=100`), and the recipe that a
run writes holds the whole block. `validation` holds the keys of `data` that differ for the data
that is evaluated on, such as `{split: val}`.
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

from spanreward.rewards.base.checks import CLOSE, unknown
from spanreward.rewards.files.custom_file import is_custom
from spanreward.rewards.files.home import expanded, expanded_within
from spanreward.rewards.judges.by_name import members
from spanreward.rewards.rows.tables import is_table
from spanreward.training.recipe_file import RecipeError, read_mapping, read_yaml
from spanreward.training.trainer_settings import OTHER_NAMES, fault

# our names of a row's columns
Column = Literal[
    "image",
    "prompt",
    "reference",
    "question",
    "answers",
    "context",
    "anchor",
    "criteria",
    "bbox",
    "task",
]

P = TypeVar("P", bound="Part")
# a path, maybe in the name of a part, such as FILE.py:NAME or encoder:FOLDER
PathText = Annotated[str, AfterValidator(expanded)]
# arguments of a class, of which some may be paths
Arguments = Annotated[dict[str, Any], AfterValidator(expanded_within)]


class Part(BaseModel):
    """A block of a recipe. An unknown key is an error, and no value is changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RunPart(Part):
    """Where a run goes, and whether it may replace an earlier one of its kind there
    (training/run_folder.py).
    """

    output: PathText
    overwrite: bool = False


class LoraPart(Part):
    """Settings of peft's LoraConfig.

    target_modules: without it the linear layers of the language model; `all-linear` are those of
    the vision tower and its projector too.
    """

    r: int = Field(16, gt=0)
    alpha: int = Field(32, gt=0)
    dropout: float = Field(0.0, ge=0, lt=1)
    target_modules: str | list[str] | None = None


class PolicyPart(Part):
    """model: a hub id, a folder, or FILE.py:FUNCTION, which is called with the seed
    (training/policy.py).
    """

    model: PathText
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    lora: LoraPart | None = None


class RowsPart(Part):
    """What all data blocks have.

    Args:
        columns: which key of a row holds the picture, the reference and so on, if it is not the key
            of that name (training/data/rows.py).
        count: the first rows only.
        prompt: what the policy is asked, in place of "Describe the picture."; the row's question
            stands for `{question}` in it, or follows.
        max_pixels: larger pictures are scaled down.
        target: what SFT learns of a row that has both.
        task: HarmonicEval's task of the rows that have none.
    """

    columns: dict[Column, str] = {}
    count: int | None = Field(None, gt=0)
    prompt: str | None = None
    max_pixels: int | None = Field(None, gt=0)
    target: Literal["answers", "reference"] | None = None
    task: Literal["ic", "reg", "vqa", "vdu"] | None = None

    @property
    def parts(self) -> list[Any]:
        """This block, as `MixedPart.parts` are several."""
        return [self]


class JsonlPart(RowsPart):
    """A file with one JSON object a line, or another table (training/data/jsonl.py)."""

    source: Literal["jsonl"]
    path: PathText

    @property
    def file(self) -> Path:
        """The file that is there. Raises RecipeError where there is none."""
        if not Path(self.path).is_file():
            where = "give its path with data.path=PATH, from the folder that you start in."
            raise RecipeError(f"there is no data file {self.path}: {where}")
        return Path(self.path)


class HubPart(RowsPart):
    """A Hugging Face hub dataset, or a folder on disk that `datasets` reads (training/data/hub.py).

    id, subset, split, revision: as `datasets.load_dataset` takes them (subset is its `name`).
    streaming: read only the first `count` rows over the network and keep them in memory, instead of
    downloading the split.
    """

    source: Literal["hub"]
    id: PathText
    subset: str | None = None
    split: str = "train"
    revision: str | None = None
    streaming: bool = False

    @model_validator(mode="after")
    def streams_so_many(self) -> "HubPart":
        """Raises ValueError for a stream that would be kept in memory to its end."""
        if self.streaming and self.count is None:
            raise ValueError("streaming needs a count, as what it reads is kept in memory")
        return self


class FilePart(RowsPart):
    """Rows from a function of your own, FILE.py:FUNCTION, which is called with `options`
    (training/data/custom.py).
    """

    source: PathText
    options: Arguments = {}


def source_of(block: Any) -> Any:
    """Returns the source of a data block, a mapping or a part; "file" for FILE.py:FUNCTION.

    pydantic asks it which of the blocks this one is, and finds none for a source that is unknown.
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
Block = Annotated[RowsOf, Discriminator(source_of, **WRONG_SOURCE)]


class MixedPart(Part):
    """The rows of several data blocks, one after another.

    Each is a block or the path of its file.
    """

    source: Literal["mixed"]
    parts: list[Block] = Field(min_length=1)


DataPart = JsonlPart | HubPart | FilePart | MixedPart


def _judge_by_name(judge: Any) -> Any:
    """Returns a judge's block; `{name: vllm:MODEL}` for the short form `vllm:MODEL`."""
    if isinstance(judge, str):
        return {"name": judge}
    return judge


Asked = Annotated["JudgePart", BeforeValidator(_judge_by_name)]


class CascadePart(Part):
    """Arguments of CascadeJudge."""

    student: Asked
    teacher: Asked
    sure: float = Field(0.9, ge=0, strict=True)
    audit: float = Field(0.02, ge=0, le=1, strict=True)
    seed: int = Field(0, strict=True)


class JudgePart(Part):
    """A judge by its name (see `load_judge`). `judge: vllm:MODEL` is short for `judge: {name:
    vllm:MODEL}`. A cascade is `judge: {cascade: {student: JUDGE, teacher: JUDGE}}`.

    cache: keep its answers in the cache folder (true) or in the file of that path. options: of the
    judge's class, such as {memory: 2e9}.
    """

    name: PathText = "cascade"
    cache: bool | PathText = False
    options: Arguments = {}
    cascade: CascadePart | None = None

    @model_validator(mode="after")
    def is_whole(self) -> "JudgePart":
        """Raises ValueError for a name beside a cascade, and for a cascade without its judges."""
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
        """This judge, or a jury's judges, or a cascade's student and teacher."""
        if self.cascade is None:
            return [self.model_copy(update={"name": name}) for name in members(self.name)]
        return self.cascade.student.answering + self.cascade.teacher.answering


class MetricPart(Part):
    """A metric (a name or FILE.py:CLASS), the judge that answers its questions, and options of the
    metric's class.
    """

    metric: PathText
    judge: Asked = JudgePart(name="match")
    options: Arguments = {}


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
    """One run.

    Args:
        algorithm: "dapo" and "grpo" use the same trainer. "grpo" sets `loss_type: grpo`, where
            TRL's default is "dapo". It leaves the other settings that DAPO changes
            (`dynamic_sampling`, `epsilon_high`, `soft_overlong_cache`) as given.
        verdicts: write every completion with its verdicts to the output folder
            (training/callbacks/json_lines.py).
        spans_every: steps between two pages of spans; the last step has one too.
        validation: the keys of `data` that differ for the data that is evaluated on.
        rewards: what GRPO trains on; of SFT, what `spanreward compare` asks.
        referees: rewards for `spanreward compare` that nothing is trained on.
        win_rate: a metric that compares the policy with an anchor while it trains
            (training/callbacks/win_rate.py).
        trainer: arguments of TRL's SFTConfig, or of SpanGRPOConfig (GRPOConfig's and ours).
    """

    algorithm: Literal["sft", "grpo", "dapo"]
    seed: int = 0
    verdicts: bool = True
    spans_every: int = Field(50, gt=0)
    policy: PolicyPart
    data: Annotated[
        RowsOf | Annotated[MixedPart, Tag("mixed")], Discriminator(source_of, **WRONG_SOURCE)
    ]
    validation: Arguments | None = None
    rewards: list[RewardPart] = []
    referees: list[RewardPart] = []
    win_rate: WinRatePart | None = None
    trainer: Arguments = {}

    @property
    def watching(self) -> list[WinRatePart]:
        """The metrics that are asked while the policy trains, and that teach it nothing."""
        if self.win_rate is None:
            return []
        return [self.win_rate]

    @property
    def validation_data(self) -> DataPart | None:
        """`data` with the keys, and the options, that `validation` changes; None without a
        `validation`.
        """
        if self.validation is None:
            return None
        data = self.data.model_dump()
        changed = {**data, **self.validation}
        # options are changed one by one, and not replaced by those that differ
        new_options = self.validation.get("options")
        if "options" in data and isinstance(new_options, dict):
            changed["options"] = {**data["options"], **new_options}
        return type(self.data).model_validate(changed)


SOURCES: dict[str, type[Part]] = {
    "jsonl": JsonlPart,
    "hub": HubPart,
    "file": FilePart,
    "mixed": MixedPart,
}
PARTS: dict[str, type[Part]] = {  # by the last name in a key's path that is no list index
    **SOURCES,
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

PLACES: dict[str, type[Part]] = {  # of a key that stands elsewhere
    "at the top level": Recipe,
    **{f"under {name}": part for name, part in PARTS.items() if name not in SOURCES},
    **{f"under data of source {name}": part for name, part in SOURCES.items()},
}
RESERVED = ("output_dir", "seed", "reward_weights")  # of the trainer, and set by the recipe itself


def load_recipe(path: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Returns the recipe in a file with `key=value` overrides (dotted keys, YAML values).

    Raises RecipeError.
    """
    return check_recipe(read_recipe(Path(path), overrides))


def read_recipe(path: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the keys and values of a recipe, of any kind, with overrides. Raises RecipeError."""
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
    # files first, since an override may reach into what they hold
    if "data" in data:
        data["data"] = with_files(data["data"], path.parent)
    for override in overrides:
        apply_override(data, override)
    return data


def with_files(block: Any, folder: Path) -> Any:
    """Returns a data block in which every path, from `folder`, is replaced by the block that the
    file holds.
    """
    if isinstance(block, str):
        path = folder / expanded(block)
        if not path.is_file():
            raise RecipeError(
                f"recipe key data: there is no data file {path}; the path goes from the recipe's "
                "folder."
            )
        return with_files(read_mapping(path), path.parent)
    if isinstance(block, dict) and isinstance(block.get("parts"), list):  # of a mixed one
        return {**block, "parts": [with_files(part, folder) for part in block["parts"]]}
    return block


def checked(part: type[P], data: dict[str, Any]) -> P:
    """Returns a part from plain data. Raises RecipeError with one sentence for the first fault."""
    try:
        return part.model_validate(data)
    except ValidationError as error:
        raise RecipeError(explain(error, part=part)) from None


def check_recipe(data: dict[str, Any]) -> Recipe:
    """Returns a Recipe from plain data.

    Raises RecipeError with one sentence for the first fault.
    """
    recipe = checked(Recipe, data)
    if recipe.rewards and not any(reward.weight for reward in recipe.rewards):
        raise RecipeError(
            "every reward has the weight 0, so nothing is learnt: give one of them another weight."
        )
    # the trainer's arguments, which are no part of ours
    config = trainer_config(recipe.algorithm)
    valid = arguments_of(recipe.algorithm)
    for key in RESERVED:
        if key in recipe.trainer:
            raise RecipeError(
                f"trainer.{key} is set by the recipe itself: use output, seed or rewards instead."
            )
    for key, value in recipe.trainer.items():
        if key not in valid:
            if key in OTHER_NAMES:
                raise RecipeError(f"unknown recipe key 'trainer.{key}': {OTHER_NAMES[key]}.")
            raise RecipeError(misplaced(key, valid, f"trainer.{key}"))
        wrong = fault(config, key, value)
        if wrong:
            hint = ""
            if value is False:
                hint = " (YAML reads a bare no or off as False: quote it)"
            raise RecipeError(f"recipe key trainer.{key}: {wrong}, got {value!r}{hint}.")
    if recipe.algorithm != "sft" and not recipe.rewards:
        raise RecipeError(
            f"a {recipe.algorithm} recipe needs at least one entry under rewards, as {{metric: "
            "posh}."
        )
    if recipe.algorithm == "grpo":
        recipe = recipe.model_copy(update={"trainer": {"loss_type": "grpo", **recipe.trainer}})
    try:
        _ = recipe.validation_data  # raises for keys that its data block does not have
    except ValidationError as error:
        raise RecipeError(explain(error, "validation", type(recipe.data))) from None
    return recipe


def misplaced(key: str, keys_here: Collection[str], key_path: str) -> str:
    """Returns what is wrong with a key that its place does not have, and where else in a recipe it
    belongs.
    """
    places: dict[str, Collection[str]] = {
        place: part.model_fields for place, part in PLACES.items()
    }
    places["under data.columns"] = get_args(Column)
    keys_elsewhere = {*chain(*places.values())}
    # a key of no place, beside `options`: an argument of a judge's or a metric's class
    is_near = bool(get_close_matches(key, keys_here, 1))
    if "options" in keys_here and key not in keys_elsewhere and not is_near:
        return f"unknown recipe key {key_path!r}: arguments of its class belong under options."
    # a trainer has hundreds of arguments, so that these are looked at where no key of ours is near
    if not get_close_matches(key, {*keys_here, *keys_elsewhere}, 1, CLOSE):
        dapo = set(arguments_of("dapo")).difference(RESERVED)
        sft = set(arguments_of("sft")).difference(RESERVED)
        places["under trainer"] = dapo & sft
        places["under trainer where the algorithm is grpo or dapo"] = dapo - sft
        places["under trainer where the algorithm is sft"] = sft - dapo
    return unknown("recipe key", key, keys_here, key_path, places)


def arguments_of(algorithm: str) -> list[str]:
    """Returns the names of the trainer's arguments, which a recipe has under `trainer`."""
    return [field.name for field in fields(trainer_config(algorithm)) if field.init]


def trainer_config(algorithm: str) -> Any:
    """Returns the class of the recipe's `trainer` arguments.

    Imported late, since TRL takes seconds to load.
    """
    if algorithm == "sft":
        from trl import SFTConfig

        return SFTConfig
    from spanreward.training.grpo.config import SpanGRPOConfig

    return SpanGRPOConfig


def trainer_arguments(recipe: Recipe) -> dict[str, Any]:
    """Returns the arguments of `trainer_config` that the recipe gives."""
    arguments = {"output_dir": recipe.output, "seed": recipe.seed, **recipe.trainer}
    if recipe.algorithm != "sft":
        arguments["reward_weights"] = [part.weight for part in recipe.rewards]
    return arguments


def apply_override(data: dict[str, Any], override: str) -> None:
    """Sets `a.b=value` in nested data, which is changed in place.

    A number in the key indexes a list (rewards.0.judge=match). A block that is not there yet is
    made. Raises RecipeError for another form, and for a key inside a value that has none.
    """
    key, equals, text = override.partition("=")
    if not equals:
        raise RecipeError(f"an override is written key=value, got {override!r}.")
    *parents, last = key.split(".")
    # go down to what holds the last key
    place: Any = data
    for name in parents:
        if isinstance(place, list):
            place = place[index_of(name, place, key)]
        else:
            if place.get(name) is None:
                place[name] = {}
            place = place[name]
        if not isinstance(place, (dict, list)):
            raise RecipeError(f"{key} cannot be set: {name} holds {place!r}.")
    value = read_yaml(text, f"the value of {key}")
    if isinstance(place, list):
        place[index_of(last, place, key)] = value
    else:
        place[last] = value


def index_of(name: str, entries: list[Any], key: str) -> int:
    """Returns a list's index. Raises RecipeError where the list has no such entry."""
    if not name.isdecimal() or int(name) >= len(entries):
        raise RecipeError(f"{key} cannot be set: {name!r} must be one of 0 .. {len(entries) - 1}.")
    return int(name)


def explain(error: ValidationError, within: str = "", part: type[Part] = Recipe) -> str:
    """Returns the first error in a `part` as a sentence with the key's path, which begins with
    `within`.
    """
    # an unknown key first: `polcy:` says why `policy` is missing
    first = min(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
    path = [str(step) for step in first["loc"]]
    # pydantic puts the name of a source in
    keys = [step for step in path if step and step not in SOURCES]
    if within:
        keys.insert(0, within)
    key_path = ".".join(keys)
    # the block that holds the key: the last name in its path that is no list index
    extra = first["type"] == "extra_forbidden"
    parents = path[:-1] if extra else path
    holders = [step for step in parents if not step.isdigit()]
    if holders:
        part = PARTS.get(holders[-1], part)
    if extra:
        return misplaced(path[-1], part.model_fields, key_path)
    if first["type"] == "model_type":  # a text or a list, where a block belongs
        key = next(iter(part.model_fields))
        return (
            f"recipe key {key_path}: it holds keys and values, as {{{key}: ...}}, got "
            f"{first['input']!r}."
        )
    value = ""
    if first["type"] not in ("missing", "value_error"):  # these have none, or name it themselves
        value = f", got {first['input']!r}"
    message = first["msg"].removeprefix("Value error, ")
    return f"recipe key {key_path or 'data'}: {message}{value}."
