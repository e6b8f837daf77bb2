"""How many prompts and training seeds would show a difference, from the scatter of an earlier comparison.

    spanreward power outputs/comparison --difference 0.02
    spanreward power outputs/comparison --difference 0.02 --models sft dapo --json outputs/power.json

Reads the completions.jsonl that `spanreward compare` wrote; a comparison of two checkpoints on some 50 prompts is
enough. For each metric it prints the smallest difference that the prompts there would find, and how many prompts would
find the difference asked for. To find a difference is to have the 95 % interval on the true side of 0, in 80 % of
comparisons. An interval over prompts is about these checkpoints. Whether another training run would give the same
depends on training seeds: with three or more the same is printed for seeds.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from spanreward.rewards.comparison.figures import MINUS, NONE, number
from spanreward.rewards.comparison.power import findable, needed
from spanreward.training.commands.json_file import write_json
from spanreward.training.data.jsonl import read_records
from spanreward.training.evaluation.statistics import MIN_SEEDS
from spanreward.training.evaluation.tables import table_with

Scores = Mapping[str, Mapping[tuple[int, str], float]]  # by metric, then seed and prompt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="output folder of `spanreward compare`")
    parser.add_argument("--difference", type=float, required=True, help="the difference to find, in the metric's unit")
    parser.add_argument("--models", nargs=2, metavar="MODEL", help="the two sides (default: the last two)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the printed numbers there too")
    arguments = parser.parse_args()
    try:
        models = read_scores(arguments.folder)
        numbers = measure(models, arguments.models or list(models)[-2:], arguments.difference)
        write_json(arguments.json, numbers)
    except (ValueError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")
    Console(width=max(Console().width, 110)).print(table_of(numbers))


def read_scores(folder: Path) -> dict[str, Scores]:
    """Returns each model's scores in completions.jsonl, in its order; several runs of one seed are averaged. Raises
    ValueError where there are fewer than two models with scores.
    """
    path = folder / "completions.jsonl"
    models: dict[str, dict[str, dict[tuple[int, str], list[float]]]] = {}
    for _, row in read_records(path):
        for metric, score in row["scores"].items():
            if score is not None:
                table = models.setdefault(row["model"], {}).setdefault(metric, {})
                table.setdefault((row["seed"], row["id"]), []).append(score)
    if len(models) < 2:
        raise ValueError(f"{path} has scores of {len(models)} models, and a difference is of two.")
    return {
        model: {metric: {key: float(np.mean(runs)) for key, runs in scores.items()} for metric, scores in table.items()}
        for model, table in models.items()
    }


def measure(models: Mapping[str, Scores], sides: Sequence[str], difference: float) -> dict[str, Any]:
    """Returns, by metric of both sides, over prompts and over seeds: count, spread, findable and needed. Raises
    ValueError for a side that is not there and a difference that is not above 0.
    """
    for side in sides:
        if side not in models:
            raise ValueError(f"there is no model {side!r} in this comparison: it has {', '.join(models)}.")
    if not difference > 0:
        raise ValueError(f"--difference must be above 0, got {difference}.")
    ours, theirs = models[sides[1]], models[sides[0]]
    return {
        "ours": sides[1],
        "theirs": sides[0],
        "difference": difference,
        "metrics": {
            metric: {
                what: plan(paired(ours[metric], theirs[metric], place), difference, fewest)
                for what, place, fewest in (("prompts", 1, 2), ("seeds", 0, MIN_SEEDS))
            }
            for metric in ours
            if metric in theirs
        },
    }


def paired(ours: Mapping[tuple[int, str], float], theirs: Mapping[tuple[int, str], float], place: int) -> list[float]:
    """Returns ours less theirs, averaged per seed (place 0) or per prompt (place 1), where both have scores."""
    differences: dict[Any, list[float]] = {}
    for key, score in ours.items():
        if key in theirs:
            differences.setdefault(key[place], []).append(score - theirs[key])
    return [float(np.mean(values)) for values in differences.values()]


def plan(differences: Sequence[float], wanted: float, fewest: int) -> dict[str, float | int | None]:
    """Returns count, spread, findable and needed; None for fewer than `fewest`, and where all differences are equal."""
    count = len(differences)
    spread = float(np.std(differences, ddof=1)) if count >= fewest else 0.0
    if spread == 0:
        return {"count": count, "spread": None, "findable": None, "needed": None}
    return {"count": count, "spread": spread, "findable": findable(spread, count), "needed": needed(spread, wanted)}


def table_of(numbers: Mapping[str, Any]) -> Table:
    sides = f"{numbers['ours']} {MINUS} {numbers['theirs']}"
    title = f"{sides}: what finds a difference of {numbers['difference']:g} in 80 % of comparisons"
    of_prompts = ("spread", "found by the prompts here", "prompts needed")
    of_seeds = ("spread of seeds", "found by the seeds here", "seeds needed")
    table = table_with(title, ["metric"], [*of_prompts, *of_seeds])
    for metric, entry in numbers["metrics"].items():
        cells: list[str] = []
        for what, found in entry.items():
            needed = NONE if found["needed"] is None else f"{found['needed']:,}"
            cells += [number(found["spread"]), f"{number(found['findable'])} ({found['count']} {what})", needed]
        table.add_row(metric, *cells)
    return table
