"""Where this package keeps what it would otherwise make again: ratings, converted models, logs of spawned servers.

XDG_CACHE_HOME=/scratch/cache python ...      # in /scratch/cache/spanreward instead of ~/.cache/spanreward
"""

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str]) -> Path:
    """`spanreward` in XDG_CACHE_HOME, which counts when it is an absolute path (XDG base directories), or ~/.cache."""
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "spanreward"


CACHE = cache_folder(os.environ)
