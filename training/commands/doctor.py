"""Look at this machine before anything is trained on it: one line each, ok or what to do.

    spanreward doctor
    spanreward doctor --judge vllm:Qwen/Qwen2.5-14B-Instruct
    spanreward doctor --judge vllm:smollm2 --start          # the smallest engine: does vLLM come up at all?
    spanreward doctor --recipe RECIPE --accelerate-config accelerate_configs/zero3.yaml

Nothing is downloaded, loaded onto a GPU or written but one byte into the cache folder. A recipe's reader is asked what
it has. A judge named by --judge, or by
the recipe, is looked at by its tokenizer, where its files are here already; with --start it is started, asked one
question and ended. The exit code is 1 where something is to be done.
"""

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from rich.console import Console
from rich.table import Table

from rewards.cache_folder import CACHE
from rewards.judges.judge import RATING_SCALE
from rewards.language.pipeline import load_pipeline, pipeline_name

# The versions that the code was read against and CI runs; vLLM and TRL have a table of their own for each other.
SUPPORTED = {"torch": ">=2.9", "transformers": ">=5.15,<6", "spacy": ">=3.8.18", "trl": ">=1.16,<2", "vllm": ">=0.28"}
OPTIONAL = {"trl": "training needs it: pip install 'spanreward[train]'", "vllm": "vllm: judges need it; others do not"}
SPARE_DISK = 5e9  # bytes


@dataclass(frozen=True, slots=True)
class Finding:
    """ok: True, False (advice says what to do), or None where it is worth knowing and no fault."""

    what: str
    ok: bool | None
    found: str
    advice: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", help="whose judges and memory are looked at")
    parser.add_argument("--accelerate-config", metavar="PATH", help="that the recipe would be launched with")
    parser.add_argument("--judge", action="append", default=[], help="a judge's name; may be repeated")
    parser.add_argument("--start", action="store_true", help="start the judges too, and ask each one question")
    arguments = parser.parse_args()
    findings = [*versions(), *devices(), *folders(), own_reader()]
    judges = list(arguments.judge)
    if arguments.recipe:
        fits, asked = recipe_findings(arguments.recipe, arguments.accelerate_config)
        findings += fits
        judges += asked
    names = list(dict.fromkeys(judges))
    findings += [found for name in names for found in judge_findings(name)]
    if arguments.start:
        findings += [started(name) for name in names if not name.startswith("match")]  # which answers no prose
    table = Table("", "what", "found", "what to do", show_lines=False)
    for one in findings:
        table.add_row({True: "ok", False: "NO", None: "-"}[one.ok], one.what, one.found, one.advice)
    Console().print(table)
    sys.exit(int(any(one.ok is False for one in findings)))


def installed_version(name: str) -> str:
    """Of a package; vLLM's CPU build has a name of its own. Raises PackageNotFoundError."""
    try:
        return version(name)
    except PackageNotFoundError:
        return version(f"{name}-cpu")


def versions(installed: Callable[[str], str] = installed_version) -> Iterator[Finding]:
    """The packages that matter, against SUPPORTED."""
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", sys.version_info >= (3, 11), python, "" if sys.version_info >= (3, 11) else "3.11 or newer")
    for name, supported in SUPPORTED.items():
        try:
            found = installed(name)
        except PackageNotFoundError:
            yield Finding(
                name, None if name in OPTIONAL else False, "not installed", OPTIONAL.get(name, f"pip install {name}")
            )
            continue
        fits = SpecifierSet(supported).contains(found, prereleases=True)
        yield Finding(
            name, fits, found, "" if fits else f"{name}{supported} is supported: pip install '{name}{supported}'"
        )


def devices() -> Iterator[Finding]:
    """GPUs with what is free on them, and main memory."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count == 0:
        yield Finding("GPUs", None, "none", "the quickstart and `match` need none")
    for number in range(count):
        free, total = torch.cuda.mem_get_info(number)
        held = free < 0.9 * total
        yield Finding(
            f"GPU {number}",
            not held,
            f"{torch.cuda.get_device_name(number)}, {free / 1e9:.0f} of {total / 1e9:.0f} GB free",
            "another process holds memory: end it, or leave the device out by CUDA_VISIBLE_DEVICES" if held else "",
        )
    yield Finding("main memory", None, f"{main_memory() / 1e9:.0f} GB", "judges that sleep keep their weights there")


def main_memory(limits: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """Bytes of this machine, or of the container where that has less."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = limits.read_text().strip() if limits.is_file() else "max"
    return min(there, int(limit)) if limit.isdecimal() else there


