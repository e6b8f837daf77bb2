"""What a recipe names for later, and what its settings need: looked for before anything is loaded.

    for what, sentence in faults_of(recipe, processes=8):
        print(what, sentence)           # "referees", "unknown metric 'pohs': did you mean ..."
    check_before_loading(recipe, 8)     # RecipeError with the first of them

A run that ends at its comparison with a typo has trained for nothing, and a judge takes minutes to
start. So the referees are made, files and functions of one's own are found, and settings are
checked together. No model is loaded, no function of one's own is called, and no network is asked.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Dataset

from spanreward.rewards.files.custom_file import custom_function, is_custom
from spanreward.rewards.reward.reward import Reward
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
from spanreward.training.recipe_rewards import build_rewards, columns_asked_by, refusals
from spanreward.training.trainer_settings import check_together, lacking_packages

WHOLE = ("trainer", "policy", "data")  # parts that their sentences name themselves


def check_before_loading(recipe: Recipe, processes: int) -> None:
    """Raises RecipeError with the first of `faults_of`."""
    for what, sentence in faults_of(recipe, processes):
        if what in WHOLE:
            raise RecipeError(sentence)
        raise RecipeError(f"recipe key {what}: {sentence}")


def faults_of(recipe: Recipe, processes: int) -> Iterator[tuple[str, str]]:
    """Yields what is wrong with the recipe's parts: which part, and a sentence.

    processes: how many train.
    """
    for key, sentence in lacking_packages(recipe.trainer).items():
        yield f"trainer.{key}", sentence
    # the quick ones first, and the rows of files last
    checks: list[tuple[str, Callable[[Recipe], None]]] = [
        ("trainer", partial(check_settings, processes=processes)),
        ("trainer", check_precision),
        ("policy", check_policy),
        ("policy", check_saved_adapter),
        ("data", check_data),
        ("validation", check_validation),
        ("referees", check_referees),
    ]
    for what, check in checks:
        try:
            with refusals():
                check(recipe)
        except (RecipeError, ImportError) as error:
            yield what, str(error)


def check_settings(recipe: Recipe, processes: int) -> None:
    """Raises ValueError for settings that exclude each other, in the words of TRL."""
    check_together(trainer_config(recipe.algorithm), trainer_arguments(recipe), processes)


def check_policy(recipe: Recipe) -> None:
    """Raises RecipeError for FILE.py:FUNCTION that is not there, or takes no seed."""
    model = recipe.policy.model
    if is_custom(model):
        try:
            check_call(model, custom_function(model), recipe.seed)
        except ValueError as error:
            raise RecipeError(f"policy.model {model}: {error}") from error


def check_saved_adapter(recipe: Recipe) -> None:
    """Raises RecipeError for a saved adapter that the recipe's `lora` does not describe."""
    check_adapter(recipe.policy)


def check_data(recipe: Recipe) -> None:
    """Raises ValueError for rows to train on that are not there."""
    check_source(recipe.data)


def check_source(data: DataPart) -> None:
    """Raises ValueError for rows whose file, function or split is not there."""
    for part in data.parts:
        if isinstance(part, JsonlPart):
            _ = part.file  # raises where there is none
        elif isinstance(part, FilePart):
            check_call(part.source, custom_function(part.source), **part.options)
        elif isinstance(part, HubPart) and Path(part.id).is_dir():  # no network is asked
            check_split(part)


def check_split(part: HubPart) -> None:
    """Raises RecipeError for a split that a folder on disk does not have. A part or a sum of
    splits, as `train[:100]`, is left to `datasets`.
    """
    names = split_names(part)
    if part.split.isidentifier() and part.split not in names:
        raise RecipeError(
            f"the dataset {part.id!r} has no split {part.split!r}, only {sorted(names)}."
        )


def check_call(name: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Raises ValueError for a function that cannot be called with these arguments."""
    try:
        inspect.signature(function).bind(*arguments, **options)
    except TypeError as error:
        raise ValueError(f"{name} cannot be called as it is: {error}.") from None


def check_validation(recipe: Recipe) -> None:
    """Raises ValueError for held-out rows that are not there, or that cannot be read where they are
    a file.
    """
    held_out = recipe.validation_data
    if held_out is None:
        return
    check_source(held_out)
    rows_of_files(held_out, [])  # raises where they cannot be read


def check_referees(recipe: Recipe) -> None:
    """Raises ValueError for a metric of a comparison that cannot be made, or that lacks its column
    in rows of a file.
    """
    compared = [*recipe.referees]
    if recipe.algorithm == "sft":  # which asks its rewards in a comparison alone
        compared += recipe.rewards
    rewards = build_rewards(compared)
    rows = None
    if rewards:
        rows = rows_of_files(recipe.validation_data or recipe.data, rewards)
    check_columns(rewards, "the held-out data", rows)


def rows_of_files(data: DataPart, rewards: Sequence[Reward]) -> Dataset | None:
    """Returns the rows without their pictures; None where some are in no file that is there.

    rewards: whose own columns are read too. Raises ValueError for rows that cannot be read.
    """
    for part in data.parts:
        if not isinstance(part, JsonlPart) or not Path(part.path).is_file():
            return None
    return load_data(data, look=False, extra_columns=columns_asked_by(rewards))
