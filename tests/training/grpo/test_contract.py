"""What the trainer relies on in TRL: as it is in the installed version, and what is said where it is not."""

import ast
import inspect
import re
from typing import Any

from trl import GRPOTrainer

from spanreward.training.grpo.contract import ATTRIBUTES, METHODS, differences, missing_attributes, warning
from tests.support.paths import ROOT


def test_the_installed_version_is_as_the_trainer_knows_it() -> None:
    assert differences() == ()


def test_every_method_that_is_overridden_or_called_is_listed() -> None:
    """By reading the trainers' source: their own methods that TRL or transformers has too, and private calls."""
    listed = {name for _, name in METHODS}
    for name in ("trainer", "resuming"):
        tree = ast.parse((ROOT / f"training/grpo/{name}.py").read_text())
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        own = {method.name for one in classes for method in one.body if isinstance(method, ast.FunctionDef)}
        theirs = {method for method in own if hasattr(GRPOTrainer, method)} - {"__init__"}
        read = {node.attr for one in classes for node in ast.walk(one) if isinstance(node, ast.Attribute)}
        source = inspect.getsource(GRPOTrainer)
        private = {word for word in read if word.startswith("_") and re.search(rf"self\.{word}\b", source)}
        assert theirs | private <= listed | set(ATTRIBUTES), name


def test_what_differs_is_one_sentence() -> None:
    class Other:
        def _generate(self, prompts: Any, images: Any) -> None: ...

        def _log_metric(self, metric: Any, value: Any) -> None: ...

    wanted = {(Other, "_generate"): ("prompts",), (Other, "_log_metric"): ("name", "value"), (Other, "_gone"): ()}
    found = differences(wanted)
    assert found == ("Other._log_metric takes (metric, value) and not (name, value)", "Other has no _gone")
    assert "differs: Other._log_metric takes" in warning(found)
    assert "\n" not in warning(found)


def test_attributes_that_are_gone() -> None:
    assert missing_attributes(object()) == tuple(f"a GRPOTrainer has no {name}" for name in ATTRIBUTES)
