"""The Hugging Face hub, where it cannot be reached: its library would try each file for half a minute.

offline_without_hub()             # before a model or a dataset is loaded by its hub id
"""

import os
from functools import cache

from huggingface_hub import constants, get_session

SECONDS = 3.0


@cache
def offline_without_hub() -> None:
    """Does what HF_HUB_OFFLINE=1 does, for this process and those that it starts, unless the hub answers at once."""
    try:
        get_session().head(constants.ENDPOINT, timeout=SECONDS)
    except Exception:  # of httpx or httpx2, as the hub's version has it, or the hub's own
        os.environ["HF_HUB_OFFLINE"] = "1"
        constants.HF_HUB_OFFLINE = True
