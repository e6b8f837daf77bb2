"""List the recipes and launch configurations of this package, and copy one to start from.

    # list them
    spanreward recipes
    # copy one, with its data file, to ./recipes/qwen2.5-vl-3b-lora/docent-posh-dapo.yaml
    spanreward recipes recipes/qwen2.5-vl-3b-lora/docent-posh-dapo.yaml
    # copy one to my-run/accelerate_configs/ddp.yaml
    spanreward recipes accelerate_configs/ddp.yaml --output my-run

No file is overwritten. docs/status.md says which recipes ran on a GPU.
"""

import argparse
import os
import re
import shutil
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

from spanreward.rewards.base.checks import unknown
from spanreward.rewards.base.terminal import leave
from spanreward.training.commands.metric_options import add_flags

PARTS = ("recipes", "accelerate_configs")
# The repository, or the installed package, which has the folders of PARTS too.
ROOT = Path(__file__).resolve().parents[2]
SENTENCE_END = re.compile(r"(?<!\b[A-Z])\.(?= [^0-9]|$)")  # not in "U.S. National" or "et al. 2014"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    arguments = parser.parse_args()
    found = files()
    if arguments.name is None:
        for name in found:
            print(f"{name}\n    {first_sentence(ROOT / name)}")
        return
    if arguments.name not in found:
        within = [name for name in found if arguments.name in name]
        if within:
            leave(f"{parser.prog}: {arguments.name!r} is no whole name: {', '.join(within)}.")
        leave(f"{parser.prog}: {unknown('recipe', arguments.name, found)}")
    try:
        for copied in copy(arguments.name, arguments.output):
            print(copied)
    except OSError as error:
        there = " is there already: choose another --output, or move it away."
        leave(f"{parser.prog}: {error}{there if isinstance(error, FileExistsError) else ''}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", help="the file to copy, as in the list; without it the list is printed"
    )
    add_flags(
        parser,
        "output",
        output={"default": Path(), "help": "the folder to copy to (default: the current one)"},
    )


def files() -> list[str]:
    return sorted(
        path.relative_to(ROOT).as_posix()
        for part in PARTS
        for path in (ROOT / part).rglob("*.yaml")
    )


def copy(name: str, folder: Path) -> list[Path]:
    """Copy a file with its data files and return the copies.

    Raises FileExistsError before anything is written.
    """
    source = ROOT / name
    data = yaml.safe_load(source.read_text(encoding="utf-8")).get("data")
    sources = [source, *(Path(os.path.normpath(source.parent / path)) for path in data_files(data))]
    targets = [folder / path.relative_to(ROOT) for path in sources]
    if targets[0].exists():
        raise FileExistsError(targets[0])
    for path, target in zip(sources, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():  # recipes share their data files
            shutil.copyfile(path, target)
    return targets


def data_files(data: Any) -> list[str]:
    """Returns the data files that a recipe's data block names, itself or in its parts."""
    if isinstance(data, dict):
        return [path for part in data.get("parts", []) for path in data_files(part)]
    return [data] if isinstance(data, str) else []


def first_sentence(path: Path) -> str:
    comment = takewhile(
        lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines()
    )
    return SENTENCE_END.split(
        " ".join(line.removeprefix("#").strip() for line in comment), maxsplit=1
    )[0]
