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
import pandas as pd
from rich.console import Console
from rich.table import Table

from spanreward.rewards.comparison.figures import MINUS, NONE, number
from spanreward.rewards.comparison.power import findable, needed, needed_with, spreads_of
from spanreward.training.commands.json_file import write_json
from spanreward.training.data.jsonl import read_records
from spanreward.training.evaluation.statistics import MIN_SEEDS
from spanreward.training.evaluation.tables import table_with

PLANNED = (3, 5, 10)  # training seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="output folder of `spanreward compare`")
    parser.add_argument("--difference", type=float, required=True, help="the difference to find, in the metric's unit")
    parser.add_argument("--models", nargs=2, metavar="MODEL", help="the two sides (default: the last two)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the printed numbers there too")
    arguments = parser.parse_args()
    try:
        scores = read_scores(arguments.folder)
        sides = arguments.models or list(scores.index.unique("model"))[-2:]
        numbers = measure(scores, sides, arguments.difference)
        write_json(arguments.json, numbers)
    except (ValueError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")
    Console(width=max(Console().width, 110)).print(table_of(numbers))


def read_scores(folder: Path) -> pd.DataFrame:
    """Returns the scores in completions.jsonl, a column per metric, by model, seed and prompt; several runs of one seed
    are averaged. Raises ValueError where there are fewer than two models with scores.
    """
    path, keys = folder / "completions.jsonl", ["model", "seed", "id"]
    rows = [{**{key: row[key] for key in keys}, **row["scores"]} for _, row in read_records(path)]
    scores = pd.DataFrame(rows, columns=None if rows else keys).set_index(keys).astype(float)
    scores = scores.groupby(level=keys, sort=False).mean().dropna(how="all")
    models = scores.index.unique("model")
    if len(models) < 2:
        raise ValueError(f"{path} has scores of {len(models)} models, and a difference is of two.")
    return scores


def measure(scores: pd.DataFrame, sides: Sequence[str], difference: float) -> dict[str, Any]:
    """Returns, by metric of both sides, over prompts: count, spread, findable and needed; over prompts and seeds: the
    number of seeds there, and the prompts needed by the number of seeds (None where no number is enough, {} where the
    seeds there are too few to say). Raises ValueError for a side that is not there, and a difference that is not
    above 0.
    """
    models = scores.index.unique("model")
    for side in sides:
        if side not in models:
            raise ValueError(f"there is no model {side!r} in this comparison: it has {', '.join(models)}.")
    if not difference > 0:
        raise ValueError(f"--difference must be above 0, got {difference}.")
    return {
        "ours": sides[1],
        "theirs": sides[0],
        "difference": difference,
        "metrics": {
            metric: {"prompts": plan(gaps.mean().dropna(), difference), "seeds": plan_seeds(gaps, difference)}
            for metric, gaps in differences(scores, sides).items()
        },
    }


def differences(scores: pd.DataFrame, sides: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Returns, by metric of both sides, the second side's scores less the first's: a row per seed, a column per prompt,
    NaN where one of them has no score.
    """
    gaps = (scores.loc[sides[1]] - scores.loc[sides[0]]).dropna(axis="columns", how="all")
    return {metric: gaps[metric].unstack("id") for metric in gaps}


def plan(of_prompts: pd.Series, wanted: float) -> dict[str, float | int | None]:
    """Returns count, spread, findable and needed; None for fewer than two, and where all differences are equal."""
    count = len(of_prompts)
    spread = float(of_prompts.std()) if count > 1 else 0.0
    if spread == 0:
        return {"count": count, "spread": None, "findable": None, "needed": None}
    return {"count": count, "spread": spread, "findable": findable(spread, count), "needed": needed(spread, wanted)}


def plan_seeds(gaps: pd.DataFrame, wanted: float) -> dict[str, Any]:
    """Returns count and `prompts_with`, from the prompts that every seed has scores of."""
    values = gaps.dropna(axis="columns").to_numpy()
    seeds, prompts = values.shape
    if seeds < MIN_SEEDS or prompts < 2 or np.ptp(values) == 0:
        return {"count": seeds, "prompts_with": {}}
    spreads = spreads_of(values)
    return {"count": seeds, "prompts_with": {str(n): needed_with(spreads, wanted, n) for n in PLANNED}}


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
