"""docs/architecture.md's picture: which folder may use which. Nothing imports upwards, and there is no circle."""

import ast
from pathlib import Path

import pytest

from tests.support.paths import ROOT

METRICS = {"rewards.posh", "rewards.harmonic", "rewards.lave", "rewards.pairwise", "rewards.criteria", "rewards.caprl"}
GROUND = {"rewards.base", "rewards.files", "rewards.text"}
BELOW_METRICS = {*GROUND, "rewards.language", "rewards.judges", "rewards.reward"}
# Below what a folder may use, itself aside: files that lie directly in rewards/ or training/ have their own rules.
USES = {
    "rewards.base": set(),
    "rewards.files": {"rewards.base"},
    "rewards.text": {"rewards.base"},
    "rewards.language": {"rewards.text"},
    "rewards.judges": {*GROUND, "rewards.language"},  # its own rooms: INSIDE_JUDGES
    "rewards.reward": {"rewards.base", "rewards.files", "rewards.judges"},
    "rewards.comparison": set(),
    "rewards.posh": BELOW_METRICS,
    "rewards.harmonic": BELOW_METRICS,
    "rewards.lave": BELOW_METRICS,
    "rewards.pairwise": {*BELOW_METRICS, "rewards.comparison"},
    "rewards.criteria": {*BELOW_METRICS, "rewards.pairwise"},
    "rewards.caprl": {*BELOW_METRICS, "rewards.lave", "rewards.pairwise"},
    "rewards.labels": {"rewards.base", "rewards.files", "rewards.reward"},
    "training.grpo": {*GROUND, "rewards.judges", "rewards.reward"},
    "training.data": {*GROUND, "rewards.language", "rewards.reward"},
    "training.evaluation": {
        *(*BELOW_METRICS, "rewards.comparison", "rewards.labels"),  # labels: what needs no judge
        *("training.data", "training.grpo"),  # grpo: where a reasoning ends
    },
    "training.callbacks": {*GROUND, "rewards.reward", "training.grpo", "training.evaluation"},
    "training.judge": {*GROUND, "rewards.judges", "rewards.labels", "rewards.language"},
    "training.plan": {*GROUND, "rewards.judges"},  # whose KV cache it reckons
    "training.commands": {  # what a person calls: it may use everything
        *(*BELOW_METRICS, *METRICS, "rewards.comparison", "rewards.labels"),
        *("training.callbacks", "training.data", "training.evaluation", "training.grpo"),
        *("training.judge", "training.plan"),
    },
}

INSIDE_JUDGES = {
    **{"match": set(), "encoding": set(), "local": {"encoding"}, "remote": {"encoding"}, "shared": set()},
    "encoder": {"local"},  # which GPU is this rank's
}


def folder_of(module: str) -> str:
    """ "rewards.judges" of "spanreward.rewards.judges.shared.store", "rewards" of "spanreward.rewards.base.verdict"."""
    parts = module.removeprefix("spanreward.").split(".")
    return ".".join(parts[:2]) if len(parts) > 1 and (ROOT / parts[0] / parts[1]).is_dir() else parts[0]


def imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return modules | {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}


@pytest.mark.parametrize("folder", USES)
def test_a_folder_uses_only_what_lies_below(folder: str) -> None:
    path = ROOT / folder.replace(".", "/")
    used = {module for file in path.rglob("*.py") for module in imported(file)}
    ours = {folder_of(module) for module in used if module.startswith("spanreward.")}
    assert ours - {folder, "rewards", "training"} <= USES[folder]


@pytest.mark.parametrize("room", INSIDE_JUDGES)
def test_a_judge_uses_only_the_rooms_below(room: str) -> None:
    files = (ROOT / "rewards/judges" / room).glob("*.py")
    parts = [module.split(".") for file in files for module in imported(file)]
    used = {part[3] for part in parts if part[:3] == ["spanreward", "rewards", "judges"] and len(part) > 4}
    assert used - {room} <= INSIDE_JUDGES[room]


def test_every_folder_is_in_the_picture() -> None:
    folders = {
        f"{top}.{path.name}" for top in ("rewards", "training") for path in (ROOT / top).iterdir() if path.is_dir()
    }
    assert {name for name in folders if not name.endswith("__pycache__")} == set(USES)


def test_there_is_no_circle() -> None:
    left = dict(USES)
    while free := [name for name, uses in left.items() if not uses & set(left)]:
        for name in free:
            del left[name]
    assert not left


def test_what_a_completion_is_worth_knows_no_trainer() -> None:
    for file in (ROOT / "rewards").rglob("*.py"):
        assert not {name for name in imported(file) if name.startswith(("spanreward.training", "trl", "scripts"))}, file


def test_the_product_knows_no_experiment() -> None:
    """experiments/ proves claims about the product and is in no wheel."""
    files = [file for top in ("rewards", "training", "scripts", "spanreward") for file in (ROOT / top).rglob("*.py")]
    assert len(files) > 200
    for file in files:
        tops = {name.split(".")[0] for name in imported(file)}
        assert not tops & {"experiments", "tests", "rewards", "training"}, file
