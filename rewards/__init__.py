"""Scores completions, and says which of their words earned or cost the score. It imports no
trainer.

A name is imported when it is first used, as those of `spanreward` are: `import spanreward.rewards`
loads no parser.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def __getattr__(name: str) -> Any:
    package = import_module("spanreward")
    if package.MODULES.get(name, "").startswith(f"{__name__}."):
        return getattr(package, name)
    if find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
