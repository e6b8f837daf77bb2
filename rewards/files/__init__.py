"""Files and servers outside this package: JSONL, YAML, pictures, the hub, servers and a user's own
Python file; and this package's cache folder.

XDG_CACHE_HOME=/scratch/cache python ...  # /scratch/cache/spanreward instead of ~/.cache/spanreward
"""

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Returns the folder `spanreward` in XDG_CACHE_HOME if that path is absolute (XDG standard),
    and in ~/.cache otherwise. environment: the environment variables.
    """
    base = Path(environment.get("XDG_CACHE_HOME", ""))  # "" is the working folder, not absolute
    if not base.is_absolute():
        base = Path.home() / ".cache"
    return base / "spanreward"


CACHE_FOLDER = cache_folder(os.environ)  # for ratings and converted models
