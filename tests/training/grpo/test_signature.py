"""SpanGRPOTrainer takes what the installed TRL's GRPOTrainer takes, and says so."""

import inspect

import pytest
from trl import GRPOTrainer

from spanreward import SpanGRPOTrainer


def test_the_signature_is_trls() -> None:
    assert inspect.signature(SpanGRPOTrainer) == inspect.signature(GRPOTrainer)


def test_an_unknown_argument_is_named_before_anything_is_loaded() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'train_data'"):
        SpanGRPOTrainer("a/model", train_data=[])  # type: ignore[call-arg]  # the mistake
