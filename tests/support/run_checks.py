"""What a run of a recipe must have logged: its reward rises, few judgments fail, few completions
are cut or padded.

    python -m tests.support.run_checks recipes/quickstart/scenes-dapo.yaml outputs/quickstart/seed0/dapo

"At first" and "at last" are the first and the last tenth of the logged steps, at least one step
each. A check looks at a curve and is no statistical test: rewards of few steps are noisy. The exit
code is 1 unless every check holds.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import yaml

FAILED, CUT = "judge/failed_fraction", "completions/clipped_ratio"
PADDED = "health/degenerate_fraction"
LIMITS = {FAILED: 0.01, CUT: 0.05, PADDED: 0.05}  # FAILED over the whole run, the others at last
# by algorithm: the loss falls, the reward rises
CHECKS = {"sft": {"loss"}, "dapo": {"reward", *LIMITS}}
EXEMPT = {  # by the end of the recipe's path
    # within a group one half on average, whatever is written
    "quickstart/scenes-pairwise-dapo.yaml": {"reward"},
    # the policy has seen nothing but coloured shapes
    "quickstart/photos-posh-dapo.yaml": {"reward", CUT},
}


def run_checks(recipe: Path, folder: Path) -> dict[str, bool | None]:
    """Returns whether each check of the recipe holds; None where the log cannot say."""
    algorithm = yaml.safe_load(recipe.read_text())["algorithm"]
    asked = CHECKS[algorithm] - EXEMPT.get("/".join(recipe.parts[-2:]), set())
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return {key: holds(key, [line[key] for line in lines if key in line]) for key in sorted(asked)}


def holds(key: str, values: Sequence[float]) -> bool | None:
    if len(values) < (1 if key in LIMITS else 2):
        return None
    tenth = max(1, len(values) // 10)
    first, last = fmean(values[:tenth]), fmean(values[-tenth:])
    if key in LIMITS:
        return (fmean(values) if key == FAILED else last) <= LIMITS[key]
    return last > first if key == "reward" else last < first


if __name__ == "__main__":
    found = run_checks(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{sys.argv[2]}: {', '.join(f'{key} {held}' for key, held in found.items())}")
    sys.exit(not all(found.values()))
