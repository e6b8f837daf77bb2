"""What a model's `forward` takes in the installed transformers.

    cache_name(model)       # "past_key_values"; from transformers 5.24 on "cache"

transformers 5.24 renamed the argument with the keys and values of earlier tokens, and 5.40 drops
the old name. `forward` ends in **kwargs, so it swallows a name that it does not know, and then
reads the end of a prompt without its beginning: a wrong score, and no error.
"""

import inspect
from typing import Any

CACHE_NAMES = ("cache", "past_key_values")  # the newer one first


def cache_name(model: Any) -> str | None:
    """Returns the name by which the model's forward takes and returns earlier keys and values.

    None for a model that takes none of both, such as a state space model before transformers 5.24.
    """
    names = inspect.signature(model.forward).parameters
    for name in CACHE_NAMES:
        if name in names:
            return name
    return None


def selects_positions(model: Any) -> bool:
    """Returns whether forward can be asked for the logits of some positions (`logits_to_keep`)."""
    return "logits_to_keep" in inspect.signature(model.forward).parameters
