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
    """tokens_written: None where unknown. training: of each run, by the name of what is told
    (`training_of`).
    """

    runs: int
    tokens_written: int | None
    training: list[dict[str, Any]]


def compute_of(
    sides: Mapping[str, Sequence[str]], lengths: Mapping[str, np.ndarray | None]
) -> dict[str, Compute]:
    """Returns what each side cost. lengths: in tokens, (seeds, prompts), NaN where unknown."""
    costs = {}
    for side, runs in sides.items():
        # a run beside several seeds wrote once
        row_of_run = {run: number for number, run in enumerate(runs)}
        tokens = lengths[side]
        tokens_written = None
        if tokens is not None:
            written = tokens[list(row_of_run.values())]
            if not np.isnan(written).any():
                tokens_written = int(written.sum())
        training = [training_of(run) for run in row_of_run]
        costs[side] = Compute(len(row_of_run), tokens_written, training)
    return costs


def training_of(run: str) -> dict[str, Any]:
    """Returns what recipe.yaml, versions.json and metrics.jsonl of a run folder say; {} without a
    recipe. steps, tokens (prompts and completions of all processes, as TRL counts them): the last
    that were logged. hours: of the whole run; left out for a resumed run, whose log covers its last
    part only. seconds: of a step, by phase (training/grpo/phases.py), mean of the logged ones; left
    out where none were logged. win_rate: at each step where it was logged, the step, the rate and
    the ends of its interval.
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
    last: dict[str, float] = {}
    logged_seconds: dict[str, list[float]] = defaultdict(list)  # by phase
    curve = []
    for line in lines:
        check_counts(line, log)
        for key, value in line.items():
            if key in COUNT_KEYS:
                last[key] = value
            elif key.startswith(PHASE_PREFIX):
                logged_seconds[key.removeprefix(PHASE_PREFIX)].append(value)
        if all(key in line for key in CURVE_KEYS):
            curve.append([line[key] for key in CURVE_KEYS])
    seconds = {phase: fmean(logged_seconds[phase]) for phase in sorted(logged_seconds)}
    tokens = last.get("num_tokens")
    is_whole_run = "train_runtime" in last and not versions.get("resumed")
    facts = {
        "algorithm": recipe.get("algorithm"),
        "from": (recipe.get("policy") or {}).get("model"),
        "steps": last.get("step"),
        "tokens": None if tokens is None else int(tokens),
        "hours": last["train_runtime"] / 3600 if is_whole_run else None,
        "seconds": seconds or None,
        "win_rate": curve or None,
        "processes": versions.get("processes"),
        "machine": versions.get("machine"),
    }
    return {key: value for key, value in facts.items() if value is not None}


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
