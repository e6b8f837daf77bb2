"""A reward function that TRL cannot call is refused before anything is loaded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanreward import SpanGRPOTrainer
from spanreward.training.grpo.reward_functions import check_function
from tests.support.batches import config_of
from tests.support.tiny_trainer import scenes

COLUMNS = ("prompt", "image", "reference")


def open_ended(completions: Any, **_: Any) -> Any: ...


def closed(prompts: Any, completions: Any) -> Any: ...


def labelled(completions: Any, label: Any, **_: Any) -> Any: ...


def referenced(completions: Any, reference: Any, **_: Any) -> Any: ...


def optional(completions: Any, label: Any = None, **_: Any) -> Any: ...


def positional(completions: Any, /, **_: Any) -> Any: ...


def starred(*texts: Any, completions: Any, **_: Any) -> Any: ...


def whole(
    prompts: Any, completions: Any, completion_ids: Any, trainer_state: Any,
    log_extra: Any, log_metric: Any, image: Any, reference: Any,
) -> Any: ...  # fmt: skip


async def waiting(completions: Any, **_: Any) -> Any: ...


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
            r"closed does not take .* 'completion_ids': .*def closed\(completions, \*\*kwargs\)",
        ),
        (labelled, r"labelled needs 'label', .* only \['image', 'prompt', 'reference'\]\."),
        (positional, "positional has 'completions' before a /"),
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
    args = config_of(tmp_path)
    with pytest.raises(ValueError, match=f"the reward function {function.__name__}"):
        SpanGRPOTrainer("no/such-model", function, args, train_dataset=scenes(8))


def test_a_package_that_a_setting_needs_is_named_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanreward.training.trainer_settings.find_spec", lambda name: None)
    args = config_of(tmp_path, optim="galore_adamw")
    with pytest.raises(ValueError, match="optim 'galore_adamw' needs galore_torch"):
        SpanGRPOTrainer("no/such-model", open_ended, args, train_dataset=scenes(8))
