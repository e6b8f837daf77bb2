"""`python -m experiments agreement graphs`: our scene graphs against those that people drew."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from experiments.tables import table_with
from spanreward.rewards.comparison.number_text import number_text as shown

HELP = "scene graphs against people's, no judge needed"
DESCRIPTION = """Our scene graphs, default and published, against people's: DiscoSG's in a folder, or the ten texts of
PoSh's table 8 in its gold.json. With --rules, what each rule adds on DiscoSG."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, help="the folder that holds the sets' own folders, or gold.json"
    )
    parser.add_argument(
        "--pipeline", help="the spaCy pipeline, for gold.json (default: the best one installed)"
    )
    parser.add_argument(
        "--coref", default="rules", help="coreference, for gold.json: rules, none or maverick"
    )
    parser.add_argument(
        "--rules", action="store_true", help="what each rule adds alone, and what its removal costs"
    )


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from experiments.agreement.gold_graphs import measure_gold, read_gold
    from experiments.agreement.graphs import measure_graphs, measure_rules, read_drawn

    gold = arguments.folder.suffix == ".json"
    if (gold and arguments.rules) or (
        not gold and (arguments.pipeline or arguments.coref != "rules")
    ):
        raise ValueError(
            "--rules is for DiscoSG's folder, --pipeline and --coref are for gold.json."
        )
    if gold:
        found = measure_gold(read_gold(arguments.folder), arguments.pipeline, arguments.coref)
        rows = [asdict(row) for row in found]
        return rows, [gold_table(rows)]
    texts = read_drawn(arguments.folder)
    graphs = [asdict(row) for row in measure_graphs(texts)]
    if not arguments.rules:
        return graphs, [graph_table(graphs)]
    rules = [asdict(row) for row in measure_rules(texts)]
    return {"graphs": graphs, "rules": rules}, [graph_table(graphs), rule_table(rules)]


def graph_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Scene graphs against people's (DiscoSG), mean over captions")
    for column in ("mode", "split", "match"):
        table.add_column(column)
    for column in ("precision", "recall", "F1", "95 %", "triples", "people's", "n"):
        table.add_column(column, justify="right")
    for row in rows:
        interval = f"{row['interval']['low']:.3f} - {row['interval']['high']:.3f}"
        scores = (shown(row["precision"]), shown(row["recall"]), shown(row["f1"]), interval)
        sizes = (f"{row['triples']:.1f}", f"{row['people']:.1f}", str(row["n"]))
        table.add_row(row["mode"], row["split"], row["match"], *scores, *sizes)
    return table


def gold_table(rows: list[dict[str, Any]]) -> Table:
    names = ("precision", "recall", "f1", "coref", "head", "tail")
    table = table_with(
        "Scene graphs against PoSh's gold graphs (table 8), means over texts", ["mode", "of"], names
    )
    for row in rows:
        table.add_row(row["mode"], row["kind"], *(shown(row[name]) for name in names))
    return table


def rule_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(
        title="Change in exact matching when a rule is added to published, and when it is removed "
        "from default"
    )
    for column in ("rule", "split"):
        table.add_column(column)
    for column in ("alone: F1", "95 %", "removed: F1", "95 %", "precision", "recall", "n"):
        table.add_column(column, justify="right")
    for row in rows:
        cells = []
        for effect in ("alone", "removed"):
            interval = row[f"{effect}_interval"]
            cells += [f"{row[effect]:+.4f}", f"{interval['low']:+.4f} .. {interval['high']:+.4f}"]
        cells += [f"{row['removed_precision']:+.4f}", f"{row['removed_recall']:+.4f}"]
        table.add_row(row["rule"], row["split"], *cells, str(row["n"]))
    return table
