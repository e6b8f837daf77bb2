"""How many prompts and training seeds would show a difference, from the scatter of an earlier comparison.

    spanreward power outputs/comparison --difference 0.02
    spanreward power outputs/comparison --difference 0.02 --models sft dapo --json outputs/power.json

Reads the completions.jsonl that `spanreward compare` wrote; a comparison of two checkpoints on some 50 prompts is
enough. For each metric it prints the smallest difference that the prompts there would find, and how many prompts would
find the difference asked for. To find a difference is to have the 95 % interval on the true side of 0, in 80 % of
comparisons. An interval over prompts is about these checkpoints: "higher". For "better" the interval is over prompts
and training seeds together: with three seeds or more there, the prompts that are needed with 3, 5 and 10 seeds are
printed. That is for one difference; several pairs or referees need more.
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
from spanreward.rewards.comparison.power import findable, needed, needed_with, spreads_of
from spanreward.training.commands.json_file import write_json
from spanreward.training.data.jsonl import read_records
from spanreward.training.evaluation.statistics import MIN_SEEDS
from spanreward.training.evaluation.tables import table_with

PLANNED = (3, 5, 10)  # training seeds
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
    """Returns, by metric of both sides, over prompts: count, spread, findable and needed; over prompts and seeds: the
    number of seeds there, and the prompts needed by the number of seeds (None where no number is enough, {} where the
    seeds there are too few to say). Raises ValueError for a side that is not there, and a difference that is not
    above 0.
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
                "prompts": plan(paired(ours[metric], theirs[metric]), difference),
                "seeds": plan_seeds(ours[metric], theirs[metric], difference),
            }
            for metric in ours
            if metric in theirs
        },
    }


def paired(ours: Mapping[tuple[int, str], float], theirs: Mapping[tuple[int, str], float]) -> list[float]:
    """Returns ours less theirs per prompt, averaged over the seeds in which both have scores."""
    differences: dict[str, list[float]] = {}
    for key, score in ours.items():
        if key in theirs:
            differences.setdefault(key[1], []).append(score - theirs[key])
    return [float(np.mean(values)) for values in differences.values()]


def plan(differences: Sequence[float], wanted: float) -> dict[str, float | int | None]:
    """Returns count, spread, findable and needed; None for fewer than two, and where all differences are equal."""
    count = len(differences)
    spread = float(np.std(differences, ddof=1)) if count > 1 else 0.0
    if spread == 0:
        return {"count": count, "spread": None, "findable": None, "needed": None}
    return {"count": count, "spread": spread, "findable": findable(spread, count), "needed": needed(spread, wanted)}


def plan_seeds(
    ours: Mapping[tuple[int, str], float], theirs: Mapping[tuple[int, str], float], wanted: float
) -> dict[str, Any]:
    """Returns count and `prompts_with`, from the prompts that every seed has scores of."""
    seeds = sorted({seed for seed, _ in ours})
    prompts = [p for p in dict.fromkeys(p for _, p in ours) if all((s, p) in ours and (s, p) in theirs for s in seeds)]
    values = np.array([[ours[s, p] - theirs[s, p] for p in prompts] for s in seeds])
    if len(seeds) < MIN_SEEDS or len(prompts) < 2 or np.ptp(values) == 0:
        return {"count": len(seeds), "prompts_with": {}}
    spreads = spreads_of(values)
    return {"count": len(seeds), "prompts_with": {str(n): needed_with(spreads, wanted, n) for n in PLANNED}}


def table_of(numbers: Mapping[str, Any]) -> Table:
    sides = f"{numbers['ours']} {MINUS} {numbers['theirs']}"
    title = f"{sides}: what finds a difference of {numbers['difference']:g} in 80 % of comparisons"
    of_seeds = [f"for better: prompts with {count} seeds" for count in PLANNED]
    columns = ["spread", "found by the prompts here", "prompts needed, for higher", *of_seeds]
    table = table_with(title, ["metric"], columns)
    for metric, entry in numbers["metrics"].items():
        found, planned = entry["prompts"], entry["seeds"]["prompts_with"]
        cells = [
            number(found["spread"]),
            f"{number(found['findable'])} ({found['count']} prompts)",
            shown(found["needed"]),
        ]
        cells += [("none" if count is None else f"{count:,}") for count in planned.values()] or [NONE] * len(PLANNED)
        table.add_row(metric, *cells)
    return table


def shown(count: int | None) -> str:
    return NONE if count is None else f"{count:,}"
