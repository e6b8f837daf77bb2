"""A value under `trainer` that cannot be is told when the recipe is read, and what TRL takes is
taken.
"""

from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK
from transformers.training_args import OptimizerNames
from trl import SFTConfig

from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.recipe import RecipeError, load_recipe
from spanreward.training.trainer_settings import (
    CHOICES,
    REPORTERS,
    TYPES,
    choices_of,
    fault,
    in_help,
    needed_packages,
)
from tests.support.paths import ROOT
from tests.support.tiny_trainer import COMMON

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
        ("learning_rate=.nan", "Input should be less than or equal to 1, got nan."),
        ("learning_rate=5", "Input should be less than or equal to 1, got 5."),
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
        (
            "loss_type=dapoo",
            "Input should be 'grpo', 'dr_grpo', 'dapo', 'bnpo', 'cispo', 'sapo', 'luspo' or "
            "'vespo', got 'dapoo'.",
        ),
        ("scale_rewards=std", "Input should be 'group', 'batch' or 'none', got 'std'."),
        ("vllm_mode=colocated", "Input should be 'colocate' or 'server', got 'colocated'."),
        (
            "importance_sampling_level=seq",
            "Input should be 'token' or 'sequence', got 'seq'.",
        ),
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


@pytest.mark.parametrize(
    "override", ["optim=adam", "lr_scheduler_type=cosin", "report_to=wandbb", "report_to=[wandbb]"]
)
def test_a_value_of_a_long_list_is_refused(override: str) -> None:
    key, _, value = override.partition("=")
    with pytest.raises(RecipeError, match=rf"recipe key trainer\.{key}: Input should be ") as error:
        load_recipe(DAPO, [f"trainer.{override}"])
    assert str(error.value).endswith(f"got {value!r}." if "[" not in value else "got ['wandbb'].")


def test_a_config_in_python_refuses_the_same(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"loss_type: Input should be 'grpo', .* got 'dapoo'"):
        SpanGRPOConfig(**COMMON, output_dir=str(tmp_path), loss_type="dapoo")


def test_choices_are_those_of_trl_and_transformers() -> None:
    """Each is named by the help of its setting, but for those that are deprecated, are written
    otherwise there, or are another setting's.
    """
    assert set(REPORTERS) == set(INTEGRATION_TO_CALLBACK)
    for config in (SpanGRPOConfig, SFTConfig):
        for kind in config.__mro__:
            for key in CHOICES.get(kind.__name__, {}):
                words = {*choices_of(config, key)} - {*REPORTERS, "all", "none"}
                words -= {"chunked_nll", "bfd-requeue", "group"}
                if key == "log_level_replica":
                    key = "log_level"
                assert in_help(config, key, sorted(words)), key


def test_a_later_trls_value_is_taken() -> None:
    @dataclass
    class Later(SFTConfig):
        loss_type: str = field(default="nll", metadata={"help": "Either 'nll' or 'newest'."})

    assert fault(Later, "loss_type", "newest") == ""
    assert fault(Later, "loss_type", "newer").startswith("Input should be 'nll', 'dft' or")


@pytest.mark.parametrize("optimizer", list(OptimizerNames))
def test_every_optimizer_of_transformers_has_its_package(optimizer: OptimizerNames) -> None:
    """transformers' own message names the package, where it has one."""
    needed = [package[0] for _, _, package in needed_packages({"optim": optimizer})]
    plain = {"adamw_torch", "adamw_torch_fused", "adafactor", "sgd", "adagrad", "rmsprop"}
    assert len(needed) == (optimizer.value not in plain), optimizer


def test_sft_has_its_own_types() -> None:
    with pytest.raises(
        RecipeError,
        match=r"recipe key trainer\.packing: Input should be a valid boolean, got 'dense'\.",
    ):
        load_recipe(SFT, ["trainer.packing=dense"])
    with pytest.raises(
        RecipeError, match="Input should be 'nll', 'dft' or 'chunked_nll', got 'dapo'"
    ):
        load_recipe(SFT, ["trainer.loss_type=dapo"])
    assert load_recipe(SFT, ["trainer.max_length=null"]).trainer["max_length"] is None


@pytest.mark.parametrize("config", [SpanGRPOConfig, SFTConfig])
def test_every_default_is_taken(config: Any) -> None:
    for setting in fields(config):
        value = setting.default
        if setting.default_factory is not MISSING:
            value = setting.default_factory()
        assert not fault(config, setting.name, value), setting.name


def test_every_type_of_ours_is_of_a_setting() -> None:
    assert set(TYPES) <= {setting.name for setting in fields(SpanGRPOConfig)}
