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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from spanreward.rewards.base.checks import unknown_name_message
from spanreward.rewards.base.terminal import exit_with_message
from spanreward.training.commands.metric_options import add_flags

RECIPE_FOLDERS = ("recipes", "accelerate_configs")
# The folder that has the folders of RECIPE_FOLDERS: the repository, or the installed package.
ROOT_FOLDER = Path(__file__).resolve().parents[2]
# matches no full stop in "U.S. National" or "et al. 2014"
COMMENT_SENTENCE_END = re.compile(r"(?<!\b[A-Z])\.(?= [^0-9]|$)")


def main() -> None:
    """Runs `spanreward recipes` with the words in sys.argv."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    arguments = parser.parse_args()
    names = packaged_files()
    # without a name, list the files
    if arguments.name is None:
        for name in names:
            print(f"{name}\n    {first_sentence(ROOT_FOLDER / name)}")
        return
    if arguments.name not in names:
        exit_with_message(f"{parser.prog}: {unknown_recipe_message(arguments.name, names)}")
    try:
        for copied in copy_with_data(arguments.name, arguments.output):
            print(copied)
    except FileExistsError as error:
        exit_with_message(
            f"{parser.prog}: {error} is there already: choose another --output, or move it away."
        )
    except OSError as error:
        exit_with_message(f"{parser.prog}: {error}")


def unknown_recipe_message(name: str, names: Sequence[str]) -> str:
    """Returns the message on a name that is none of `names`. It lists the names that contain the
    text, such as "docent-posh-dapo"; without such a name, it suggests the most similar name.
    """
    containing = [known for known in names if name in known]
    if containing:
        return f"{name!r} is no whole name: {', '.join(containing)}."
    return unknown_name_message("recipe", name, names)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `spanreward recipes` to its parser."""
    parser.add_argument(
        "name", nargs="?", help="the file to copy, as in the list; without it the list is printed"
    )
    add_flags(
        parser,
        "output",
        output={"default": Path(), "help": "the folder to copy to (default: the current one)"},
    )


def packaged_files() -> list[str]:
    """Returns the files of the recipes and launch configurations, as paths from the package's root,
    such as "accelerate_configs/ddp.yaml".
    """
    names = []
    for folder in RECIPE_FOLDERS:
        for path in (ROOT_FOLDER / folder).rglob("*.yaml"):
            names.append(path.relative_to(ROOT_FOLDER).as_posix())
    return sorted(names)


def copy_with_data(name: str, folder: Path) -> list[Path]:
    """Copies a recipe with its data files, or a launch configuration, and returns the paths of the
    copies. A data file that exists already is not replaced.

    name: a name of `packaged_files`. folder: the target folder, in which the copies have the same
    subfolders as in the package. Raises FileExistsError, before anything is written, if the copy of
    `name` exists already. Raises OSError for files that cannot be written.
    """
    source = ROOT_FOLDER / name
    recipe = yaml.safe_load(source.read_text(encoding="utf-8"))
    data = recipe.get("data")
    sources = [source]
    for file in data_files(data):
        # paths such as ../data/docent.yaml start from the recipe's folder
        location = os.path.normpath(source.parent / file)
        sources.append(Path(location))
    targets = [folder / path.relative_to(ROOT_FOLDER) for path in sources]
    if targets[0].exists():
        raise FileExistsError(targets[0])
    for path, target in zip(sources, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():  # a data file may exist from the copy of another recipe
            shutil.copyfile(path, target)
    return targets


def data_files(data: Any) -> list[str]:
    """Returns the paths of the data files that a recipe names: "../data/docent.yaml" gives
    ["../data/docent.yaml"], and a mixed block gives the paths among its parts.

    data: the value of the recipe's key `data`; None, for a launch configuration, gives [].
    """
    if isinstance(data, str):
        return [data]
    paths: list[str] = []
    if isinstance(data, dict):
        for part in data.get("parts", []):
            paths += data_files(part)
    return paths


def first_sentence(path: Path) -> str:
    """Returns the first sentence of the comment that a file begins with."""
    comment = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        comment.append(line.removeprefix("#").strip())
    # join the lines, since a sentence may extend over several lines
    sentences = COMMENT_SENTENCE_END.split(" ".join(comment), maxsplit=1)
    return sentences[0]
