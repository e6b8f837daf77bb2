"""How many rounds dynamic sampling takes to fill a batch, by simulation.

python -m experiments benchmark rounds --json rounds.json
"""

import argparse
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from spanreward.training.grpo.dynamic_sampling import groups_to_draw

DESCRIPTION = """A batch of --groups groups is drawn, each with variance with probability --share. Then rounds draw new
groups until the batch is full or --max-resamples rounds are over: as many as are missing, or as many as probably do
(groups_to_draw, the rule). Each round costs a judge's wake and sleep, and a push of the weights where TRL's engine
sleeps; each drawn group costs its completions. Means of --batches batches, --seed decides them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--groups", type=int, nargs="+", default=[4, 16, 64], help="default 4 16 64"
    )
    parser.add_argument(
        "--share", type=float, nargs="+", default=[0.3, 0.5, 0.7, 0.9], help="default .3 .5 .7 .9"
    )
    parser.add_argument("--max-resamples", type=int, default=5, help="default 5")
    parser.add_argument("--batches", type=int, default=4000, help="default 4000")
    parser.add_argument("--seed", type=int, default=0, help="default 0")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    random = np.random.default_rng(arguments.seed)
    lines = []
    table = Table(
        "groups",
        "share with variance",
        "drawn a round",
        "rounds",
        "groups drawn",
        "groups missing at the end",
    )
    for groups in arguments.groups:
        for share in arguments.share:
            for rule in ("as many as are missing", "the rule"):
                batches = [
                    fill(groups, share, rule == "the rule", arguments.max_resamples, random)
                    for _ in range(arguments.batches)
                ]
                rounds, drawn, missing = np.mean(batches, axis=0).tolist()
                lines.append({"groups": groups, "share": share, "drawn_a_round": rule})
                lines[-1] |= {"rounds": rounds, "drawn": drawn, "missing": missing}
                table.add_row(
                    str(groups), str(share), rule, f"{rounds:.2f}", f"{drawn:.1f}", f"{missing:.2f}"
                )
    Console().print(table)
    return {"max_resamples": arguments.max_resamples, "batches": arguments.batches, "lines": lines}


def fill(
    groups: int, share: float, by_rule: bool, max_rounds: int, random: np.random.Generator
) -> tuple[int, int, int]:
    """Returns a batch's rounds, the groups drawn in them, and the groups without variance at the
    end.
    """
    useful = int(random.binomial(groups, share))
    missing = groups - useful
    rounds = drawn = 0
    while missing and rounds < max_rounds:
        wanted = groups_to_draw(missing, useful, groups + drawn, groups) if by_rule else missing
        found = int(random.binomial(wanted, share))
        rounds, drawn, useful, missing = (
            rounds + 1,
            drawn + wanted,
            useful + found,
            max(0, missing - found),
        )
    return rounds, drawn, missing
