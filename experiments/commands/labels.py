"""Does a metric rank texts as people do? One table of a paper, from a JSONL file of people's
judgments.

python -m experiments labels table docent-coarse coarse.jsonl --judge server:URL#qwen3-14b
--set mode=published
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from experiments.tables import table_with
from spanreward.rewards.comparison.number_text import interval_text, number_text
from spanreward.training.commands.main import run_subcommand, without_nan
from spanreward.training.commands.metric_options import (
    JUDGE_FLAGS,
    add_flags,
    add_words,
    open_metric,
)

if TYPE_CHECKING:
    from experiments.labels.judgments import Judgment
    from experiments.labels.tables import Judged
    from spanreward.rewards.reward.reward import Reward

HELP = "a paper's table: a metric against people's judgments in a JSONL file"
DESCRIPTION = """\
    python -m experiments labels table docent-coarse coarse.jsonl --judge server:URL#qwen3-14b --set mode=published
    python -m experiments labels table mmhe-best mmhe.jsonl --pictures mmhe --judge vllm:MODEL --set mode=published spans=none
    python -m experiments labels table lave lave.jsonl --judge vllm:MODEL --set mode=published candidate=whole

Tables: docent-coarse, docent-granular, caparena, mmhe-best, mmhe-criteria, flickr8k-expert, flickr8k-cf, composite,
lave, thumb, polaris, pascal50s, sugarcrepe, discourse-foil. docs/evidence/reproduce.md names the paper and the
table that each repeats. A column map names a file's columns (experiments/labels/column_maps); --columns takes yours."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", help="its name, see above")
    parser.add_argument(
        "file", type=Path, metavar="FILE.jsonl", help="people's judgments, one a line"
    )
    parser.add_argument("--metric", help="posh, harmonic, lave, ... (default the table's own)")
    parser.add_argument(
        "--columns", metavar="MAP.yaml", help="a column map in place of the table's own"
    )
    parser.add_argument(
        "--pictures", type=Path, metavar="FOLDER", help="the folder that pictures' paths start from"
    )
    parser.add_argument(
        "--count", type=int, metavar="N", help="only the first N groups, as pictures (default all)"
    )
    add_flags(parser, *JUDGE_FLAGS, judge={"default": "match"})
    add_words(parser)


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    numbers, _, _ = measure_all(arguments)
    return without_nan(numbers), tables_of(numbers)


def measure_all(
    arguments: argparse.Namespace,
    others: Sequence["Reward"] = (),
    given: Callable[[Sequence["Judgment"]], Mapping[str, "Judged"]] = lambda records: {},
) -> tuple[dict[str, Any], list["Judgment"], dict[str, "Judged"]]:
    """Returns the numbers, the records, and the verdicts on them by metric: the table's metric
    first, then `others`, then those that `given` returns.
    """
    from experiments.labels.column_map import load_map
    from experiments.labels.tables import (
        EVERY_COMPONENT,
        TABLES,
        fill_table,
        judge_records,
        unscored,
    )
    from spanreward.rewards.base.checks import check_known
    from spanreward.rewards.reward.viewers import check_seen

    check_known("table", [arguments.table], TABLES)
    if arguments.count is not None and arguments.count < 1:
        raise ValueError(f"--count must be 1 or more, got {arguments.count}.")
    table = TABLES[arguments.table]
    columns = load_map(arguments.columns or table.columns)
    records = table.read(arguments.file, columns, arguments.pictures)
    groups = set(list(dict.fromkeys(record.group for record in records))[: arguments.count])
    records = [record for record in records if record.group in groups]
    metric = arguments.metric or table.metric
    if (metric, table.metric) == ("posh", EVERY_COMPONENT):
        metric = EVERY_COMPONENT
    with open_metric(metric, arguments) as (reward, settings):
        check_seen(reward, [sample for record in records for sample in record.samples])
        judged = {one.__name__: judge_records(records, one) for one in (reward, *others)} | dict(
            given(records)
        )
    numbers = {
        "table": arguments.table,
        "paper": table.paper,
        "file": str(arguments.file),
        "format": {name: getattr(columns, name) for name in ("name", "source", "status", "note")},
        "records": len(records),
        "metric": settings,
        "rows": [asdict(row) for row in fill_table(table, records, judged)],
        "unscored": unscored(judged),
    }
    return numbers, records, judged


def tables_of(numbers: Mapping[str, Any]) -> list[Table]:
    """Returns the measures, and what a reader should know."""
    settings = numbers["metric"]
    options = (
        " ".join(f"{key}={value}" for key, value in settings["options"].items())
        or "its own defaults"
    )
    options += "" if "prompts" in settings["options"] or not settings["judge"] else ", our prompts"
    read = f", read by {settings['parsed_by']}" if settings["parsed_by"] else ""
    paper = f" ({numbers['paper']})" if numbers["paper"] else ""
    title = (
        f"{numbers['table']}{paper}: {settings['reward']} with {settings['judge']}, {options}{read}"
    )
    notes = Table(title="Notes", show_header=False)
    form = numbers["format"]
    for sentence in (f"{form['name']}: {form['status']}.", form["note"], *numbers["unscored"]):
        if sentence:
            notes.add_row(sentence)
    return [measure_table(numbers["rows"], title), notes]


def measure_table(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    table = table_with(
        title, ["part", "measure", "metric"], ["value", "95 %", "n", "without a score"]
    )
    for row in rows:
        for name, found in row["metrics"].items():
            numbers = (
                number_text(found["value"]),
                interval_text(**found["interval"]),
                str(found["n"]),
                str(found["failed"]),
            )
            table.add_row(row["slice"], row["measure"], name, *numbers)
    return table


def main() -> None:
    run_subcommand("python -m experiments labels", __doc__, {"table": sys.modules[__name__]})
