"""`algorithm: grpo` and `dapo` are one trainer; they differ in the loss that TRL takes unless the
recipe names one.
"""

from typing import Any

from experiments.scenes.parts import SCENES, TINY
from spanreward.training.recipe import check_recipe, trainer_config


def recipe(algorithm: str, **trainer: Any) -> Any:
    rewards = [] if algorithm == "sft" else [{"metric": "posh"}]
    part = {"policy": {"model": TINY}, "data": {"source": SCENES}, "rewards": rewards}
    return check_recipe({"algorithm": algorithm, "output": "out", "trainer": trainer, **part})


def loss_type(made: Any) -> str:
    return trainer_config(made.algorithm)(
        output_dir="out", use_cpu=True, bf16=False, **made.trainer
    ).loss_type


def test_the_loss_is_the_algorithms() -> None:
    assert loss_type(recipe("grpo")) == "grpo"
    assert loss_type(recipe("dapo")) == "dapo"


def test_a_loss_that_the_recipe_names_stays() -> None:
    assert loss_type(recipe("grpo", loss_type="dr_grpo")) == "dr_grpo"


def test_a_recipe_that_a_run_wrote_is_the_same_recipe() -> None:
    made = recipe("grpo", beta=0.1)
    assert check_recipe(made.model_dump()) == made
