"""A value under `trainer` that cannot be is told when the recipe is read, and what TRL takes is
taken.
"""

from dataclasses import MISSING, fields
from typing import Any

import pytest
from trl import SFTConfig

from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.recipe import RecipeError, load_recipe
from spanreward.training.trainer_settings import TYPES, fault
from tests.support.paths import ROOT

BARE = "(YAML reads a bare no or off as False: quote it)"
DAPO, SFT = (ROOT / "recipes" / "quickstart" / f"scenes-{name}.yaml" for name in ("dapo", "sft"))


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("num_generations=eight", "Input should be a valid integer, got 'eight'."),
        ("num_generations=1", "Input should be greater than or equal to 2, got 1."),
        ("num_generations='8'", "Input should be a valid integer, got '8'."),
        ("learning_rate=abc", "Input should be a valid number, got 'abc'."),
        ("learning_rate=-1e-5", "Input should be greater than or equal to 0, got -1e-05."),
        ("learning_rate=.nan", "Input should be a finite number, got nan."),
        ("span_coef=-1", "Input should be greater than or equal to 0, got -1."),
        ("span_coef=.inf", "Input should be a finite number, got inf."),
        ("max_steps=-3", "Input should be -1 or greater than or equal to 1, got -3."),
        ("max_steps=0", "Input should be -1 or greater than or equal to 1, got 0."),
        ("max_steps=1.5", "Input should be -1 or a valid integer, got 1.5."),
        ("max_failed_fraction=2", "Input should be less than or equal to 1, got 2."),
        ("temperature=0", "Input should be greater than 0, got 0."),
        ("use_cpu='yes'", "Input should be a valid boolean, got 'yes'."),
        ("dynamic_sampling=1", "Input should be a valid boolean, got 1."),
        ("save_strategy=step", "Input should be 'no', 'steps', 'epoch' or 'best', got 'step'."),
        ("logging_strategy=no", f"Input should be 'no', 'steps' or 'epoch', got False {BARE}."),
        ("deepspeed=3", "Input should be a valid dictionary or a valid string, got 3."),
    ],
)
def test_a_value_that_cannot_be_is_one_sentence(override: str, told: str) -> None:
    with pytest.raises(RecipeError) as error:
        load_recipe(DAPO, [f"trainer.{override}"])
    assert str(error.value) == f"recipe key trainer.{override.partition('=')[0]}: {told}"


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("learning_rate=1e-5", 1e-5),
        ("learning_rate='1e-5'", 1e-5),
        ("learning_rate=1", 1),
        ("warmup_steps=0.1", 0.1),
        ("max_steps=-1", -1),
        ("save_strategy=steps", "steps"),
        ('save_strategy="no"', "no"),
        ("lr_scheduler_type=cosine", "cosine"),
        ("gradient_checkpointing_kwargs={use_reentrant: false}", {"use_reentrant": False}),
        ("gradient_checkpointing_kwargs='{\"use_reentrant\": false}'", '{"use_reentrant": false}'),
        ("deepspeed=zero3.json", "zero3.json"),
        ("report_to=[wandb]", ["wandb"]),
        ("report_to=none", "none"),
        ("scale_rewards=false", False),
        ("scale_rewards=none", "none"),
        ("fsdp=true", True),
        ("max_grad_norm=null", None),
        ("epsilon_high=null", None),
        ("pad_to_multiple_of=8", 8),
    ],
)
def test_what_trl_takes_is_taken(override: str, value: Any) -> None:
    name, _, text = override.partition("=")
    text = text[1:-1] if text.startswith("'") and '"' in text and name == "save_strategy" else text
    assert load_recipe(DAPO, [f"trainer.{name}={text}"]).trainer[name] == value


def test_sft_has_its_own_types() -> None:
    with pytest.raises(
        RecipeError,
        match=r"recipe key trainer\.packing: Input should be a valid boolean, got 'dense'\.",
    ):
        load_recipe(SFT, ["trainer.packing=dense"])
    assert load_recipe(SFT, ["trainer.max_length=null"]).trainer["max_length"] is None


@pytest.mark.parametrize("config", [SpanGRPOConfig, SFTConfig])
def test_every_default_is_taken(config: Any) -> None:
    for field in fields(config):
        value = field.default if field.default_factory is MISSING else field.default_factory()
        assert not fault(config, field.name, value), field.name


def test_every_type_of_ours_is_of_a_setting() -> None:
    assert set(TYPES) <= {field.name for field in fields(SpanGRPOConfig)}