def folders(cache: Path = CACHE) -> Iterator[Finding]:
    """The cache folder can be written, and has room."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache) as file:
            file.write(b"x")
        free = shutil.disk_usage(cache).free
    except OSError as error:
        yield Finding(
            "cache folder", False, f"{cache}: {error.strerror}", "set XDG_CACHE_HOME to a folder that can be written"
        )
        return
    room = free > SPARE_DISK
    yield Finding(
        "cache folder", room, f"{cache}, {free / 1e9:.0f} GB free", "" if room else "make room, or set XDG_CACHE_HOME"
    )


def own_reader() -> Finding:
    """The spaCy pipeline that PoSh parses with."""
    try:
        return Finding("spaCy pipeline", True, pipeline_name(load_pipeline()))
    except ImportError as error:
        return Finding("spaCy pipeline", False, "none", str(error))


def server_reader(options: Mapping[str, Any]) -> Finding:
    """The reader behind a server that a recipe's reward names: whether it is there, with what it must have."""
    from rewards.language.reader import load_reader

    name = str(options["reader"])
    try:
        found = load_reader(name, options.get("pipeline"), options.get("coref", "rules")).name()
    except (OSError, ValueError) as error:
        return Finding(f"reader {name}", False, "cannot be used", str(error))
    return Finding(f"reader {name}", True, found)


def judge_findings(name: str) -> Iterator[Finding]:
    """Whether the judge's name, engine, files and rating scale are as they must be."""
    from rewards.judges import load_judge
    from rewards.judges.local.local_judge import LocalJudge
    from rewards.judges.model_files import model_folder

    try:
        judge = load_judge(name)
    except (ValueError, ImportError) as error:
        yield Finding(f"judge {name}", False, "no such judge", str(error))
        return
    if not isinstance(judge, LocalJudge):
        yield Finding(f"judge {name}", None, judge.name if not judge.remote else "a server", "")
        return
    if name.startswith("vllm:") and importlib.util.find_spec("vllm") is None:
        yield Finding(f"judge {name}", False, "vLLM is not installed", "pip install 'spanreward[vllm]'")
    try:
        judge.model = str(model_folder(judge.model, download=False))
    except OSError:
        advice = f"hf download {judge.model}, where the hub can be reached; or a run downloads it at its start"
        yield Finding(f"judge {name}", None, "its files are not here yet", advice)
        return
    try:
        judge.encoder.scale(RATING_SCALE)
        yield Finding(f"judge {name}", True, f"reads {judge.context:,} tokens, and 1 to 5 are single tokens")
    except (ValueError, OSError) as error:
        yield Finding(f"judge {name}", False, "cannot judge", " ".join(str(error).split()))


def started(name: str) -> Finding:
    """Whether the judge starts and rates one question, and in how many seconds."""
    from rewards.judges import Failure, Question, closing, load_judge

    question = Question([{"role": "user", "content": "Rate from 1 to 5 how red a tomato is. Answer with the number."}])
    began = time.monotonic()
    try:
        judge = load_judge(name)
        with closing([judge]):
            judge.start()
            (rating,) = judge.rate([question])
    except Exception as error:
        return Finding(f"judge {name}", False, "does not start", " ".join(f"{type(error).__name__}: {error}".split()))
    seconds = f"{time.monotonic() - began:.0f} s"
    if isinstance(rating, Failure):
        return Finding(f"judge {name}", False, f"started, and did not rate ({seconds})", rating.message)
    return Finding(f"judge {name}", True, f"started, rated and ended in {seconds}")


def recipe_findings(path: str, accelerate_config: str | None) -> tuple[list[Finding], list[str]]:
    """Whether the recipe can be read and fits, by the dry run's arithmetic; and the names of its judges."""
    from training.plan.dry_run import asked_judges, memory_facts, read_launch, settings_of
    from training.recipe import RecipeError, load_recipe

    try:
        recipe = load_recipe(path)
        launch = read_launch(accelerate_config)
    except RecipeError as error:
        return [Finding(f"recipe {path}", False, "cannot be run", str(error))], []
    readers = [server_reader(part.options) for part in recipe.rewards if part.options.get("reader") is not None]
    memory: dict[str, Any] = memory_facts(recipe, settings_of(recipe), launch)
    names = [judge.name for judge, _ in asked_judges(recipe)]
    if "unknown" in memory:
        return [*readers, Finding(f"recipe {path}", None, "memory not reckoned", memory["unknown"])], names
    import torch

    needed = max(sum(memory[phase].values()) for phase in ("training", "judging"))
    count = torch.cuda.device_count()  # 0 where CUDA cannot be used
    there = torch.cuda.mem_get_info()[1] if count else 0
    here_of_all = launch.processes // launch.machines
    fits = needed <= there and here_of_all <= count
    advice = "" if fits else "more or larger GPUs, another accelerate configuration, LoRA, or a judge behind a server"
    found = f"{needed / 1e9:.0f} GB on each of {here_of_all} GPUs (computed); here {count} of {there / 1e9:.0f} GB"
    asleep, here = memory["main_memory"], main_memory()
    sleeping = Finding(
        "judges asleep",
        asleep < here,
        f"{asleep / 1e9:.0f} GB of main memory (computed); here {here / 1e9:.0f} GB",
        "" if asleep < here else "placement: rank0 keeps one copy, a server none",
    )
    return [*readers, Finding(f"recipe {path}", fits, found, advice), *([sleeping] if asleep else [])], names


if __name__ == "__main__":
    main()
