"""`python -m experiments agreement spans`: which words of Scenes a judge calls wrong, what they
cost, and the truth.
"""

import argparse
from pathlib import Path
from typing import Any

from rich.table import Table

from experiments.agreement.span_agreement import labels_of, read_completions, summarise
from spanreward.rewards.comparison.number_text import number_text
from spanreward.training.commands.labels import reliability_of
from spanreward.training.commands.main import without_nan

HELP = "a judge's wrong words and credit on Scenes, against the truth"
DESCRIPTION = """\
    python -m experiments agreement spans outputs/quickstart --models base sft      # what `spanreward compare` wrote

Words are runs of letters and digits. `precision` is the share of the
words the judge calls wrong that are wrong, `recall` the share of the wrong words it finds; `claims` are the words that
state a fact of the picture (not the `in` of a place); per kind, among the words that spans of that kind touch. The
effect of a component is the true F1 of the text less that of the text without its first span; `equal signs` is over
the components where neither credit nor effect is 0, `spearman` over all with credit; `on nothing` is the share of the
squared credit on words without effect."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sample", type=Path, help="the output folder of `spanreward compare`")
    parser.add_argument(
        "--models", nargs="+", default=[], help="which of the compared models (default all)"
    )
    parser.add_argument(
        "--count",
        type=int,
        default=500,
        help="completions, over the models and seeds (default 500)",
    )


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    if arguments.count < 1:
        raise ValueError(f"--count must be 1 or more, got {arguments.count}.")
    completions, skipped = read_completions(arguments.sample, arguments.models, arguments.count)
    agreement = {**summarise(completions), "skipped": skipped}
    counted = f"{agreement['completions']} completions" + (
        f", {skipped} without a verdict left out" if skipped else ""
    )
    found, tables = reliability_of(labels_of(completions), f"Spans, by the oracle: {counted}")
    return without_nan({**agreement, **found}), [
        table_of(f"Wrong words, judge and oracle: {counted}", agreement["words"]),
        table_of("Credit and true effect on F1, per component", agreement["credit"]),
        *tables,
    ]


def table_of(title: str, agreement: dict[str, Any]) -> Table:
    """One row for everything, each model and each kind; a column per number."""
    rows = {name: agreement[name] for name in ("all", "claims") if name in agreement}
    rows |= {**agreement["by_model"], **agreement["by_kind"]}
    table = Table(title=title)
    table.add_column("")
    for name in agreement["all"]:
        table.add_column(name.replace("_", " "), justify="right")
    for name, entry in rows.items():
        table.add_row(
            name,
            *(
                number_text(v) if v is None or isinstance(v, float) else str(v)
                for v in entry.values()
            ),
        )
    return table
