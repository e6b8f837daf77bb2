"""How well a judge's scores and spans agree with people, beside a bag of words on the same records.

python scripts/agreement_people.py ../shared/data --judge match [--sets hat_aloha ...] [--json PATH]
python scripts/agreement_people.py ../shared/data --graphs          # our scene graphs against people's
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that holds the sets' own folders")
    parser.add_argument("--judge", default="match", help="who answers PoSh's questions: match (words alone)")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="the sets of judgments to measure (default: all)")
    parser.add_argument("--graphs", action="store_true", help="compare scene graphs with people's, no judge needed")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the printed numbers there too")
    arguments = parser.parse_args()

    from rewards.agreement.graphs import measure_graphs
    from rewards.agreement.people import SETS, measure_people
    from rewards.judges import load_judge
    from rewards.posh import PoshReward

    unknown = [name for name in arguments.sets or () if name not in SETS]
    if unknown:
        sys.exit(f"unknown set {unknown[0]!r}: choose from {', '.join(SETS)}.")
    try:
        if arguments.graphs:
            rows = [asdict(row) for row in measure_graphs(arguments.data)]
            table = graph_table(rows)
        else:
            reward = PoshReward(load_judge(arguments.judge))
            rows = [asdict(row) for row in measure_people(arguments.data, reward, arguments.sets or list(SETS))]
            table = people_table(rows, arguments.judge)
    except (FileNotFoundError, ValueError) as error:
        sys.exit(str(error))
    Console(width=max(Console().width, 140)).print(table)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


def people_table(rows: list[dict[str, Any]], judge: str) -> Table:
    table = Table(title=f"Agreement with people, judge {judge}")
    for column in ("set", "measure"):
        table.add_column(column)
    for column in ("ours", "95 %", "floor", "target", "n", "note"):
        table.add_column(column, justify="right")
    for row in rows:
        interval = f"{row['interval']['low']:.3f} - {row['interval']['high']:.3f}"
        values = (shown(row["ours"]), interval, shown(row["floor"]), shown(row["target"]), str(row["n"]), row["note"])
        table.add_row(row["set"], row["measure"], *values)
    return table


def graph_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Scene graphs against people's (DiscoSG), mean over captions")
    for column in ("mode", "match"):
        table.add_column(column)
    for column in ("precision", "recall", "F1", "95 %", "triples", "people's", "n"):
        table.add_column(column, justify="right")
    for row in rows:
        interval = f"{row['interval']['low']:.3f} - {row['interval']['high']:.3f}"
        scores = (shown(row["precision"]), shown(row["recall"]), shown(row["f1"]), interval)
        table.add_row(
            row["mode"], row["match"], *scores, f"{row['triples']:.1f}", f"{row['people']:.1f}", str(row["n"])
        )
    return table


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
