"""`spanreward agreement table`: one table of a paper, from a JSONL file of people's judgments."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from training.commands.agreement.cells import defined, shown
from training.commands.metric_options import add_metric_options, open_metric

if TYPE_CHECKING:
    from rewards.agreement.column_map import ColumnMap
    from rewards.agreement.records import Record
    from rewards.agreement.tables import Judged
    from rewards.agreement.tables import Table as PaperTable

HELP = "a paper's table: a metric and its baselines against people's judgments in a JSONL file"
DESCRIPTION = """\
    spanreward agreement table docent-coarse coarse.jsonl --judge server:URL#qwen3-14b mode=published --baselines
    spanreward agreement table mmhe-best mmhe.jsonl --pictures pictures --judge vllm:MODEL mode=published spans=none
    spanreward agreement table lave lave.jsonl --judge vllm:MODEL mode=published candidate=whole --baselines

Tables: docent-coarse, docent-granular, caparena, mmhe-best, mmhe-criteria, flickr8k-expert, flickr8k-cf, composite,
lave, thumb, polaris, pascal50s, sugarcrepe, discourse-foil, hat, evouna. docs/reproduce.md says which table of which
paper each repeats. A file's columns are named by a column map (rewards/agreement/column_maps); --columns has yours."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", help="its name, see above")
    parser.add_argument("file", type=Path, metavar="FILE.jsonl", help="people's judgments, one a line")
    parser.add_argument("--metric", help="posh, harmonic, lave, ... (default the table's own)")
    parser.add_argument("--judge", default="match", help="who answers its questions (default match: words alone)")
    parser.add_argument("--baselines", action="store_true", help="beside it every other metric that this machine has")
    parser.add_argument("--columns", metavar="MAP.yaml", help="a column map in place of the table's own")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="where the paths of pictures start")
    parser.add_argument("--clip", type=Path, metavar="FOLDER", help="CLIP's weights, for CLIPScore")
    parser.add_argument("--count", type=int, metavar="N", help="only the first N groups, as pictures (default all)")
    add_metric_options(parser)


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from rewards.agreement.column_map import load_map
    from rewards.agreement.tables import TABLES, fill_table, judge_records, unscored
    from rewards.naming import unknown

    if arguments.table not in TABLES:
        raise ValueError(unknown("table", arguments.table, TABLES))
    if arguments.count is not None and arguments.count < 1:
        raise ValueError(f"--count must be 1 or more, got {arguments.count}.")
    table = TABLES[arguments.table]
    name = arguments.columns or table.columns
    columns = load_map(name) if name else None
    records = first_groups(table.read(arguments.file, columns, arguments.pictures), arguments.count)
    others, left_out = baselines_of(table, arguments)
    with open_metric(arguments.metric or table.metric, arguments) as metric:
        judged = {one.__name__: judge_records(records, one) for one in (metric.reward, *others)}
        main = metric.reward.__name__
    rows = [asdict(row) for row in fill_table(table, records, judged)]
    numbers = {
        "table": arguments.table,
        "paper": table.paper,
        "file": str(arguments.file),
        "format": format_of(columns),
        "records": len(records),
        "metric": metric.settings,
        "rows": rows,
        "tests": tests_of(records, judged, main) if arguments.table == "lave" else [],
        "unscored": unscored(judged),
        "left_out": left_out,
    }
    return defined(numbers), tables_of(numbers)


def baselines_of(table: "PaperTable", arguments: argparse.Namespace) -> tuple[list[Any], list[str]]:
    """The other metrics, and a sentence for each that this machine does not have."""
    from rewards.agreement.overlap_baselines import baselines

    if not arguments.baselines:
        return [], []
    return baselines(answers=table.metric == "lave", spans=table.granular, clip=arguments.clip)


def first_groups(records: Sequence["Record"], count: int | None) -> list["Record"]:
    """The records of the first `count` groups, in order."""
    wanted = list(dict.fromkeys(record.group for record in records))[:count]
    return [record for record in records if record.group in set(wanted)]


def format_of(columns: "ColumnMap | None") -> dict[str, str]:
    if columns is None:
        return {"name": "a reader of its own", "source": "", "status": "format seen in the data", "note": ""}
    return {"name": columns.name, "source": columns.source, "status": columns.status, "note": columns.note}


def tests_of(records: Sequence["Record"], judged: Mapping[str, "Judged"], main: str) -> list[dict[str, Any]]:
    from rewards.agreement.answer_tests import answer_tests

    return [asdict(test) for test in answer_tests(records, judged, main)]


def tables_of(numbers: Mapping[str, Any]) -> list[Table]:
    """The measures, LAVE's tests, and what a reader should know."""
    settings = numbers["metric"]
    options = " ".join(f"{key}={value}" for key, value in settings["options"].items()) or "its own defaults"
    read = f", read by {settings['parsed_by']}" if settings["parsed_by"] else ""
    paper = f" ({numbers['paper']})" if numbers["paper"] else ""
    title = f"{numbers['table']}{paper}: {settings['reward']} with {settings['judge']}, {options}{read}"
    tables = [measure_table(numbers["rows"], escape(title))]
    if numbers["tests"]:
        tables.append(test_table(numbers["tests"]))
    notes = Table(title="Mind", show_header=False)
    for sentence in (f"{numbers['format']['name']}: {numbers['format']['status']}.", numbers["format"]["note"]):
        if sentence:
            notes.add_row(escape(sentence))
    for sentence in (*numbers["unscored"], *numbers["left_out"]):
        notes.add_row(escape(sentence))
    return [*tables, notes]


def measure_table(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    table = Table(title=title)
    for column in ("part", "measure", "metric"):
        table.add_column(column)
    for column in ("value", "95 %", "n", "without a score"):
        table.add_column(column, justify="right")
    for row in rows:
        for name, found in row["metrics"].items():
            interval = f"{shown(found['interval']['low'])} .. {shown(found['interval']['high'])}"
            numbers = (shown(found["value"]), interval, str(found["n"]), str(found["failed"]))
            table.add_row(escape(row["slice"]), row["measure"], name, *numbers)
    return table


def test_table(tests: Sequence[Mapping[str, Any]]) -> Table:
    """LAVE's comparison of correlations (section 5.3)."""
    resamples = tests[0]["spearman"]["resamples"]
    table = Table(title=f"Spearman, {tests[0]['metric']} less another, {resamples} resamples of questions")
    table.add_column("other")
    for column in ("difference", "95 %", "p of the paper's t-test", "n"):
        table.add_column(column, justify="right")
    for test in tests:
        found = test["spearman"]
        bounds = found["interval"] or {"low": None, "high": None}
        interval = f"{shown(bounds['low'])} .. {shown(bounds['high'])}"
        p = "-" if found["p"] != found["p"] else f"{found['p']:.2g}"
        table.add_row(test["other"], f"{found['difference']:+.3f}", interval, p, str(test["n"]))
    return table
