"""The recipe of an encoder judge, as typed YAML: load_judge_recipe("recipes/judges/people.yaml", ["seed=1"])."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from spanreward.training.recipe import Part, checked, read_recipe

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
    return checked(JudgeRecipe, read_recipe(Path(path), overrides))
