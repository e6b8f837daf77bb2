"""How often a comparison says what is not so: its intervals and verdicts, by simulation.

python -m experiments benchmark verdicts --json verdicts.json
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.benchmark.power import Spreads, needed
from spanreward.rewards.comparison.length import control_length
from spanreward.training.evaluation.statistics.estimates import Difference, paired_difference
from spanreward.training.evaluation.statistics.outcomes import adjust_p_values, judge_pair
from spanreward.training.evaluation.statistics.summary import summarise_models

DESCRIPTION = """Draws --streams comparisons of models that do not differ, or differ by as much as was planned for,
and counts what is said of them. Scores have a standard deviation of .2 between prompts, .07 between what a model
makes of one prompt and another, .15 within, and --seed-spread between training seeds. "better" counts better and
worse; by the rule before, both of two intervals, over prompts and over seeds, excluded 0. Intervals should hold in 95
%, and equal models should be told apart in at most 5 %, plus or minus two standard errors of the simulation (2 points
at 400)."""
BETWEEN, LIKING, WITHIN = 0.2, 0.07, 0.15
PROMPTS = 128
RESAMPLES = 499


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--streams", type=int, default=400, help="comparisons of each kind (default 400)"
    )
    parser.add_argument("--seed-spread", type=float, default=0.02, help="default .02")
    parser.add_argument("--seed", type=int, default=0, help="default 0")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    spread, random = arguments.seed_spread, np.random.default_rng(arguments.seed)

    def model(seeds: int, shared: Any, gain: float = 0.0) -> Any:
        own = random.normal(0, spread, (seeds, 1)) + random.normal(0, LIKING, (1, PROMPTS))
        own = own + random.normal(0, WITHIN, (seeds, PROMPTS))
        return 0.5 + gain + shared + own

    def compared(models: int, referees: int, seeds: int, lone: bool = False) -> dict[str, float]:
        found: dict[str, dict[str, Any]] = {}
        for referee in range(referees):
            shared = random.normal(0, BETWEEN, (1, PROMPTS))
            for name in range(models):
                of_model = model(1 if lone and not name else seeds, shared)
                found.setdefault(str(name), {})[str(referee)] = np.broadcast_to(
                    of_model, (seeds, PROMPTS)
                )
        runs = {
            name: [f"{name}{0 if lone and name == '0' else seed}" for seed in range(seeds)]
            for name in found
        }
        differences = summarise_models(found, runs=runs, resamples=RESAMPLES).differences
        entries = {
            (pair, name): entry
            for pair, table in differences.items()
            for name, entry in table.items()
        }
        holm = adjust_p_values({key: entry.p for key, entry in entries.items()})
        said = [
            judge_pair(entry, "f1", holm.get(key), lone="0" if lone else "").verdict != "undecided"
            for key, entry in entries.items()
        ]
        return {"by the rule before": any(map(both, entries.values())), "now": any(said)}

    def planned() -> dict[str, float]:
        plan = Spreads(2 * LIKING**2, 2 * spread**2, 2 * WITHIN**2)
        count = needed(plan, 0.05, 5) or 0
        differences = random.normal(0, 2**0.5 * spread, (5, 1)) + random.normal(
            0, 2**0.5 * LIKING, (1, count)
        )
        differences = 0.05 + differences + random.normal(0, 2**0.5 * WITHIN, (5, count))
        found = summarise_models(
            {"a": {"f": 0 * differences}, "b": {"f": differences}}, resamples=RESAMPLES
        )
        return {"now": judge_pair(found.differences["b", "a"]["f"], "f").verdict == "better"}

    def clustered() -> dict[str, float]:
        values = (random.normal(0, 0.5**0.5, 64).repeat(4) + random.normal(0, 0.5**0.5, 256))[None]
        alone = paired_difference(values, 0 * values, [0], RESAMPLES)
        together = paired_difference(
            values, 0 * values, [0], RESAMPLES, np.repeat(np.arange(64), 4).tolist()
        )
        return {"by the rule before": holds(alone, 0), "now": holds(together, 0)}

    def near(count: int, share: float) -> dict[str, float]:
        won = (random.random(count) < share).astype(float)
        found = control_length(won.tolist(), random.integers(10, 40, (count, 2)).tolist())
        inside = [
            one.low <= share <= one.high
            for one in (found.raw_interval, found.controlled_interval)
            if one
        ]
        return {"all pairs": inside[0], "at equal length": inside[-1]}

    kinds: dict[str, Callable[[], dict[str, float]]] = {
        **{
            f"better, 2 equal models, {n} seeds": partial(compared, 2, 1, n) for n in (3, 5, 10, 20)
        },
        **{f"better, a lone run beside {n}": partial(compared, 2, 1, n, lone=True) for n in (3, 5)},
        "better, 3 equal models and 4 referees, 5 seeds": partial(compared, 3, 4, 5),
        "better, planned for 80 %, 5 seeds": planned,
        "interval holds, 64 pictures of 4 questions": clustered,
        **{
            f"win rate holds, {n} prompts, {p:.0%}": partial(near, n, p)
            for n, p in ((50, 0.97), (200, 0.9))
        },
    }
    table = Table("what", "share of comparisons")
    lines = {}
    for name, one in track(kinds.items(), "kinds", console=Console(stderr=True)):
        drawn = [one() for _ in range(arguments.streams)]
        lines[name] = {what: float(np.mean([each[what] for each in drawn])) for what in drawn[0]}
        table.add_row(name, ", ".join(f"{what} {share:.3f}" for what, share in lines[name].items()))
    Console().print(table)
    return {"streams": arguments.streams, "seed_spread": spread, "shares": lines}


def both(entry: Difference) -> bool:
    """Whether both of two intervals, over prompts and over seeds, lie on one side of 0."""
    ends = [(entry.low, entry.high), (entry.runs_low, entry.runs_high)]
    return all(low is not None and low > 0 for low, _ in ends) or all(
        high is not None and high < 0 for _, high in ends
    )


def holds(estimate: Any, truth: float) -> bool:
    return bool(estimate.low <= truth <= estimate.high)
