"""The map of when pictures pay: its cells, one shrunk run, what runs come to, and people's shares."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.picture_map import cell as cells, experiment
from experiments.picture_map.cell import Cell, all_cells
from experiments.picture_map.experiment import Start, measure_base, train_run
from experiments.picture_map.people import left_out_shares, shares_of_people
from experiments.picture_map.report import rows_of
from experiments.scenes.parts import TINY
from spanreward.training.recipe import load_recipe
from tests.support.command import experiments
from tests.support.paths import ROOT

SHARED = ROOT.parent / "shared" / "data"
UNSEEING = Cell(0.5, "reference", 0.0, spans=False)
SEEING = Cell(0.5, "both", 0.2, spans=False)


def run_of(cell: Cell | None, seed: int, truth: float) -> dict[str, Any]:
    greedy = {"truth_f1": truth, "precision": 0.9, "recall": 0.7, "tokens": 20.0}
    run: dict[str, Any] = {"seed": seed, "greedy": greedy, "sampled": {"truth_f1": truth - 0.1}}
    if cell is not None:
        run["cell"] = {name: getattr(cell, name) for name in Cell.__slots__}
    return run


def test_every_combination_is_a_cell_once() -> None:
    found = all_cells()
    assert len(found) == len({cell.name for cell in found}) == 3 * 2 * (1 + 2 * 4)
    assert {cell.errors for cell in found if cell.evidence == "reference"} == {0.0}


def test_a_cell_is_the_recipe_with_its_settings() -> None:
    recipe = load_recipe(experiment.RECIPE, Cell(0.25, "both", 0.2, spans=True).overrides)
    (reward,) = recipe.rewards
    assert reward.options == {"evidence": "both"}
    assert reward.judge.options == {"errors": 0.2}
    assert recipe.data.options == {"level": 1, "count": 2000, "references": 1, "keep_object": 0.75}  # type: ignore[union-attr]
    assert recipe.trainer["span_coef"] == 0.25
    assert recipe.trainer["max_steps"] == 20 * recipe.trainer["steps_per_generation"]
    scalar = load_recipe(experiment.RECIPE, UNSEEING.overrides)
    assert scalar.trainer["span_coef"] == 0


def test_gains_are_those_of_the_same_seeds() -> None:
    runs = [run_of(None, 0, 0.4)]
    runs += [run_of(UNSEEING, seed, truth) for seed, truth in enumerate((0.7, 0.8, 0.75))]
    runs += [run_of(SEEING, seed, truth) for seed, truth in enumerate((0.8, 0.82))]
    base, both, reference = rows_of(runs)
    assert base["name"] == "base"
    assert (base["truth_f1"]["mean"], base["truth_f1"]["low"]) == (0.4, None)
    assert reference["truth_f1"]["runs"] == [0.7, 0.8, 0.75]
    assert reference["truth_f1"]["mean"] == 0.75
    # t of 2 degrees of freedom is 4.303, the standard error .05 / sqrt(3)
    assert reference["truth_f1"]["low"] == pytest.approx(0.75 - 4.303 * 0.05 / 3**0.5, abs=1e-3)
    assert both["gain"]["runs"] == [0.1, 0.02]
    assert both["gain"]["mean"] == 0.06
    assert both["sampled_truth_f1"]["runs"] == [0.7, 0.72]
    assert "gain" not in reference


def test_the_table_lists_and_draws_all_runs(tmp_path: Path) -> None:
    folder, earlier = tmp_path / "runs", tmp_path / "earlier.json"
    folder.mkdir()
    earlier.write_text(json.dumps([run_of(UNSEEING, 0, 0.7), run_of(SEEING, 0, 0.1)]))
    for cell, seed in ((UNSEEING, 1), (SEEING, 0), (SEEING, 1)):
        path = folder / f"{cell.name}-seed{seed}.json"
        path.write_text(json.dumps(run_of(cell, seed, 0.7 + seed / 10 + cell.errors)))
    words = ("picture-map", "--output", folder, "--earlier", earlier)
    files = ("--json", tmp_path / "all.json", "--plot", tmp_path / "map.svg")
    done = experiments(*words, "table", *files)
    assert done.code == 0, done.err
    assert "| 50% | both | 20% | scalar | 2 | 0.950" in done.out
    assert "+0.200" in done.out
    assert (tmp_path / "map.svg").read_text().startswith("<?xml")
    words = ("picture-map", "--output", tmp_path / "none", "--earlier", tmp_path / "all.json")
    assert experiments(*words, "table").out == done.out


@pytest.mark.slow
def test_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "ROLLOUTS", 1)
    monkeypatch.setattr(experiment, "PICTURES", 4)
    start = Start(TINY, 1)
    run = train_run(SEEING, start, tmp_path / "run")
    assert (run["seed"], run["perturbation"]) == (1, 1e-6)
    assert 0 <= run["greedy"]["truth_f1"] <= 1
    assert len(run["judge_said"]) == 1
    assert not (tmp_path / "run").exists()
    assert measure_base(start).keys() == run.keys() - {"cell", "judge_said"}


def test_what_a_caption_leaves_out_is_what_two_others_name() -> None:
    captions = ["A dog and a cat.", "A dog.", "A dog and a cat.", "A dog and a bird.", "A sky."]
    # the others of the last one name a dog thrice and a cat twice
    assert left_out_shares(captions) == [0.0, 0.5, 0.0, 0.5, 1.0]
    assert left_out_shares(["A dog.", "A cat.", "A bird."]) == []


@pytest.mark.slow
def test_people() -> None:
    if not SHARED.is_dir():
        pytest.skip("people's captions are not here: ../shared/data")
    shares = shares_of_people(SHARED)
    recipe = load_recipe("recipes/quickstart/people-sft.yaml")
    left_out = [of_set["share"] for of_set in shares["left_out"].values()]
    options = recipe.data.options  # type: ignore[union-attr]
    assert min(left_out) < 1 - options["keep_object"] < max(left_out)
    assert options["wrong_attribute"] == round(shares["wrong"]["share_of_details"], 2)
