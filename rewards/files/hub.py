"""The Hugging Face hub: its datasets, and how not to wait half a minute for each file where it
cannot be reached.

offline_without_hub()             # before a model or a dataset is loaded by its hub id
load_split("amitha/docent", "train"), load_split("folder/with/parquet")
"""

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from huggingface_hub import constants, get_session

SECONDS = 3.0
HUB = "hub:"  # begins the name of a dataset, where a file's may stand


@cache
def offline_without_hub() -> None:
    """Does what HF_HUB_OFFLINE=1 does, for this process and those that it starts, unless the hub
    answers at once.
    """
    try:
        get_session().head(constants.ENDPOINT, timeout=SECONDS)
    except Exception:  # of httpx or httpx2, as the hub's version has it, or the hub's own
        os.environ["HF_HUB_OFFLINE"] = "1"  # for processes that this one starts
        constants.HF_HUB_OFFLINE = True  # the hub has read the environment already


def load_split(
    name: str,
    split: str = "train",
    subset: str | None = None,
    revision: str | None = None,
    streaming: bool = False,
) -> Any:
    """Returns a split of a dataset, by its hub id or the folder that `datasets` reads or has saved.
    Raises ValueError, with the library's reason, for what is missing or out of reach, and for a
    dataset that needs its own code.
    """
    try:
        datasets = import_module("datasets")
    except ImportError:
        raise ValueError(
            f"{HUB}{name} needs the package datasets: pip install 'spanreward[train]'."
        ) from None
    folder = Path(name)
    if not folder.is_dir():
        offline_without_hub()
    try:
        # what `save_to_disk` has written of several splits, or of one
        if (folder / "dataset_dict.json").is_file():
            return datasets.load_from_disk(name)[split]
        if (folder / "state.json").is_file():
            return datasets.load_from_disk(name)
        return datasets.load_dataset(
            name, subset, split=split, revision=revision, streaming=streaming
        )
    except (
        OSError,
        ValueError,
        KeyError,
        RuntimeError,
        datasets.exceptions.DatasetsError,
    ) as error:
        # the first line of the innermost reason
        cause = error.__cause__ or error
        words = str(cause).strip() or type(cause).__name__
        reason = words.splitlines()[0].rstrip(".:")
        raise ValueError(
            f"the split {split!r} of the dataset {name!r} cannot be loaded ({reason}): it is named "
            "by a hub id or a folder, what is private or gated needs `hf auth login`, and "
            "HF_HUB_OFFLINE=1 looks in the cache only."
        ) from error


def undecoded(split: Any) -> Any:
    """Returns the split, whose pictures stay {"bytes", "path"} until they are used: decoding is
    slow, and what is decoded takes much more memory.
    """
    datasets = import_module("datasets")
    for name, feature in (split.features or {}).items():
        if isinstance(feature, datasets.Image):
            split = split.cast_column(name, datasets.Image(decode=False))
    return split
