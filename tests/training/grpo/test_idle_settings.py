"""A setting that was set and cannot act is named before the first step, and no other is."""

import logging
from pathlib import Path
from typing import Any

import pytest
from peft import LoraConfig

from spanreward.training.grpo.idle_settings import warn_of_idle, warn_of_small_rate
from tests.support.batches import config_of
from tests.support.tiny_trainer import Scored

ONE_UPDATE = "completions makes one update"
QUARTERS = {"gradient_accumulation_steps": 4, "steps_per_generation": 2}
SAPO = {"loss_type": "sapo", "num_iterations": 2}
MIXUP = {"sync_ref_model": True, "ref_model_mixup_alpha": 0.5}


def warnings_of(caplog: pytest.LogCaptureFixture, path: Path, **settings: Any) -> list[str]:
    args = config_of(path, **settings)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        warn_of_idle(args)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("settings", "named", "cause"),
    [
        ({"epsilon_high": 0.28}, "epsilon_high=0.28", ONE_UPDATE),
        ({"epsilon": 0.1, "delta": 3.0}, "epsilon=0.1, delta=3.0", ONE_UPDATE),
        ({"epsilon": 0.1, **QUARTERS}, "epsilon=0.1", "gradient_accumulation_steps (4)"),
        ({"epsilon": 0.1, **SAPO}, "epsilon=0.1", "loss_type='sapo' clips no ratio"),
        ({"sync_ref_model": True}, "sync_ref_model=True", "beta=0"),
        (MIXUP, "sync_ref_model=True, ref_model_mixup_alpha=0.5", "beta=0"),
        ({"max_resamples": 9}, "max_resamples=9", "dynamic_sampling is off"),
        ({"vespo_k_pos": 3.0}, "vespo_k_pos=3.0", "this is 'dapo'"),
    ],
)
def test_what_cannot_act_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, settings: Any, named: str, cause: str
) -> None:
    (warning,) = warnings_of(caplog, tmp_path, **settings)
    assert warning.startswith(f"{named} cannot act: ")
    assert cause in warning
    assert warning.endswith(".")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"epsilon_high": 0.28, "steps_per_generation": 2},
        {"epsilon_high": 0.28, "num_iterations": 2},
        {"epsilon": 0.2},  # the default
        {"beta": 0.04, "sync_ref_model": True},
        {"dynamic_sampling": True, "max_resamples": 9, "dynamic_sampling_spread": 0.1},
        {"loss_type": "sapo", "sapo_temperature_pos": 2.0},
    ],
)
def test_what_acts_is_not_named(
    settings: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert warnings_of(caplog, tmp_path, **settings) == []


@pytest.mark.parametrize(("rate", "times"), [(1e-6, "10"), (3e-7, "33.3"), (1e-5, ""), (0.0, "")])
def test_a_rate_too_small_for_adapters(
    rate: float, times: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    args = config_of(tmp_path, learning_rate=rate)
    with caplog.at_level(logging.WARNING):
        warn_of_small_rate(args)
    beginning = f"LoRA with learning_rate {rate:g}: {times} times less than the 1e-05"
    assert caplog.text.count(beginning) == len(caplog.records) == (times != "")


@pytest.mark.parametrize("adapter", [True, False])
def test_the_trainer_says_it(make: Any, adapter: bool, caplog: pytest.LogCaptureFixture) -> None:
    options = {"peft_config": LoraConfig(target_modules="all-linear")} if adapter else {}
    with caplog.at_level(logging.WARNING):
        make(Scored(lambda sample: 1.0), epsilon_high=0.28, learning_rate=1e-6, **options)
    assert caplog.text.count("epsilon_high=0.28 cannot act") == 1
    assert caplog.text.count("LoRA with learning_rate 1e-06: 10 times less") == adapter
