"""Check this machine, judges and a recipe before training. Prints one line per check: ok, or what to do.

    spanreward doctor
    spanreward doctor --judge vllm:Qwen/Qwen2.5-14B-Instruct
    spanreward doctor --judge vllm:smollm2 --start          # does vLLM start at all? This is the smallest engine
    spanreward doctor --recipe RECIPE --accelerate-config accelerate_configs/zero3.yaml --start

Checked are package versions, GPUs, main memory, the cache folder and the spaCy pipeline; of a recipe its memory (also
pinned and shared), its network and its judges; of a judge its name, engine, files and rating scale. With
--start each judge is started with the recipe's options, asked one question and ended. Nothing is downloaded, and
without --start nothing is loaded onto a GPU. The exit code is 1 where something is to be done.
"""

import argparse
import importlib.util
import os
import resource
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from rich.console import Console
from rich.table import Table

from spanreward.rewards.cache_folder import CACHE
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.rewards.judges.local.vllm_engine import VLLM
from spanreward.rewards.language.pipeline import load_pipeline, pipeline_name
from spanreward.rewards.naming import members
from spanreward.training.commands.metric_options import JUDGES
from spanreward.training.needs import TRL

SUPPORTED = {"torch": ">=2.9", "transformers": ">=5.9,<6", "spacy": ">=3.8.18", "trl": TRL, "vllm": VLLM}
OPTIONAL = {"trl": "training needs it: pip install 'spanreward[train]'", "vllm": "vllm: judges need it; others do not"}
SPARE_DISK = 5e9  # bytes
SHARED = 1e9  # bytes that NCCL and vLLM's workers may take of /dev/shm; a container has 64 MB by default
Asked = tuple[str, dict[str, Any]]  # a judge's name and its options


@dataclass(frozen=True, slots=True)
class Finding:
    """ok: True; False, and advice says what to do; None for a fact that is neither."""

    what: str
    ok: bool | None
    found: str
    advice: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", metavar="PATH", help="a recipe to check, with its judges and memory")
    parser.add_argument("--accelerate-config", metavar="PATH", help="what the recipe would be launched with")
    parser.add_argument("--judge", action="append", default=[], help=f"a judge to check: {JUDGES}; may be repeated")
    parser.add_argument("--start", action="store_true", help="start each judge too, and ask it one question")
    arguments = parser.parse_args()
    findings = [*versions(), *devices(), *folders(), own_reader()]
    judges: list[Asked] = [(name, {}) for given in dict.fromkeys(arguments.judge) for name in members(given)]
    if arguments.recipe:
        told, asked = recipe_findings(arguments.recipe, arguments.accelerate_config)
        findings += told
        judges += [one for one in asked if one not in judges]
    findings += [found for name, options in judges for found in judge_findings(name, options)]
    if arguments.start:
        findings += [started(*one) for one in judges if not one[0].startswith("match")]  # which answers no prose
    table = Table("", "what", "found", "what to do", show_lines=False)
    for one in findings:
        table.add_row({True: "ok", False: "NO", None: "-"}[one.ok], one.what, one.found, one.advice)
    Console(markup=False).print(table)  # `[train]` is no markup
    sys.exit(int(any(one.ok is False for one in findings)))


def installed_version(name: str) -> str:
    """Returns a package's version; vLLM's may be that of its CPU build. Raises PackageNotFoundError."""
    try:
        return version(name)
    except PackageNotFoundError:
        return version(f"{name}-cpu")


def versions(installed: Callable[[str], str] = installed_version) -> Iterator[Finding]:
    for name, supported in SUPPORTED.items():
        try:
            found = installed(name)
        except PackageNotFoundError:
            advice = OPTIONAL.get(name, f"pip install {name}")
            yield Finding(name, None if name in OPTIONAL else False, "not installed", advice)
            continue
        fits = SpecifierSet(supported).contains(found, prereleases=True)
        advice = f"{name}{supported} is supported: pip install '{name}{supported}'"
        yield Finding(name, fits, found, "" if fits else advice)
        if name == "vllm":
            yield from under_trl(found)


