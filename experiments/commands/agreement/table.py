"""`python -m experiments agreement table`: `labels table` with the papers' baselines as further
rows.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from experiments.commands import labels
from experiments.tables import table_with
from spanreward.rewards.comparison.number_text import NO_FIGURE, interval_text
from spanreward.training.commands.main import without_nan

HELP = "a paper's table: a metric and its baselines against people's judgments in a JSONL file"
DESCRIPTION = f"""\
`labels table` with every baseline that this machine has (docs/evidence/reproduce.md). The table lave also tests whether
the metric's correlation with people is above a baseline's (LAVE, section 5.3).

{labels.DESCRIPTION.replace("experiments labels", "experiments agreement")}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    labels.add_arguments(parser)
    parser.add_argument("--clip", type=Path, metavar="FOLDER", help="CLIP's weights, for CLIPScore")


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from experiments.agreement.correlation_test import answer_tests
    from experiments.agreement.embedding_baselines import random_verdicts
    from experiments.agreement.overlap_baselines import baselines

    answers, spans = arguments.table == "lave", arguments.table == "docent-granular"
    others, left_out = baselines(answers, spans, arguments.clip)
    numbers, records, judged = labels.measure_all(
        arguments, others, lambda found: {"random": random_verdicts(found)} if spans else {}
    )
    tests = (
        [asdict(test) for test in answer_tests(records, judged, next(iter(judged)))]
        if answers
        else []
    )
    measures, notes = labels.tables_of(numbers)
    for sentence in left_out:
        notes.add_row(sentence)
    shown = [measures, *([test_table(tests)] if tests else []), notes]
    return without_nan(numbers | {"tests": tests, "left_out": left_out}), shown


def test_table(tests: Sequence[Mapping[str, Any]]) -> Table:
    """LAVE's comparison of correlations (section 5.3)."""
    resamples = tests[0]["spearman"]["resamples"]
    title = f"Spearman, {tests[0]['metric']} less another, {resamples} resamples of questions"
    table = table_with(title, ["other"], ["difference", "95 %", "p of the paper's t-test", "n"])
    for test in tests:
        found = test["spearman"]
        bounds = interval_text(**found["interval"]) if found["interval"] else NO_FIGURE
        p = NO_FIGURE if found["p"] != found["p"] else f"{found['p']:.2g}"
        table.add_row(test["other"], f"{found['difference']:+.3f}", bounds, p, str(test["n"]))
    return table
