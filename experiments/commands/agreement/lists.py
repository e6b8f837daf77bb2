"""`python -m experiments agreement lists`: what LAVE pays for lists of answers, and which right
answers get nothing.
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

HELP = "what LAVE pays for lists of answers, and which right answers get nothing"
DESCRIPTION = """Mean LAVE scores, with the judge match, of lists of A-OKVQA's choices by how they are joined, and
the right answers of EVOUNA with the lowest rating, by the judge's reason."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="the folder that holds the sets' own folders")
    parser.add_argument(
        "--count", type=int, default=500, metavar="N", help="questions of A-OKVQA (default 500)"
    )


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from experiments.agreement.answer_lists import false_zeros, measure_lists
    from spanreward.rewards import LaveReward, MatchJudge

    lists = measure_lists(
        arguments.folder, LaveReward(MatchJudge(), rationale=False), arguments.count
    )
    zeros = false_zeros(arguments.folder)
    prices, causes = Table(title="Lists of choices"), Table(title="Right answers rated 1")
    for table, columns in (
        (prices, ("text", "mean score")),
        (causes, ("reason", "answers", "share of right ones")),
    ):
        for column in columns:
            table.add_column(column)
    for one in lists:
        prices.add_row(one.text, f"{one.score:.3f}")
    for cause in zeros:
        causes.add_row(cause.reason, str(cause.zeros), f"{cause.zeros / cause.right:.3f}")
    return {
        "lists": [asdict(one) for one in lists],
        "false_zeros": [asdict(one) for one in zeros],
    }, [prices, causes]