def under_trl(vllm: str) -> Iterator[Finding]:
    """Compares vLLM with the versions that TRL samples with, where TRL is installed. TRL itself only warns."""
    with suppress(PackageNotFoundError):
        for one in map(Requirement, requires("trl") or ()):
            if one.name == "vllm" and not one.specifier.contains(Version(vllm).base_version):
                found = f"{vllm}, and TRL {version('trl')} supports {one.specifier}"
                advice = f"judges may use it; for trainer.use_vllm: pip install 'vllm{one.specifier}'"
                yield Finding("vllm for a policy", None, found, advice)


def devices() -> Iterator[Finding]:
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count == 0:
        yield Finding("GPUs", None, "none", "the quickstart and `match` need none")
    for number in range(count):
        free, total = torch.cuda.mem_get_info(number)
        held = free < 0.9 * total
        found = f"{torch.cuda.get_device_name(number)}, {free / 1e9:.0f} of {total / 1e9:.0f} GB free"
        advice = "another process holds memory: end it, or leave the device out by CUDA_VISIBLE_DEVICES"
        yield Finding(f"GPU {number}", not held, found, advice if held else "")
    yield Finding("main memory", None, f"{main_memory() / 1e9:.0f} GB", "sleeping judges keep their weights there")


def main_memory(limits: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """Returns the bytes of this machine, or of the container where that has less."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = limits.read_text().strip() if limits.is_file() else "max"
    return min(there, int(limit)) if limit.isdecimal() else there


def folders(cache: Path = CACHE) -> Iterator[Finding]:
    """Checks that the cache folder can be written and has room."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache) as file:
            file.write(b"x")
        free = shutil.disk_usage(cache).free
    except OSError as error:
        advice = "set XDG_CACHE_HOME to a folder that can be written"
        yield Finding("cache folder", False, f"{cache}: {error.strerror}", advice)
        return
    advice = "" if free > SPARE_DISK else "make room, or set XDG_CACHE_HOME"
    yield Finding("cache folder", not advice, f"{cache}, {free / 1e9:.0f} GB free", advice)


def own_reader() -> Finding:
    """Checks the spaCy pipeline that PoSh parses with."""
    try:
        return Finding("spaCy pipeline", True, pipeline_name(load_pipeline()))
    except ImportError as error:
        return Finding("spaCy pipeline", False, "none", str(error))


def judge_findings(name: str, options: Mapping[str, Any]) -> Iterator[Finding]:
    from spanreward.rewards.judges import load_judge
    from spanreward.rewards.judges.local.local_judge import LocalJudge
    from spanreward.rewards.judges.model_files import model_folder

    what = f"judge {name}"
    try:
        judge = load_judge(name, **options)
    except (ValueError, ImportError) as error:
        yield Finding(what, False, "no such judge", str(error))
        return
    if not isinstance(judge, LocalJudge):
        yield Finding(what, None, judge.name if not judge.remote else "a server", "")
        return
    if name.startswith("vllm:") and importlib.util.find_spec("vllm") is None:
        yield Finding(what, False, "vLLM is not installed", "pip install 'spanreward[vllm]'")
    try:
        judge.model = str(model_folder(judge.model, download=False))
    except OSError:
        advice = f"hf download {judge.model}, where the hub can be reached; or a run downloads it at its start"
        yield Finding(what, None, "its files are not here yet", advice)
        return
    try:
        judge.encoder.scale(RATING_SCALE)
        yield Finding(what, True, f"reads {judge.context:,} tokens, and 1 to 5 are single tokens")
    except (ValueError, OSError) as error:
        yield Finding(what, False, "cannot judge", " ".join(str(error).split()))


def started(name: str, options: Mapping[str, Any]) -> Finding:
    from spanreward.rewards.judges import Failure, Question, closing, load_judge

    question = Question([{"role": "user", "content": "Rate from 1 to 5 how red a tomato is. Answer with the number."}])
    what, began = f"judge {name}", time.monotonic()
    try:
        judge = load_judge(name, **options)
        with closing([judge]):
            judge.start()
            (rating,) = judge.rate([question])
    except Exception as error:
        return Finding(what, False, "does not start", " ".join(f"{type(error).__name__}: {error}".split()))
    wrong = rating.message if isinstance(rating, Failure) else ""
    found = f"started{', and did not rate' if wrong else ''} ({time.monotonic() - began:.0f} s)"
    return Finding(what, not wrong, found, wrong)


def machine_findings(launch: Any, asleep: int, shm: Path = Path("/dev/shm")) -> Iterator[Finding]:
    """What the ranks share and the sleeping judges pin, and by which interface gloo, which judges' ranks talk by, meets
    other machines. asleep: bytes of main memory.
    """
    import psutil  # accelerate brings it

    if launch.processes > launch.machines:
        free = shutil.disk_usage(shm).free
        advice = "docker run --shm-size=8g; in Kubernetes an emptyDir with `medium: Memory` at /dev/shm"
        yield Finding(str(shm), free >= SHARED, f"{free / 1e9:.1f} GB free", "" if free >= SHARED else advice)
    if launch.machines > 1:
        given, there = os.environ.get("GLOO_SOCKET_IFNAME", ""), [name for _, name in socket.if_nameindex()]
        known = set(given.split(",")) <= set(there) if given else None
        advice = "" if known else f"the interface that the machines share, where gloo finds none: {', '.join(there)}"
        yield Finding("GLOO_SOCKET_IFNAME", known, given or "not set", advice)
    if asleep:
        here = min(main_memory(), psutil.virtual_memory().available)
        found = f"{asleep / 1e9:.0f} GB of main memory (computed); here {here / 1e9:.0f} GB are free"
        advice = "" if asleep < here else "a judge behind a server keeps none here"
        yield Finding("judges asleep", asleep < here, found, advice)
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if resource.RLIM_INFINITY != limit < asleep:
        advice = "InfiniBand and some drivers pin no more: ulimit -l unlimited, docker run --ulimit memlock=-1"
        yield Finding("ulimit -l", None, f"{limit / 1e9:.2f} GB", advice)


def recipe_findings(path: str, accelerate_config: str | None) -> tuple[list[Finding], list[Asked]]:
    """Checks that a recipe can be read and, by the dry run's arithmetic, fits. Returns its judges too."""
    from spanreward.training.plan.dry_run import asked_judges, memory_facts, read_launch, settings_of
    from spanreward.training.recipe import RecipeError, load_recipe

    what = f"recipe {path}"
    try:
        recipe = load_recipe(path)
        launch = read_launch(accelerate_config)
    except RecipeError as error:
        return [Finding(what, False, "cannot be run", str(error))], []
    memory: dict[str, Any] = memory_facts(recipe, settings_of(recipe), launch)
    judges = [(judge.name, judge.options) for judge, _ in asked_judges(recipe)]
    findings = list(machine_findings(launch, memory.get("main_memory", 0)))
    if "unknown" in memory:
        return [*findings, Finding(what, None, "memory not computed", memory["unknown"])], judges
    import torch

    needed = max(sum(memory[phase].values()) for phase in ("training", "judging"))
    count = torch.cuda.device_count()  # 0 where CUDA cannot be used
    there = torch.cuda.mem_get_info()[1] if count else 0
    gpus = launch.processes // launch.machines
    fits = needed <= there and gpus <= count
    advice = "" if fits else "more or larger GPUs, another accelerate configuration, LoRA, or a judge behind a server"
    found = f"{needed / 1e9:.0f} GB on each of {gpus} GPUs (computed); here {count} of {there / 1e9:.0f} GB"
    findings.append(Finding(what, fits, found, advice))
    return findings, judges
