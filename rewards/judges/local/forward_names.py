"""Finds the names of arguments of a model's `forward` in the installed transformers.

    cache_name(model)       # "past_key_values"; from transformers 5.24 on "cache"

transformers 5.24 renamed the argument with the keys and values of earlier tokens, and 5.40 drops
the old name. `forward` ignores an unknown name, because its last argument is **kwargs. With a wrong
name, the model would read the end of a prompt without the beginning, and a score would be wrong
without any error.
"""

import inspect
from typing import Any

CACHE_NAMES = ("cache", "past_key_values")  # the newer name first


def cache_name(model: Any) -> str | None:
    """Returns the name under which the model's forward takes and returns the keys and values of
    earlier tokens.

    Returns None if forward has no such argument, as in state space models before transformers 5.24.
    """
    names = inspect.signature(model.forward).parameters
    for name in CACHE_NAMES:
        if name in names:
            return name
    return None


def selects_positions(model: Any) -> bool:
    """Returns whether forward can return the logits of only some positions (its argument
    `logits_to_keep`).
    """
    return "logits_to_keep" in inspect.signature(model.forward).parameters
