"""Datasets of the Hugging Face hub, and offline mode if the hub cannot be reached. Without offline
mode each file would wait half a minute for the hub.

offline_without_hub()             # before a model or a dataset is loaded by its hub id
load_split("amitha/docent", "train"), load_split("folder/with/parquet")
"""

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from huggingface_hub import constants, get_session

HUB_TIMEOUT = 3.0
HUB_PREFIX = "hub:"  # begins a dataset's name in arguments that also take a file


@cache
def offline_without_hub() -> None:
    """Switches to offline mode unless the hub answers within HUB_TIMEOUT. Offline mode is the same
    as with HF_HUB_OFFLINE=1, for this process and for the processes that this process starts.
    """
    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_TIMEOUT)
    except Exception:  # of httpx, httpx2 or the hub, by the hub's version
        os.environ["HF_HUB_OFFLINE"] = "1"  # for processes that this process starts
        constants.HF_HUB_OFFLINE = True  # the hub's library has read the environment already


def load_split(
    name: str,
    split: str = "train",
    subset: str | None = None,
    revision: str | None = None,
    streaming: bool = False,
) -> Any:
    """Returns a split of a dataset.

    name: a hub id, a folder with files that `datasets` reads, or a folder that `save_to_disk` has
    written. Raises ValueError, with the library's reason, for a dataset or split that is missing or
    cannot be reached, and for a dataset that needs its own code.
    """
    try:
        datasets = import_module("datasets")
    except ImportError:
        raise ValueError(
            f"{HUB_PREFIX}{name} needs the package datasets: pip install 'spanreward[train]'."
        ) from None
    if not Path(name).is_dir():
        offline_without_hub()
    expected = (OSError, ValueError, KeyError, RuntimeError, datasets.exceptions.DatasetsError)
    try:
        return _split_of(datasets, name, split, subset, revision, streaming)
    except expected as error:
        raise ValueError(
            f"the split {split!r} of the dataset {name!r} cannot be loaded ({_reason_of(error)}): "
            "it is named "
            "by a hub id or a folder, what is private or gated needs `hf auth login`, and "
            "HF_HUB_OFFLINE=1 looks in the cache only."
        ) from error


def _split_of(
    datasets: Any,
    name: str,
    split: str,
    subset: str | None,
    revision: str | None,
    streaming: bool,
) -> Any:
    """Returns what `load_split` returns. Raises the errors of `datasets`.

    datasets: the module, which is an optional package.
    """
    # A folder that `save_to_disk` has written has one of these files: the first for several splits,
    # the second for a single split.
    folder = Path(name)
    if (folder / "dataset_dict.json").is_file():
        return datasets.load_from_disk(name)[split]
    if (folder / "state.json").is_file():
        return datasets.load_from_disk(name)
    return datasets.load_dataset(name, subset, split=split, revision=revision, streaming=streaming)


def _reason_of(error: Exception) -> str:
    """Returns the first line of an error's own cause, or of the error itself, for a message. An
    error without words is named by its type.
    """
    cause = error.__cause__ or error
    words = str(cause).strip() or type(cause).__name__
    return words.splitlines()[0].rstrip(".:")


def with_undecoded_pictures(split: Any) -> Any:
    """Returns the split without decoding its pictures: each stays {"bytes", "path"} until it is
    used. Decoding is slow, and decoded pictures take much more memory.
    """
    datasets = import_module("datasets")
    for name, feature in (split.features or {}).items():
        if isinstance(feature, datasets.Image):
            split = split.cast_column(name, datasets.Image(decode=False))
    return split
