"""Compares what a run logged with the conditions in its recipe's `check`.

    results = check_run("outputs/try", recipe)     # [CheckResult("reward_rises", ...)], also in outputs/try/check.json
    print_checks(results)

"At first" and "at last" are the first and the last tenth of the logged steps, at least one step each. A check looks at
a curve and is no statistical test: rewards of few steps are noisy. A run prints failed checks last, in red, and a
report of the run shows them first. With `spanreward train --strict` a failed check makes the exit code 2.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Column, Table

from spanreward.training.recipe import Recipe

LAST = "in the last tenth"
LIMITS = {  # check: the logged key that it limits, and over which steps
    "max_failed_fraction": ("judge/failed_fraction", "of all completions"),
    "max_truncated_fraction": ("completions/clipped_ratio", LAST),
    "max_degenerate_fraction": ("health/degenerate_fraction", LAST),
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
    if recipe.check.reward_rises:
        results.append(moves("reward_rises", lines, "reward", upwards=True))
    if recipe.check.loss_falls:
        results.append(moves("loss_falls", lines, "loss", upwards=False))
    for name, (key, where) in LIMITS.items():
        limit = getattr(recipe.check, name)
        if limit is not None:
            values = logged(lines, key)
            results.append(at_most(name, last_tenth(values) if where == LAST else values, limit, where))
    (Path(folder) / "check.json").write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")
    return results


def logged(lines: Sequence[Mapping[str, float]], key: str) -> list[float]:
    return [line[key] for line in lines if key in line]


def tenth(values: Sequence[float]) -> int:
    return max(1, len(values) // 10)


def last_tenth(values: Sequence[float]) -> Sequence[float]:
    return values[-tenth(values) :]


def moves(name: str, lines: Sequence[Mapping[str, float]], key: str, upwards: bool) -> CheckResult:
    values = logged(lines, key)
    wanted = "more at last than at first" if upwards else "less at last than at first"
    if len(values) < 2:
        return CheckResult(name, f"{len(values)} logged steps", wanted, None)
    first, last = fmean(values[: tenth(values)]), fmean(last_tenth(values))
    passed = last > first if upwards else last < first
    return CheckResult(name, f"{key} {first:.4g} -> {last:.4g} over {len(values)} logged steps", wanted, passed)


def at_most(name: str, values: Sequence[float], limit: float, where: str) -> CheckResult:
    wanted = f"at most {limit:.4g} {where}"
    if not values:
        return CheckResult(name, "not logged", wanted, None)
    mean = fmean(values)
    return CheckResult(name, f"{mean:.4g}", wanted, not math.isnan(mean) and mean <= limit)


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
