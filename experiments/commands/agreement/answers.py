"""`python -m experiments agreement answers`: LAVE and the usual metrics of answers against people's
judgments.
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from spanreward.rewards.comparison.number_text import number_text as shown
from spanreward.training.commands.metric_options import (
    JUDGE_FLAGS,
    add_flags,
    add_words,
    open_metric,
)

HELP = "LAVE and its baselines against people's judgments of answers"
DESCRIPTION = (
    "LAVE and the usual metrics of answers, such as VQA accuracy, against people's "
    "judgments of answers."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="the folder that holds the sets' own folders")
    parser.add_argument(
        "--no-rationale", action="store_true", help="read the rating alone, without a rationale"
    )
    parser.add_argument(
        "--count", type=int, metavar="N", help="only the first N questions of a set (default all)"
    )
    parser.add_argument(
        "--sets", nargs="+", metavar="SET", default=[], help="the sets to measure (default all)"
    )
    add_flags(parser, *JUDGE_FLAGS, judge={"default": "match"})
    add_words(parser)


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from experiments.agreement.answers import SETS, measure_answers
    from spanreward.rewards.base.checks import check_known

    check_known("set", arguments.sets, SETS)
    if arguments.count is not None and arguments.count < 1:
        raise ValueError(f"--count must be 1 or more, got {arguments.count}.")
    arguments.options = [f"rationale={str(not arguments.no_rationale).lower()}", *arguments.options]
    with open_metric("lave", arguments) as (reward, _):
        measured = measure_answers(
            arguments.folder, reward, arguments.sets or list(SETS), arguments.count
        )
    rows = [asdict(row) for row in measured]
    asked = "the rating alone" if arguments.no_rationale else "rationale and rating"
    return rows, [answer_table(rows, f"judge {arguments.judge}, {asked}")]


def answer_table(rows: list[dict[str, Any]], asked: str) -> Table:
    metrics = list(dict.fromkeys(metric for row in rows for metric in row["metrics"]))
    table = Table(title=f"Answers, {asked}: value [95 %] of the first metric, values of the others")
    for column in ("set", "answers", "measure"):
        table.add_column(column)
    for column in (*metrics, "n", "failed"):
        table.add_column(column.replace("_", " "), justify="right")
    for row in rows:
        first, *others = [row["metrics"].get(metric) for metric in metrics]
        cells = [
            f"{first['value']:.3f} [{first['interval']['low']:.3f}, "
            f"{first['interval']['high']:.3f}]"
        ]
        cells += [shown(other["value"] if other else None) for other in others]
        table.add_row(
            row["set"], row["group"], row["measure"], *cells, str(row["n"]), str(row["failed"])
        )
    return table
