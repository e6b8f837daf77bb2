"""Compares what a run logged with the conditions in its recipe's `check`.

    results = check_run("outputs/try", recipe)     # [CheckResult("reward_rises", ...)], also in outputs/try/check.json
    print_checks(results)

"At first" and "at last" are the first and the last tenth of the logged steps, at least one step each. A check looks at
a curve and is no statistical test: rewards of few steps are noisy. A run prints failed checks last, in red, and a
report of the run shows them first. With `spanreward train --strict` a failed check makes the exit code 2.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Column, Table

from spanreward.rewards.files.outputs import write_json
from spanreward.training.recipe import Recipe

KEYS = {  # check: the logged key that it looks at
    "reward_rises": "reward",
    "loss_falls": "loss",
    "max_failed_fraction": "judge/failed_fraction",
    "max_truncated_fraction": "completions/clipped_ratio",
    "max_degenerate_fraction": "health/degenerate_fraction",
}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the table. passed is None where the run has not logged what the check needs."""

    name: str
    found: str
    wanted: str
    passed: bool | None


def check_run(folder: str | Path, recipe: Recipe) -> list[CheckResult]:
    """Returns the recipe's checks of the run in the folder and writes them to its check.json; [] without checks."""
    if recipe.check is None:
        return []
    lines = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    results = []
    for name, asked in recipe.check:
        if asked is not None and asked is not False:
            values = [line[KEYS[name]] for line in lines if KEYS[name] in line]
            results.append(at_most(name, values, asked) if name.startswith("max_") else moves(name, values))
    write_json(Path(folder) / "check.json", [asdict(result) for result in results])
    return results


def moves(name: str, values: Sequence[float]) -> CheckResult:
    upwards = name == "reward_rises"
    wanted = f"{'more' if upwards else 'less'} at last than at first"
    if len(values) < 2:
        return CheckResult(name, f"{len(values)} logged steps", wanted, None)
    tenth = max(1, len(values) // 10)
    first, last = fmean(values[:tenth]), fmean(values[-tenth:])
    found = f"{KEYS[name]} {first:.4g} -> {last:.4g} over {len(values)} logged steps"
    return CheckResult(name, found, wanted, last > first if upwards else last < first)


def at_most(name: str, values: Sequence[float], limit: float) -> CheckResult:
    whole = name == "max_failed_fraction"
    wanted = f"at most {limit:.4g} {'of all completions' if whole else 'in the last tenth'}"
    if not values:
        return CheckResult(name, "not logged", wanted, None)
    mean = fmean(values if whole else values[-max(1, len(values) // 10) :])
    return CheckResult(name, f"{mean:.4g}", wanted, mean <= limit)


def failed_checks(folder: str | Path) -> list[CheckResult]:
    """Returns the failed checks in the folder's check.json; [] where there is none."""
    path = Path(folder) / "check.json"
    results = [CheckResult(**result) for result in json.loads(path.read_text())] if path.is_file() else []
    return [result for result in results if result.passed is False]


def print_checks(results: Sequence[CheckResult], console: Console | None = None) -> None:
    """Prints the checks as a table, and after it, in red, those that fail. Prints nothing without checks."""
    if not results:
        return
    console = console or Console()
    table = Table(Column("check", no_wrap=True), "wanted", "found", "", title="Checks of this run")
    words = {True: "holds", False: "does not hold", None: "cannot be said"}
    for result in results:
        table.add_row(result.name, result.wanted, result.found, words[result.passed])
    console.print(table)
    failed = [result for result in results if result.passed is False]
    if failed:
        names = "; ".join(f"{result.name} is {result.found}, wanted {result.wanted}" for result in failed)
        console.print(f"CHECK FAILED: {names}. See check.json and metrics.jsonl.", style="bold red", markup=False)
