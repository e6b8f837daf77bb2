"""The files of a judge's model on this machine: their folder and their hash."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import snapshot_download

from spanreward.rewards.files.hub import offline_without_hub
from spanreward.rewards.judges.smollm2 import smollm2_folder

MODEL_FILES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt")  # no pickles


def model_folder(model: str, download: bool = True, files: Sequence[str] = MODEL_FILES) -> Path:
    """Returns the folder with a model's files. `smollm2` is converted, and a hub id that is not in
    the hub's cache is downloaded.

    model: a folder, a hub id or `smollm2`. A folder with the name of a hub id takes precedence.
    download: whether a hub id may be downloaded. files: patterns of the files to download.

    Raises FileNotFoundError for a file, and for a path (it begins with `.`, `/` or `~`) that is no
    folder. The same error is raised for a hub id that is neither in the cache nor can be
    downloaded.
    """
    if model == "smollm2":
        return smollm2_folder()
    # The folder is tried before the hub: a folder in the working directory may have the name of a
    # hub id.
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    if path.is_file():
        raise FileNotFoundError(
            f"{model} is a file, and a model is a folder with its weights, configuration and "
            f"tokenizer: give {path.parent}"
        )
    if model.startswith((".", "/", "~")):
        raise FileNotFoundError(
            f"the judge's model {model} is no folder: give a folder, a hub id, or 'smollm2'"
        )
    return _hub_folder(model, download, files)


def _hub_folder(model: str, download: bool, files: Sequence[str]) -> Path:
    """Returns the folder of a hub id in the hub's cache. The files are downloaded first if they are
    not there.

    download, files: as in `model_folder`. Raises FileNotFoundError for a hub id that is neither in
    the cache nor can be downloaded.
    """
    try:
        if download:
            offline_without_hub()
        folder = snapshot_download(model, allow_patterns=list(files), local_files_only=not download)
        return Path(folder)
    except (OSError, ValueError) as error:  # ValueError: no valid hub id
        raise FileNotFoundError(
            f"the judge's model {model!r} is not on this machine, and the hub did not give it "
            f"({type(error).__name__}): give a folder, or `hf download {model}` where the hub can "
            "be reached"
        ) from error


def files_hash(folder: Path) -> str:
    """Returns 12 hex digits that depend on the contents of the weights, configuration, tokenizer
    and chat template in a folder. Equal files in two folders have the same hash.
    """
    files: set[Path] = set()
    for pattern in MODEL_FILES:
        files.update(folder.glob(pattern))
    # Each file is listed by its name, and the names are sorted. So the hash depends neither on the
    # folder's path nor on the order in which the disk lists its files.
    listing = ""
    for path in sorted(files):
        listing += f"{path.name} {_file_hash(path)}\n"
    return hashlib.sha256(listing.encode()).hexdigest()[:12]


def _file_hash(path: Path) -> str:
    """Returns the file's SHA-256. In the hub's cache a large file is a link to a file that is named
    by its SHA-256. So its hash is taken from that name, and the file is not read.
    """
    blob = path.resolve().name
    # Small files in the hub's cache are named by their git hash, with 40 digits, and are hashed
    # here.
    if path.is_symlink() and re.fullmatch("[0-9a-f]{64}", blob):
        return blob
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
