"""What a recipe says must hold after a run, held against what the run logged.

    results = check_run("outputs/try", recipe)     # [CheckResult("reward_rises", ...)], also in outputs/try/check.json
    print_checks(results)

The first and the last tenth of the logged steps (at least one of each) are what "at first" and "at last" mean here.
That is a look at a curve, no test: rewards of few steps are noisy. A check that fails is the last thing that a run
prints, in red, and the first that a report of it shows; the exit code tells it with train.py --strict.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Column, Table

from training.recipe import Recipe

REWARD, LOSS = "reward", "loss"
FAILED, TRUNCATED = "judge/failed_fraction", "completions/clipped_ratio"
DEGENERATE = "health/degenerate_fraction"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the table. passed is None where the run has logged nothing to say it by."""

    name: str
    found: str
    wanted: str
    passed: bool | None


def check_run(folder: str | Path, recipe: Recipe) -> list[CheckResult]:
    """The recipe's checks on the run in the folder, also written to its check.json; [] and no file without any."""
    if recipe.check is None:
        return []
    lines = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    results = []
    if recipe.check.reward_rises:
        results.append(moves("reward_rises", lines, REWARD, upwards=True))
    if recipe.check.loss_falls:
        results.append(moves("loss_falls", lines, LOSS, upwards=False))
    if recipe.check.max_failed_fraction is not None:
        failed = logged(lines, FAILED)
        results.append(at_most("max_failed_fraction", failed, recipe.check.max_failed_fraction, "of all completions"))
    if recipe.check.max_truncated_fraction is not None:
        cut = last_tenth(logged(lines, TRUNCATED))
        results.append(at_most("max_truncated_fraction", cut, recipe.check.max_truncated_fraction, "in the last tenth"))
    if recipe.check.max_degenerate_fraction is not None:
        padded = last_tenth(logged(lines, DEGENERATE))
        limit = recipe.check.max_degenerate_fraction
        results.append(at_most("max_degenerate_fraction", padded, limit, "in the last tenth"))
    (Path(folder) / "check.json").write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")
    return results


def logged(lines: Sequence[Mapping[str, float]], key: str) -> list[float]:
    """The values of that name, in order."""
    return [line[key] for line in lines if key in line]


def tenth(values: Sequence[float]) -> int:
    return max(1, len(values) // 10)


def last_tenth(values: Sequence[float]) -> Sequence[float]:
    return values[-tenth(values) :]


def moves(name: str, lines: Sequence[Mapping[str, float]], key: str, upwards: bool) -> CheckResult:
    """Whether the mean of the last tenth lies above (below) that of the first, strictly."""
    values = logged(lines, key)
    wanted = "more at last than at first" if upwards else "less at last than at first"
    if len(values) < 2:
        return CheckResult(name, f"{len(values)} logged steps", wanted, None)
    first, last = fmean(values[: tenth(values)]), fmean(last_tenth(values))
    passed = last > first if upwards else last < first
    return CheckResult(name, f"{key} {first:.4g} -> {last:.4g} over {len(values)} logged steps", wanted, passed)


def at_most(name: str, values: Sequence[float], limit: float, where: str) -> CheckResult:
    """Whether the mean of the values lies at or below the limit."""
    wanted = f"at most {limit:.4g} {where}"
    if not values:
        return CheckResult(name, "not logged", wanted, None)
    mean = fmean(values)
    return CheckResult(name, f"{mean:.4g}", wanted, not math.isnan(mean) and mean <= limit)


def failed_checks(folder: str | Path) -> list[CheckResult]:
    """The checks that the run in the folder has failed, as its check.json says; [] where it has none."""
    path = Path(folder) / "check.json"
    results = [CheckResult(**result) for result in json.loads(path.read_text())] if path.is_file() else []
    return [result for result in results if result.passed is False]


def print_checks(results: Sequence[CheckResult], console: Console | None = None) -> None:
    """The checks as a table, and last, in red, which do not hold. Nothing where there are none."""
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
