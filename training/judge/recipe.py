"""The recipe of an encoder judge, as typed YAML: load_judge_recipe("recipes/judges/people.yaml", ["seed=1"])."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from spanreward.training.recipe import Part, apply_override, explain
from spanreward.training.recipe_file import RecipeError, read_mapping

Kind = Literal["right", "replaced", "swapped", "added", "other"]  # training/judge/changes.py


class JudgeRecipe(Part):
    """What an encoder judge is trained from, and how. docs/train_a_judge.md says what each key means."""

    output: str
    seed: int = Field(0, ge=0)
    base: str = "minilm"
    captions: dict[str, str] = Field({})
    labels: dict[str, str] = Field({})
    teacher: list[str] = Field([])
    kinds: dict[Kind, Annotated[float, Field(gt=0)]] = Field({"right": 1.0, "replaced": 2.0}, min_length=1)
    examples: int = Field(7000, gt=0)
    unseen: float = Field(0.0, ge=0, lt=1)
    held_out: float = Field(0.06, gt=0, lt=1)
    steps: int = Field(360, gt=0)
    batch: int = Field(16, gt=0)
    learning_rate: float = Field(3e-4, gt=0)
    check_every: int = Field(90, gt=0)
    patience: int = Field(3, gt=0)


def load_judge_recipe(path: str | Path, overrides: Sequence[str] = ()) -> JudgeRecipe:
    """Returns the recipe in a file with `key=value` overrides. Raises RecipeError with one sentence."""
    if not Path(path).is_file():
        raise RecipeError(f"there is no recipe {path}: `spanreward recipes` lists those of this package.")
    data = read_mapping(Path(path))
    for override in overrides:
        apply_override(data, override)
    try:
        return JudgeRecipe.model_validate(data)
    except ValidationError as error:
        raise RecipeError(explain(error, part=JudgeRecipe)) from None
