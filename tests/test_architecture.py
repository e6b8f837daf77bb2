"""docs/architecture.md's picture: which folder may use which. Nothing imports upwards, and there is no circle."""

import ast
from pathlib import Path

import pytest

from tests.support.paths import ROOT

# Below what a folder may use, itself aside: files that lie directly in rewards/ or training/ have their own rules.
USES = {
    "rewards.language": set(),
    "rewards.judges": {"rewards.language"},  # its own rooms: INSIDE_JUDGES
    "rewards.posh": {"rewards.language", "rewards.judges"},
    "rewards.harmonic": {"rewards.language", "rewards.judges"},
    "rewards.lave": {"rewards.language", "rewards.judges"},
    "rewards.comparison": set(),
    "rewards.pairwise": {"rewards.judges", "rewards.comparison"},
    "rewards.criteria": {"rewards.judges", "rewards.pairwise"},
    "rewards.agreement": {
        f"rewards.{name}" for name in ("language", "judges", "posh", "lave", "comparison", "pairwise")
    },
    "training.grpo": {"rewards.judges"},
    "training.scenes": {"rewards.language", "rewards.judges", "rewards.posh"},
    "training.data": {"rewards.language", "training.scenes"},
    "training.judging": {f"rewards.{name}" for name in ("language", "judges", "posh", "lave", "pairwise")}
    | {"training.scenes"},
    "training.evaluation": {
        *("rewards.judges", "rewards.comparison", "rewards.agreement"),  # agreement: what needs no judge
        *("training.data", "training.scenes", "training.grpo"),  # grpo: where a reasoning ends
    },
    "training.blind": {"rewards.comparison", "rewards.agreement", "training.data", "training.evaluation"},
    "training.callbacks": {"training.grpo", "training.evaluation"},
    "training.hacking": {"training.data", "training.scenes"},
    "training.plan": {"rewards.judges"},  # whose KV cache it reckons
    "training.commands": {  # what a person calls: it may use everything
        f"rewards.{name}"
        for name in ("language", "judges", "posh", "harmonic", "lave", "comparison", "pairwise", "agreement")
    }
    | {
        f"training.{name}"
        for name in (
            "blind",
            "callbacks",
            "data",
            "evaluation",
            "grpo",
            "hacking",
            "judging",
            "plan",
            "scenes",
            "span_credit_experiment",
        )
    },
    "training.span_credit_experiment": {
        *("rewards.judges", "rewards.agreement"),  # agreement: its bootstrap
        *("training.grpo", "training.data", "training.evaluation", "training.scenes"),
    },
}

INSIDE_JUDGES = {
    "match": set(),
    "encoding": set(),
    "local": {"encoding"},
    "remote": {"encoding"},
    "shared": set(),
}


def folder_of(module: str) -> str:
    """ "rewards.judges" of "rewards.judges.shared.cached_judge", "rewards" of "rewards.verdict"."""
    parts = module.split(".")
    return ".".join(parts[:2]) if len(parts) > 1 and (ROOT / parts[0] / parts[1]).is_dir() else parts[0]


def imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return modules | {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}


@pytest.mark.parametrize("folder", USES)
def test_a_folder_uses_only_what_lies_below(folder: str) -> None:
    path = ROOT / folder.replace(".", "/")
    used = {folder_of(module) for file in path.rglob("*.py") for module in imported(file)}
    ours = {name for name in used if name.split(".")[0] in ("rewards", "training")}
    assert ours - {folder, "rewards", "training"} <= USES[folder]


@pytest.mark.parametrize("room", INSIDE_JUDGES)
def test_a_judge_uses_only_the_rooms_below(room: str) -> None:
    files = (ROOT / "rewards/judges" / room).glob("*.py")
    parts = [module.split(".") for file in files for module in imported(file)]
    used = {part[2] for part in parts if part[:2] == ["rewards", "judges"] and len(part) > 3}
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
        assert not {module.split(".")[0] for module in imported(file)} & {"training", "trl", "scripts"}, file
