"""`spanreward labels table`: one table of a paper, from a JSONL file of people's judgments."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from spanreward.rewards.comparison.figures import NONE, interval, number
from spanreward.training.commands.json_file import defined
from spanreward.training.commands.metric_options import add_metric_options, open_metric
from spanreward.training.evaluation.tables import table_with

HELP = "a paper's table: a metric and its baselines against people's judgments in a JSONL file"
DESCRIPTION = """\
    spanreward labels table docent-coarse coarse.jsonl --judge server:URL#qwen3-14b mode=published --baselines
    spanreward labels table mmhe-best mmhe.jsonl --pictures pictures --judge vllm:MODEL mode=published spans=none
    spanreward labels table lave lave.jsonl --judge vllm:MODEL mode=published candidate=whole --baselines

Tables: docent-coarse, docent-granular, caparena, mmhe-best, mmhe-criteria, flickr8k-expert, flickr8k-cf, composite,
lave, thumb, polaris, pascal50s, sugarcrepe, discourse-foil. docs/evidence/reproduce.md says which table of
which paper each repeats. A column map names a file's columns (rewards/labels/column_maps); --columns takes yours."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", help="its name, see above")
    parser.add_argument("file", type=Path, metavar="FILE.jsonl", help="people's judgments, one a line")
    parser.add_argument("--metric", help="posh, harmonic, lave, ... (default the table's own)")
    parser.add_argument("--judge", default="match", help="answers its questions (default match, which compares words)")
    parser.add_argument("--baselines", action="store_true", help="also every other metric that this machine has")
    parser.add_argument("--columns", metavar="MAP.yaml", help="a column map in place of the table's own")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="the folder that pictures' paths start from")
    parser.add_argument("--clip", type=Path, metavar="FOLDER", help="CLIP's weights, for CLIPScore")
    parser.add_argument("--count", type=int, metavar="N", help="only the first N groups, as pictures (default all)")
    add_metric_options(parser)


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from spanreward.rewards.labels.column_map import load_map
    from spanreward.rewards.labels.correlation_test import answer_tests
    from spanreward.rewards.labels.overlap_baselines import baselines
    from spanreward.rewards.labels.tables import TABLES, fill_table, judge_records, unscored
    from spanreward.rewards.naming import check_known

    check_known("table", [arguments.table], TABLES)
    if arguments.count is not None and arguments.count < 1:
        raise ValueError(f"--count must be 1 or more, got {arguments.count}.")
    table = TABLES[arguments.table]
    columns = load_map(arguments.columns or table.columns)
    records = table.read(arguments.file, columns, arguments.pictures)
    groups = set(list(dict.fromkeys(record.group for record in records))[: arguments.count])
    records = [record for record in records if record.group in groups]
    others: list[Any] = []
    left_out: list[str] = []
    if arguments.baselines:
        others, left_out = baselines(table.metric == "lave", table.granular, arguments.clip)
    with open_metric(arguments.metric or table.metric, arguments) as metric:
        judged = {one.__name__: judge_records(records, one) for one in (metric.reward, *others)}
        main = metric.reward.__name__
    rows = [asdict(row) for row in fill_table(table, records, judged)]
    tests = answer_tests(records, judged, main) if arguments.table == "lave" else []
    numbers = {
        "table": arguments.table,
        "paper": table.paper,
        "file": str(arguments.file),
        "format": {name: getattr(columns, name) for name in ("name", "source", "status", "note")},
        "records": len(records),
        "metric": metric.settings,
        "rows": rows,
        "tests": [asdict(test) for test in tests],
        "unscored": unscored(judged),
        "left_out": left_out,
    }
    return defined(numbers), tables_of(numbers)


def tables_of(numbers: Mapping[str, Any]) -> list[Table]:
    """Returns the measures, LAVE's tests, and what a reader should know."""
    settings = numbers["metric"]
    options = " ".join(f"{key}={value}" for key, value in settings["options"].items()) or "its own defaults"
    read = f", read by {settings['parsed_by']}" if settings["parsed_by"] else ""
    paper = f" ({numbers['paper']})" if numbers["paper"] else ""
    title = f"{numbers['table']}{paper}: {settings['reward']} with {settings['judge']}, {options}{read}"
    tables = [measure_table(numbers["rows"], escape(title))]
    if numbers["tests"]:
        tables.append(test_table(numbers["tests"]))
    notes = Table(title="Notes", show_header=False)
    form = numbers["format"]
    for sentence in (f"{form['name']}: {form['status']}.", form["note"], *numbers["unscored"], *numbers["left_out"]):
        if sentence:
            notes.add_row(escape(sentence))
    return [*tables, notes]


def measure_table(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    table = table_with(title, ["part", "measure", "metric"], ["value", "95 %", "n", "without a score"])
    for row in rows:
        for name, found in row["metrics"].items():
            numbers = (number(found["value"]), interval(**found["interval"]), str(found["n"]), str(found["failed"]))
            table.add_row(escape(row["slice"]), row["measure"], name, *numbers)
    return table


def test_table(tests: Sequence[Mapping[str, Any]]) -> Table:
    """LAVE's comparison of correlations (section 5.3)."""
    resamples = tests[0]["spearman"]["resamples"]
    title = f"Spearman, {tests[0]['metric']} less another, {resamples} resamples of questions"
    table = table_with(title, ["other"], ["difference", "95 %", "p of the paper's t-test", "n"])
    for test in tests:
        found = test["spearman"]
        bounds = interval(**found["interval"]) if found["interval"] else NONE
        p = NONE if found["p"] != found["p"] else f"{found['p']:.2g}"
        table.add_row(test["other"], f"{found['difference']:+.3f}", bounds, p, str(test["n"]))
    return table
