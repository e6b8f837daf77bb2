"""`spanreward agreement spans`: which words are wrong, what they cost, and whether to train on that."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from training.commands.agreement.cells import cell, defined
from training.commands.metric_options import add_metric_options, open_metric

if TYPE_CHECKING:
    from training.evaluation.span_reliability import Labelled

HELP = "are a metric's spans good enough for span credit? by your labels, or by the truth of Scenes"
DESCRIPTION = """\
    spanreward agreement spans labels.jsonl --judge vllm:MODEL           # PoSh; --metric for another
    spanreward agreement spans outputs/quickstart --models base sft      # what `spanreward compare` wrote about Scenes

A labelled sample is a JSONL file, one completion a line: {"id": ..., "completion": ..., "reference": ..., "mistakes":
[[start, end], ...]}, the ranges of characters that are wrong, or the wrong words themselves, [] where nothing is. A
few dozen completions in which some phrases are wrong will do. r is the correlation of a phrase's credit with its label,
both less what phrases of that kind and place have on average; the last line says what to set in a recipe.

Of Scenes the truth is known, and more is shown. Words are runs of letters and digits. `precision` is the share of the
words the judge calls wrong that are wrong, `recall` the share of the wrong words it finds; `claims` are the words that
state a fact of the picture (not the `in` of a place); per kind, among the words that spans of that kind touch. The
effect of a component is the true F1 of the text less that of the text without its first span; `equal signs` is over
the components where neither credit nor effect is 0, `spearman` over all with credit; `on nothing` is the share of the
squared credit on words without effect."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sample", type=Path, help="a labelled sample, or the output folder of `spanreward compare`")
    parser.add_argument("--metric", default="posh", help="whose spans, for a labelled sample (default posh)")
    parser.add_argument("--judge", default="match", help="who answers its questions (default match: words alone)")
    parser.add_argument("--columns", metavar="MAP.yaml", help="a column map, where the sample has other columns")
    parser.add_argument("--models", nargs="+", default=[], help="which of the compared models (default all)")
    parser.add_argument("--count", type=int, default=500, help="completions of the folder, over its models and seeds")
    add_metric_options(parser)


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    return measure_scenes(arguments) if arguments.sample.is_dir() else measure_labels(arguments)


def measure_labels(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from rewards.agreement.column_map import load_map
    from rewards.agreement.records import read_records
    from rewards.agreement.tables import judge_records
    from training.evaluation.span_reliability import labelled

    records = read_records(arguments.sample, load_map(arguments.columns or "labelled_spans"))
    with open_metric(arguments.metric, arguments) as metric:
        verdicts = [verdict for (verdict,) in judge_records(records, metric.reward)]
    rows = labelled(records, verdicts)
    title = f"{len(rows)} labelled completions, {arguments.metric} with {metric.settings['judge']}"
    if len(rows) < len(records):
        title += f"; {len(records) - len(rows)} without a verdict left out"
    found, tables = reliability_of(rows, title)
    return defined({"metric": metric.settings, "completions": len(rows), **found}), tables


def measure_scenes(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from training.evaluation.span_agreement import labels_of, read_completions, summarise

    if arguments.count < 1:
        raise ValueError(f"--count must be 1 or more, got {arguments.count}.")
    completions, skipped = read_completions(arguments.sample, arguments.models, arguments.count)
    agreement = {**summarise(completions), "skipped": skipped}
    counted = f"{agreement['completions']} completions" + (f", {skipped} without a verdict left out" if skipped else "")
    found, tables = reliability_of(labels_of(completions), f"Spans, by the referee: {counted}")
    return defined({**agreement, **found}), [
        table_of(f"Wrong words, judge and referee: {counted}", agreement["words"]),
        table_of("Credit and true effect on F1, per component", agreement["credit"]),
        *tables,
    ]


def reliability_of(rows: Sequence["Labelled"], title: str) -> tuple[dict[str, Any], list[Table]]:
    """r and the advice, as numbers and as a table."""
    from training.evaluation.span_reliability import advice, reliability

    found = reliability(rows)
    table = Table(title=title, caption=advice(found["all"]), caption_justify="left")
    table.add_column("phrases of kind")
    for name in ("r", "95 %", "phrases", "wrong", "blamed"):
        table.add_column(name, justify="right")
    for kind, row in found.items():
        table.add_row(kind, *cells(row))
    return {"reliability": found, "advice": advice(found["all"])}, [table]


def cells(row: Mapping[str, Any]) -> list[str]:
    known = row["low"] is not None
    interval = f"{row['low']:.2f} to {row['high']:.2f}" if known else "-"
    r = "-" if row["r"] is None else f"{row['r']:.2f}"
    return [r, interval, f"{row['phrases']:,}", f"{row['wrong']:.0%}", f"{row['blamed']:.0%}"]


def table_of(title: str, agreement: dict[str, Any]) -> Table:
    """One row for everything, each model and each kind; a column per number."""
    rows = {name: agreement[name] for name in ("all", "claims") if name in agreement}
    rows |= {**agreement["by_model"], **agreement["by_kind"]}
    table = Table(title=title)
    table.add_column("")
    for name in agreement["all"]:
        table.add_column(name.replace("_", " "), justify="right")
    for name, entry in rows.items():
        table.add_row(name, *map(cell, entry.values()))
    return table
