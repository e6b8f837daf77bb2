"""Shows the base class's arguments as the signature of a subclass's constructor.

    @takes_arguments_of(GRPOTrainer.__init__)
    def __init__(self, *arguments, **named): ...

TRL adds arguments to its trainers from release to release. A copied list of arguments would lack
the new arguments. With `*arguments, **named` alone, `help`, editors and type checkers could not
show any argument.
"""

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec

Arguments = ParamSpec("Arguments")


def takes_arguments_of(
    original: Callable[Arguments, None],
) -> Callable[[Callable[..., None]], Callable[Arguments, None]]:
    """Returns a decorator that gives a function the signature of `original`."""

    def decorate(function: Any) -> Callable[Arguments, None]:
        function.__signature__ = inspect.signature(original)
        signed: Callable[Arguments, None] = function
        return signed

    return decorate
