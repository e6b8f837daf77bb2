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
    """Returns the folder with a model's files. Converts `smollm2`; downloads a hub id that is not
    in the cache.

    Raises FileNotFoundError for a path (it begins with `.`, `/` or `~`) that is not a folder, and
    for a hub id outside the cache if `download` is False, or if the hub lacks it or cannot be
    reached.
    """
    if model == "smollm2":
        return smollm2_folder()
    # A folder goes before the hub: one in the working directory may be named like a hub id.
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
    # What is left is a hub id.
    try:
        if download:
            offline_without_hub()
        folder = snapshot_download(model, allow_patterns=list(files), local_files_only=not download)
        return Path(folder)
    except (OSError, ValueError) as error:  # ValueError: a path that no hub id may be
        raise FileNotFoundError(
            f"the judge's model {model!r} is not on this machine, and the hub did not give it "
            f"({type(error).__name__}): give a folder, or `hf download {model}` where the hub can "
            "be reached"
        ) from error


def files_hash(folder: Path) -> str:
    """Returns 12 hex digits over the contents of weights, configuration, tokenizer and chat
    template.
    """
    files: set[Path] = set()
    for pattern in MODEL_FILES:
        files.update(folder.glob(pattern))
    # By name, so that the hash depends neither on the folder's place nor on its listing's order.
    listing = ""
    for path in sorted(files):
        listing += f"{path.name} {_file_hash(path)}\n"
    return hashlib.sha256(listing.encode()).hexdigest()[:12]


def _file_hash(path: Path) -> str:
    """Returns the file's SHA-256, by which the hub's cache names large files: they are not read."""
    blob = path.resolve().name
    # The cache names a small file by its git hash, which has 40 digits.
    if path.is_symlink() and re.fullmatch("[0-9a-f]{64}", blob):
        return blob
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
