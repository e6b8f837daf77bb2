"""docs/architecture.md's picture, read off the imports: nothing imports upwards, and there is no
circle of files.

Imports count wherever they stand, also under TYPE_CHECKING and inside a function
(tests/import_graph.py).
"""

import sys
from pathlib import Path

import pytest

from tests.import_graph import circles, file_graph, files_of, imported, room_graph
from tests.support.paths import ROOT

# From the ground up: a room may import those that stand before it.
FLOORS = {
    "rewards": (
        "base files rows text language judges reward comparison posh harmonic lave pairwise criteria "
        "experimental metric_names metrics ready scoring"
    ),
    "rewards.judges": (
        "usage probe question judge smollm2 model_files encoding rating_context written_rating "
        "function_judge match local remote cache by_name"
    ),
    "rewards.experimental": (
        "cascade_judge jury_judge encoder_judge differences criteria_votes criteria_writing"
    ),
    "training": (
        "recipe_file trainer_settings turn_end health ranks grpo recipe precision recipe_rewards data policy_folder "
        "policy adapters before_loading sft run_folder full_disk garbage evaluation callbacks run plan serve "
        "commands experimental"
    ),
    "training.evaluation": "answers answer_scores statistics page",
    "training.experimental": "judge_training judge_command criteria_command",
}
# Names on a command line, in a recipe or in `spanreward` are looked up here. by_name.py and main.py
# have names of modules, which are no imports.
LOOKED_UP = {"rewards.metrics"}
METRICS = ("posh", "harmonic", "lave", "pairwise", "criteria")
FILES = file_graph()


@pytest.mark.parametrize("folder", FLOORS)
def test_a_room_imports_what_stands_below(folder: str) -> None:
    rooms = room_graph(FILES, folder)
    floor = {room: number for number, room in enumerate(FLOORS[folder].split())}
    assert set(rooms) == set(floor)
    assert [
        (room, one) for room, uses in rooms.items() for one in uses if floor[one] > floor[room]
    ] == []


def test_the_core_imports_nothing_experimental() -> None:
    importing = set()
    for name, uses in FILES.items():
        if ".experimental" not in name and any(".experimental" in used for used in uses):
            importing.add(name)
    assert importing == LOOKED_UP


def test_no_file_imports_itself_through_others() -> None:
    assert circles(FILES) == []


@pytest.mark.parametrize(
    "planted",
    [
        "from spanreward.rewards.hub import offline",
        "if TYPE_CHECKING:\n    from spanreward.rewards.hub import offline",
        "def later():\n    import spanreward.rewards.hub",
        "def later():\n    from spanreward.rewards import hub",
    ],
)
def test_a_planted_circle_is_found(planted: str, tmp_path: Path) -> None:
    (tmp_path / "rewards").mkdir()
    (tmp_path / "rewards/hub.py").write_text("from spanreward.rewards.verdict import Sample\n")
    (tmp_path / "rewards/verdict.py").write_text("class Sample: ...\n")
    assert circles(file_graph(tmp_path)) == []
    (tmp_path / "rewards/verdict.py").write_text(f"{planted}\n")
    ((first, second, third),) = circles(file_graph(tmp_path))
    assert {first, second} == {"rewards.hub", "rewards.verdict"}
    assert first == third


def test_judges_know_no_metric_language_no_judge_and_few_metrics_another() -> None:
    rooms = room_graph(FILES, "rewards")
    used = {room: rooms[room] & set(METRICS) for room in METRICS if rooms[room] & set(METRICS)}
    assert used == {"criteria": {"pairwise"}}
    assert not rooms["judges"] & {*METRICS, "reward"}
    assert not rooms["language"] & {"judges", "reward"}
    assert not rooms["base"]


def test_what_a_completion_is_worth_knows_no_trainer() -> None:
    above = ("spanreward.training", "trl", "scripts")
    for name, path in files_of(ROOT).items():
        if name.startswith("rewards"):
            assert [module for module, _ in imported(path) if module.startswith(above)] == [], path


def test_the_product_knows_no_experiment() -> None:
    """experiments/ proves claims about the product and is in no wheel."""
    paths = [*files_of(ROOT).values(), *(ROOT / "scripts").glob("*.py")]
    assert len(paths) > 150
    for path in paths:
        tops = {module.partition(".")[0] for module, _ in imported(path)}
        assert not tops & {"experiments", "tests", "rewards", "training"}, path


def test_no_helper_of_the_tests_has_the_name_of_a_module_of_python() -> None:
    """A script in tests/support would import the helper in place of Python's module."""
    names = {path.stem for path in (ROOT / "tests/support").glob("*.py")}
    assert names.isdisjoint(sys.stdlib_module_names)
