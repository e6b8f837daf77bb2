"""A value under `trainer` that cannot be is told at once, and what TRL takes is taken."""

from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import pytest
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK
from transformers.training_args import OptimizerNames
from trl import SFTConfig

from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.recipe import load_recipe
from spanreward.training.trainer_settings import (
    REPORTERS,
    SETTING_CHOICES,
    SETTING_TYPES,
    choices_of,
    fault_of_setting,
    in_help,
    needed_packages,
)
from tests.support.paths import ROOT

DAPO = ROOT / "recipes" / "quickstart" / "scenes-dapo.yaml"


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("learning_rate='1e-5'", 1e-5),
        ("learning_rate=1", 1),
        ("warmup_steps=0.1", 0.1),
        ("max_steps=-1", -1),
        ('save_strategy="no"', "no"),
        ("gradient_checkpointing_kwargs={use_reentrant: false}", {"use_reentrant": False}),
        ("gradient_checkpointing_kwargs='{\"use_reentrant\": false}'", '{"use_reentrant": false}'),
        ("deepspeed=zero3.json", "zero3.json"),
        ("report_to=[wandb]", ["wandb"]),
        ("scale_rewards=false", False),
        ("scale_rewards=none", "none"),
        ("fsdp=true", True),
        ("max_grad_norm=null", None),
        ("epsilon_high=null", None),
        ("pad_to_multiple_of=8", 8),
    ],
)
def test_what_trl_takes_is_taken(override: str, value: Any) -> None:
    name = override.partition("=")[0]
    assert load_recipe(DAPO, [f"trainer.{override}"]).trainer[name] == value


def test_choices_are_those_of_trl_and_transformers() -> None:
    """Each is named by its setting's help, but for a few."""
    assert set(REPORTERS) == set(INTEGRATION_TO_CALLBACK)
    for config in (SpanGRPOConfig, SFTConfig):
        for kind in config.__mro__:
            for key in SETTING_CHOICES.get(kind.__name__, {}):
                words = {*choices_of(config, key)} - {*REPORTERS, "all", "none"}
                words -= {"chunked_nll", "bfd-requeue", "group"}
                if key == "log_level_replica":
                    key = "log_level"
                assert in_help(config, key, sorted(words)), key


def test_a_later_trls_value_is_taken() -> None:
    @dataclass
    class Later(SFTConfig):
        loss_type: str = field(default="nll", metadata={"help": "Either 'nll' or 'newest'."})

    assert fault_of_setting(Later, "loss_type", "newest") == ""
    assert "'nll', 'dft' or" in fault_of_setting(Later, "loss_type", "newer")


@pytest.mark.parametrize("optimizer", list(OptimizerNames))
def test_every_optimizer_of_transformers_has_its_package(optimizer: OptimizerNames) -> None:
    """transformers' own message names the package, where it has one."""
    needed = [package[0] for _, _, package in needed_packages({"optim": optimizer})]
    plain = {"adamw_torch", "adamw_torch_fused", "adafactor", "sgd", "adagrad", "rmsprop"}
    assert len(needed) == (optimizer.value not in plain), optimizer


@pytest.mark.parametrize("config", [SpanGRPOConfig, SFTConfig])
def test_every_default_is_taken(config: Any) -> None:
    for setting in fields(config):
        value = setting.default
        if setting.default_factory is not MISSING:
            value = setting.default_factory()
        assert not fault_of_setting(config, setting.name, value), setting.name
    assert config is SFTConfig or set(SETTING_TYPES) <= {setting.name for setting in fields(config)}
