"""Checks the parts of a recipe that a run needs only later, before anything is loaded.

    for what, sentence in faults_of(recipe, processes=8):
        print(what, sentence)           # "referees", "unknown metric 'pohs': did you mean ..."
    check_before_loading(recipe, 8)     # raises RecipeError with the first fault

Without these checks, a typo in a referee would be found only in the comparison after a whole
training. A typo in the data would be found only after the judges have started, which takes minutes.
So the referees are made here, the user's files and functions are looked up, and the settings are
checked together. No model is loaded, no function of the user is called, and no network is used.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Dataset

from spanreward.rewards.files.custom_file import custom_function, is_custom
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.tables import check_there
from spanreward.training.adapters import check_adapter
from spanreward.training.data.hub import split_names
from spanreward.training.data.load import load_data
from spanreward.training.grpo.preflight import check_columns
from spanreward.training.precision import check_precision
from spanreward.training.recipe import (
    DataPart,
    FilePart,
    HubPart,
    JsonlPart,
    Recipe,
    RecipeError,
    trainer_arguments,
    trainer_config,
)
from spanreward.training.recipe_rewards import build_rewards, columns_asked_by, refusing_in_one_line
from spanreward.training.trainer_settings import check_together, lacking_packages

# the parts of a recipe whose faults are sentences that name the key themselves
PARTS_THAT_NAME_KEYS = ("trainer", "policy", "data")


def check_before_loading(recipe: Recipe, processes: int) -> None:
    """Raises RecipeError for the first fault of the recipe, with a message that names the key.

    Example: "recipe key referees: unknown metric 'pohs': ...". processes: the number of training
    processes.
    """
    for key, sentence in faults_of(recipe, processes):
        if key in PARTS_THAT_NAME_KEYS:  # the sentence names the key already
            raise RecipeError(sentence)
        raise RecipeError(f"recipe key {key}: {sentence}")


def faults_of(recipe: Recipe, processes: int) -> Iterator[tuple[str, str]]:
    """Yields each fault of the recipe as (the recipe's key, a sentence), such as ("referees",
    "unknown metric 'pohs': ...").

    processes: the number of training processes.
    """
    for key, sentence in lacking_packages(recipe.trainer).items():
        yield f"trainer.{key}", sentence
    # the quick checks come first; `check_validation` and `check_referees` read rows of files
    checks: list[tuple[str, Callable[[Recipe], None]]] = [
        ("trainer", partial(check_settings, processes=processes)),
        ("trainer", check_precision),
        ("policy", check_policy),
        ("policy", check_saved_adapter),
        ("data", check_data),
        ("validation", check_validation),
        ("referees", check_referees),
        ("win_rate", check_anchor),
    ]
    for what, check in checks:
        try:
            with refusing_in_one_line():
                check(recipe)
        except (RecipeError, ImportError) as error:
            yield what, str(error)


def check_settings(recipe: Recipe, processes: int) -> None:
    """Raises ValueError, with TRL's message, for settings of the trainer that exclude each
    other.
    """
    check_together(trainer_config(recipe.algorithm), trainer_arguments(recipe), processes)


def check_policy(recipe: Recipe) -> None:
    """Raises RecipeError if policy.model is FILE.py:FUNCTION and the file has no such function, or
    the function cannot be called with the seed alone.
    """
    model = recipe.policy.model
    if is_custom(model):
        try:
            check_call(model, custom_function(model), recipe.seed)
        except ValueError as error:
            raise RecipeError(f"policy.model {model}: {error}") from error


def check_saved_adapter(recipe: Recipe) -> None:
    """Raises RecipeError if policy.model is a saved adapter with other settings than `lora`."""
    check_adapter(recipe.policy)


def check_data(recipe: Recipe) -> None:
    """Raises ValueError if the file, function or split of the training data does not exist."""
    check_source(recipe.data)


def check_source(data: DataPart) -> None:
    """Raises ValueError if the file, function or split of the data does not exist."""
    for part in data.parts:
        if isinstance(part, JsonlPart):
            _ = part.file  # only read because the property raises if the file does not exist
        elif isinstance(part, FilePart):
            check_call(part.source, custom_function(part.source), **part.options)
        elif isinstance(part, HubPart) and Path(part.id).is_dir():  # a hub id would need a network
            check_split(part)


def check_split(part: HubPart) -> None:
    """Raises RecipeError if a dataset does not have the split that the recipe names.

    A slice such as `train[:100]`, or a sum such as `train+test`, is not checked here: `datasets`
    checks it later. The check also passes if `datasets` cannot list the dataset's splits.

    part: the recipe's block of a dataset. Its `id` is a folder on this machine, since the splits of
    a dataset on the hub could only be listed with a network.
    """
    names = split_names(part)  # only `part.split` itself, if the splits cannot be listed
    is_plain_name = part.split.isidentifier()  # False for a slice or a sum
    if is_plain_name and part.split not in names:
        raise RecipeError(
            f"the dataset {part.id!r} has no split {part.split!r}, only {sorted(names)}."
        )


def check_call(
    name: str,
    function: Callable[..., Any],
    *arguments: Any,
    **options: Any,
) -> None:
    """Raises ValueError if the function does not take these arguments. The function is not called.

    name: FILE.py:FUNCTION, for the message.
    """
    try:
        inspect.signature(function).bind(*arguments, **options)
    except TypeError as error:
        raise ValueError(f"{name} cannot be called as it is: {error}.") from None


def check_validation(recipe: Recipe) -> None:
    """Raises ValueError if the validation data do not exist, and for rows of a file that cannot be
    read.
    """
    held_out = recipe.validation_data
    if held_out is None:
        return
    check_source(held_out)
    rows_of_files(held_out, [])  # raises if rows of a file cannot be read


def check_referees(recipe: Recipe) -> None:
    """Raises ValueError if a metric of a later `spanreward compare` cannot be made, or if rows of a
    file lack a column that the metric needs.
    """
    compared = [*recipe.referees]
    if recipe.algorithm == "sft":  # SFT trains without rewards: only a comparison asks the rewards
        compared += recipe.rewards
    rewards = build_rewards(compared)
    rows = None
    if rewards:
        rows = rows_of_files(recipe.validation_data or recipe.data, rewards)
    check_columns(rewards, "the held-out data", rows)


def check_anchor(recipe: Recipe) -> None:
    """Raises RecipeError if the win rate's file of answers does not exist."""
    if recipe.win_rate is None or recipe.win_rate.anchor is None:
        return
    try:
        check_there(recipe.win_rate.anchor)
    except OSError as error:
        raise RecipeError(f"anchor: {error}") from error


def rows_of_files(data: DataPart, rewards: Sequence[Reward]) -> Dataset | None:
    """Returns the rows of the data without their pictures. Returns None unless every part of the
    data is a file that exists.

    rewards: may be metrics of the user that read further columns, which the rows then hold. Raises
    ValueError for rows that cannot be read.
    """
    for part in data.parts:
        if not isinstance(part, JsonlPart) or not Path(part.path).is_file():
            return None
    return load_data(data, look=False, extra_columns=columns_asked_by(rewards))
