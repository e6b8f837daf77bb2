"""What each side cost: tokens written in the comparison, and what the run folder says of the
training.

training_of("outputs/dapo")
# {"algorithm": "dapo", "steps": 50, "tokens": 1.2e6, "hours": .05, "processes": 1, ...}

Nothing is estimated: figures that a folder does not hold are left out.
"""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from spanreward.rewards.rows.tables import read_table
from spanreward.training.evaluation.answers.sides import recipe_of

COUNT_KEYS = ("step", "num_tokens", "train_runtime")
# as WinRateCallback logs them
CURVE_KEYS = ("step", "eval_win_rate", "eval_win_rate_low", "eval_win_rate_high")
PHASE_PREFIX = "seconds/"  # what phases' keys begin with


@dataclass(frozen=True, slots=True)
class Compute:
    """What one side cost.

    Attributes:
        runs: how many different runs the side has.
        tokens_written: of all its answers in the comparison; None where they come from a file.
        training: what each run's folder says of its training (`training_of`).
    """

    runs: int
    tokens_written: int | None
    training: list[dict[str, Any]]


def compute_of(
    sides: Mapping[str, Sequence[str]],
    lengths: Mapping[str, np.ndarray | None],
) -> dict[str, Compute]:
    """Returns what each side cost. lengths: of each side's answers in tokens, (seeds, prompts), NaN
    where unknown; None where no answer of the comparison has a length.
    """
    costs = {}
    for side, runs in sides.items():
        # a run beside several seeds wrote once
        row_of_run = {run: number for number, run in enumerate(runs)}
        tokens = lengths[side]
        tokens_written = None
        if tokens is not None:
            rows = list(row_of_run.values())
            written = tokens[rows]
            # a sum over some of the answers would pass for the whole
            if not np.isnan(written).any():
                tokens_written = int(written.sum())
        training = [training_of(run) for run in row_of_run]
        costs[side] = Compute(len(row_of_run), tokens_written, training)
    return costs


def training_of(run: str) -> dict[str, Any]:
    """Returns what recipe.yaml, versions.json and metrics.jsonl of a run folder say; {} without a
    recipe. What they do not say is left out.

    "algorithm" is the recipe's, "from" the policy that the run began from. "steps" and "tokens" are
    the last that were logged; tokens are prompts and completions of all processes, as TRL counts
    them. "hours" are those of the whole run. "seconds" are those of a step, by phase
    (training/grpo/phases.py), means of the logged ones. "win_rate" has for each step where it was
    logged the step, the rate and the ends of its interval. "processes" and "machine" are those of
    versions.json. Raises ValueError for a log with impossible numbers.
    """
    recipe = recipe_of(run)
    log = Path(run) / "metrics.jsonl"
    versions_file = Path(run) / "versions.json"
    if not recipe:
        return {}
    lines = []
    if log.is_file():
        lines = [line for _, line in read_table(log)]
    versions = {}
    if versions_file.is_file():
        versions = json.loads(versions_file.read_text("utf-8"))
    last: dict[str, float] = {}  # by key of COUNT_KEYS
    logged_seconds: dict[str, list[float]] = defaultdict(list)  # by phase
    curve = []
    for line in lines:
        check_counts(line, log)
        for key, value in line.items():
            if key in COUNT_KEYS:
                last[key] = value  # they grow from line to line
            elif key.startswith(PHASE_PREFIX):
                phase = key.removeprefix(PHASE_PREFIX)
                logged_seconds[phase].append(value)
        # most lines are of steps at which no win rate was taken
        if all(key in line for key in CURVE_KEYS):
            curve.append([line[key] for key in CURVE_KEYS])
    seconds = {}
    for phase in sorted(logged_seconds):
        seconds[phase] = fmean(logged_seconds[phase])
    tokens = None
    if "num_tokens" in last:
        tokens = int(last["num_tokens"])
    hours = None
    # the log of a resumed run covers its last part only
    if "train_runtime" in last and not versions.get("resumed"):
        hours = last["train_runtime"] / 3600
    policy = recipe.get("policy") or {}
    facts = {
        "algorithm": recipe.get("algorithm"),
        "from": policy.get("model"),
        "steps": last.get("step"),
        "tokens": tokens,
        "hours": hours,
        "seconds": seconds or None,
        "win_rate": curve or None,
        "processes": versions.get("processes"),
        "machine": versions.get("machine"),
    }
    present = {}
    for key, value in facts.items():
        if value is not None:
            present[key] = value
    return present


def check_counts(line: Mapping[str, Any], log: Path) -> None:
    """Raises ValueError for a number of a log line that is used here and is not finite or below
    0.
    """
    for key, value in line.items():
        if key not in COUNT_KEYS + CURVE_KEYS:
            continue
        # True is an int in Python, and no figure
        is_number = type(value) in (int, float)
        if not (is_number and 0 <= value < math.inf):
            raise ValueError(
                f"{log} has {key} {value!r}, which is no finite number from 0: mend or remove the "
                "file."
            )
