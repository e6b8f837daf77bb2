"""What the trainer relies on in TRL: as it is installed, and what is said where it is not."""

import ast
import inspect
import re
from importlib.metadata import version
from types import ModuleType
from typing import Any

import pytest
from trl import GRPOTrainer

from spanreward.rewards.base.needs import TRL_VERSIONS
from spanreward.training.grpo.trl_internals import contract
from spanreward.training.grpo.trl_internals.contract import (
    TRL_ATTRIBUTES,
    TRL_METHODS,
    check_contract,
    check_loss,
)
from tests.support.paths import ROOT
from tests.support.tiny_trainer import Scored

UNSLOTH = """
def _compute_loss(self, model, inputs): ...

class UnslothGRPOTrainer(GRPOTrainer):
    _compute_loss = _compute_loss
"""


class Complete:
    """What GRPOTrainer's constructor leaves."""


for _name in TRL_ATTRIBUTES:
    setattr(Complete, _name, None)


def test_the_installed_version_is_as_the_trainer_knows_it(caplog: pytest.LogCaptureFixture) -> None:
    check_contract(Complete())
    assert caplog.messages == []


def test_every_method_that_is_overridden_or_called_is_listed() -> None:
    """By the trainers' source: methods that TRL has too, and private calls."""
    listed = {name for _, name in TRL_METHODS}
    for name in ("trainer", "span_credit", "trl_internals/resuming"):
        tree = ast.parse((ROOT / f"training/grpo/{name}.py").read_text())
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        own, read = set(), set()
        for one in classes:
            own |= {method.name for method in one.body if isinstance(method, ast.FunctionDef)}
            read |= {node.attr for node in ast.walk(one) if isinstance(node, ast.Attribute)}
        theirs = {method for method in own if hasattr(GRPOTrainer, method)} - {"__init__"}
        source = inspect.getsource(GRPOTrainer)
        private = {
            word for word in read if word.startswith("_") and re.search(rf"self\.{word}\b", source)
        }
        assert theirs | private <= listed | set(TRL_ATTRIBUTES), name


def test_a_method_that_takes_something_else_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Other:
        def _generate(self, prompts: Any, images: Any) -> None: ...

        def _log_metric(self, metric: Any, value: Any) -> None: ...

    wanted = {(Other, "_generate"): ("prompts",), (Other, "_log_metric"): ("name", "value")}
    monkeypatch.setattr(contract, "TRL_METHODS", wanted)
    check_contract(Complete())
    (message,) = caplog.messages
    assert "Other._log_metric takes (metric, value)" in message
    assert f"TRL {version('trl')}" in message
    assert "\n" not in message


def test_a_method_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {(GRPOTrainer, "_generate"): ("prompts",), (GRPOTrainer, "_gone"): ()}
    monkeypatch.setattr(contract, "TRL_METHODS", wanted)
    with pytest.raises(ValueError, match=r"needs GRPOTrainer\._gone, which TRL [\d.]+ ") as error:
        check_contract(Complete())
    assert f"pip install 'trl{TRL_VERSIONS}'" in str(error.value)
    assert "TRL's own GRPOTrainer" in str(error.value)


def test_an_attribute_that_is_gone_is_an_error(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with TRL 1.8, which has no eos_token_ids."""
    plain = GRPOTrainer.__init__

    def without(self: Any, *arguments: Any, **named: Any) -> None:
        plain(self, *arguments, **named)
        del self.eos_token_ids

    monkeypatch.setattr(GRPOTrainer, "__init__", without)
    without.__signature__ = inspect.signature(plain)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"needs GRPOTrainer\.eos_token_ids, which TRL"):
        make(Scored(lambda sample: 0.5))


def test_spans_are_refused_with_another_loss(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a module that Unsloth writes: its class or its function in TRL's place."""
    check_loss(0.5)
    written = ModuleType("UnslothGRPOTrainer")
    vars(written)["GRPOTrainer"] = GRPOTrainer
    exec(UNSLOTH, vars(written))
    says = "span_coef=0.5 .* loss is UnslothGRPOTrainer's, .* set span_coef=0, or"
    with monkeypatch.context() as place:
        place.setattr(contract, "GRPOTrainer", written.UnslothGRPOTrainer)
        check_loss(0.0)
        with pytest.raises(ValueError, match=says):
            check_loss(0.5)
    monkeypatch.setattr(GRPOTrainer, "_compute_loss", written._compute_loss)
    with pytest.raises(ValueError, match=says):
        make(Scored(lambda sample: 0.5), span_coef=0.5)
    make(Scored(lambda sample: 0.5))
