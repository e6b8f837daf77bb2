"""Collects the cost of each side: the tokens of its answers, and the steps, tokens and hours of its
training.

training_of("outputs/dapo")
# {"algorithm": "dapo", "steps": 50, "tokens": 1.2e6, "hours": .05, "processes": 1, ...}

Nothing is estimated. A figure is left out if the run's folder does not hold the figure.
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
# WinRateCallback logs a win rate and its interval under these keys
CURVE_KEYS = ("step", "eval_win_rate", "eval_win_rate_low", "eval_win_rate_high")
PHASE_PREFIX = "seconds/"  # begins the keys of phases, such as "seconds/judge"


@dataclass(frozen=True, slots=True)
class Compute:
    """The cost of one side.

    Attributes:
        runs: the number of different runs of the side.
        tokens_written: the tokens of all answers of the side in the comparison; None if some answer
            has no known length, as in a file of answers.
        training: the figures of each run's training (`training_of`).
    """

    runs: int
    tokens_written: int | None
    training: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class LoggedFigures:
    """Figures from the log of a training.

    Attributes:
        counts: the last number under each key of COUNT_KEYS.
        seconds: the mean seconds of a step, by phase.
        win_rates: a list [step, rate, low, high] for every logged win rate.
    """

    counts: dict[str, float]
    seconds: dict[str, float]
    win_rates: list[list[float]]


def compute_of(
    sides: Mapping[str, Sequence[str]],
    lengths: Mapping[str, np.ndarray | None],
) -> dict[str, Compute]:
    """Returns the cost of each side.

    lengths: for each side, the tokens of its answers, of shape (seeds, prompts), with NaN if
    unknown. A side's entry is None if no answer of the comparison has a length.
    """
    costs = {}
    for side, runs in sides.items():
        # a run that is repeated for several seeds wrote its answers once
        row_of_run = {run: number for number, run in enumerate(runs)}  # the run's last row
        tokens = lengths[side]
        tokens_written = None
        if tokens is not None:
            rows = list(row_of_run.values())
            written = tokens[rows]
            # a sum without the unknown lengths would look like the cost of all answers
            if not np.isnan(written).any():
                tokens_written = int(written.sum())
        training = [training_of(run) for run in row_of_run]
        costs[side] = Compute(len(row_of_run), tokens_written, training)
    return costs


def training_of(run: str) -> dict[str, Any]:
    """Returns the figures of one run's training, from the recipe.yaml, versions.json and
    metrics.jsonl of its folder.

    Without a recipe the result is {}. A figure is left out if the files do not hold the figure.
    "algorithm" is the recipe's, and "from" is the policy that the run began from. "steps" and
    "tokens" are the last logged numbers. TRL counts the tokens of prompts and completions of all
    processes. "hours" is the time of the whole run. "seconds" has the mean time of a step by phase
    (training/grpo/phases.py). "win_rate" has one list [step, rate, low, high] for every logged win
    rate. "processes" and "machine" are those of versions.json. Raises ValueError for a log with
    impossible numbers.
    """
    recipe = recipe_of(run)
    if not recipe:
        return {}
    versions = {}
    versions_file = Path(run) / "versions.json"
    if versions_file.is_file():
        versions = json.loads(versions_file.read_text("utf-8"))
    logged = logged_figures(Path(run) / "metrics.jsonl")
    tokens = logged.counts.get("num_tokens")
    seconds = logged.counts.get("train_runtime")
    # the log of a resumed run covers its last part only
    if versions.get("resumed"):
        seconds = None
    policy = recipe.get("policy") or {}
    facts = {
        "algorithm": recipe.get("algorithm"),
        "from": policy.get("model"),
        "steps": logged.counts.get("step"),
        "tokens": None if tokens is None else int(tokens),
        "hours": None if seconds is None else seconds / 3600,
        "seconds": logged.seconds or None,
        "win_rate": logged.win_rates or None,
        "processes": versions.get("processes"),
        "machine": versions.get("machine"),
    }
    # leave out unknown figures
    return {key: value for key, value in facts.items() if value is not None}


def logged_figures(log: Path) -> LoggedFigures:
    """Returns the figures in a run's log. Without the file, nothing is logged.

    log: the path of the run's metrics.jsonl. Raises ValueError for impossible numbers.
    """
    lines = []
    if log.is_file():
        lines = [line for _, line in read_table(log)]
    counts: dict[str, float] = {}
    seconds: dict[str, list[float]] = defaultdict(list)  # by phase, the seconds in each line
    win_rates = []
    for line in lines:
        check_counts(line, log)
        for key, value in line.items():
            if key in COUNT_KEYS:
                counts[key] = value  # counts only grow, so the last line has the total
            elif key.startswith(PHASE_PREFIX):
                phase = key.removeprefix(PHASE_PREFIX)
                seconds[phase].append(value)
        # most lines have no win rate
        if all(key in line for key in CURVE_KEYS):
            win_rates.append([line[key] for key in CURVE_KEYS])
    means = {phase: fmean(seconds[phase]) for phase in sorted(seconds)}
    return LoggedFigures(counts, means, win_rates)


def check_counts(line: Mapping[str, Any], log: Path) -> None:
    """Raises ValueError if a count or a win rate of a log line is negative, not finite or no
    number.

    line: one line of `log`, which is the metrics.jsonl of a run. Numbers under keys that this file
    does not use are not checked.
    """
    for key, value in line.items():
        if key not in COUNT_KEYS + CURVE_KEYS:
            continue
        # `type` and not `isinstance`, because True is an int
        is_number = type(value) in (int, float)
        if not (is_number and 0 <= value < math.inf):
            raise ValueError(
                f"{log} has {key} {value!r}, which is no finite number from 0: mend or remove the "
                "file."
            )
