"""A reward function that TRL cannot call is refused before anything is loaded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanreward import SpanGRPOConfig, SpanGRPOTrainer
from spanreward.training.grpo.reward_functions import check_function
from tests.support.tiny_trainer import COMMON, scenes

COLUMNS = ("prompt", "image", "reference")


def open_ended(completions: list[Any], **_: Any) -> list[float]:
    return [0.0] * len(completions)


def closed(prompts: list[Any], completions: list[Any]) -> list[float]:
    return [0.0] * len(completions)


def labelled(completions: list[Any], label: list[str], **_: Any) -> list[float]:
    return [0.0] * len(completions)


def referenced(completions: list[Any], reference: list[str], **_: Any) -> list[float]:
    return [0.0] * len(completions)


def optional(completions: list[Any], label: list[str] | None = None, **_: Any) -> list[float]:
    return [0.0] * len(completions)


def positional(completions: list[Any], /, **_: Any) -> list[float]:
    return [0.0] * len(completions)


def starred(*texts: Any, completions: list[Any], **_: Any) -> list[float]:
    return [0.0] * len(completions)


def whole(
    prompts: Any,
    completions: Any,
    completion_ids: Any,
    trainer_state: Any,
    log_extra: Any,
    log_metric: Any,
    image: Any,
    reference: Any,
) -> list[float]:
    return [0.0] * len(completions)


async def waiting(completions: list[Any], **_: Any) -> list[float]:
    return [0.0] * len(completions)


@pytest.mark.parametrize(
    "function", [open_ended, referenced, optional, starred, whole, waiting, dict]
)
def test_a_function_that_trl_reaches(function: Callable[..., Any]) -> None:
    check_function(function, COLUMNS)
    check_function(function, None)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (
            closed,
            r"closed does not take what TRL gives it, such as 'completion_ids': write def closed\("
            r"completions, \*\*kwargs\)\.",
        ),
        (
            labelled,
            "labelled needs 'label', and neither does TRL give it nor has train_dataset a column "
            r"of that name, only \['image', 'prompt', 'reference'\]\.",
        ),
        (positional, "positional has 'completions' before a /, and TRL calls by keywords"),
    ],
)
def test_a_function_that_it_does_not(function: Callable[..., Any], told: str) -> None:
    with pytest.raises(ValueError, match=f"the reward function {told}"):
        check_function(function, COLUMNS)


def test_columns_that_are_not_known_are_not_missed() -> None:
    check_function(labelled, None)
    with pytest.raises(ValueError, match="closed does not take"):
        check_function(closed, None)


@pytest.mark.parametrize("function", [closed, labelled])
def test_the_trainer_says_so_before_the_model_is_read(
    function: Callable[..., Any], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"the reward function {function.__name__}"):
        SpanGRPOTrainer(
            "no/such-model",
            function,
            SpanGRPOConfig(**COMMON, output_dir=str(tmp_path)),
            train_dataset=scenes(8),
        )


def test_a_package_that_a_setting_needs_is_named_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanreward.training.trainer_settings.find_spec", lambda name: None)
    args = SpanGRPOConfig(**{**COMMON, "optim": "galore_adamw"}, output_dir=str(tmp_path))
    with pytest.raises(ValueError, match="optim 'galore_adamw' needs galore_torch"):
        SpanGRPOTrainer("no/such-model", open_ended, args, train_dataset=scenes(8))
