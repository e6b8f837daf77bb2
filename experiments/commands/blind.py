"""Have people compare two sides of a comparison without knowing which is which, and read their
answers.

    python -m experiments blind export outputs/comparison --sides dapo sft --count 50 --output outputs/blind
    python -m experiments blind import answers.json --key outputs/blind.key.json --json people.json

export: writes outputs/blind to hand out. In Label Studio, labelling.xml is the labelling interface
and tasks.json is imported; tasks.jsonl has the same tasks for anything else, to be filled in. Every
pair is there twice, mirrored; a rater who takes the first half of the tasks, or the second, sees no
text twice. outputs/blind.key.json says which side stood first: do not hand it out. import: reads
Label Studio's JSON export or the filled in JSONL. It prints whom people prefer with an interval
over prompts, whether raters agree, which metric of the comparison agrees with them, and its win
rate corrected by them.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.tables import table_with
from spanreward.rewards.comparison.number_text import estimate_text
from spanreward.rewards.files.outputs import write_json


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    export = commands.add_parser("export", help="pairs for people, and the key apart")
    export.add_argument("folder", type=Path, help="output folder of `spanreward compare`")
    export.add_argument(
        "--sides", nargs=2, required=True, metavar="NAME", help="the two sides to compare"
    )
    export.add_argument(
        "--count", type=int, default=50, help="pairs, each shown mirrored (default 50)"
    )
    export.add_argument(
        "--output", type=Path, required=True, help="a new folder; the key is OUTPUT.key.json"
    )
    export.add_argument(
        "--seed", type=int, default=0, help="which pairs are drawn, and their order (default 0)"
    )
    export.add_argument(
        "--texts-only", action="store_true", help="show neither picture nor request nor reference"
    )
    export.set_defaults(run=run_export)
    answers = commands.add_parser("import", help="what people answered")
    answers.add_argument(
        "file", type=Path, help="Label Studio's JSON export, or tasks.jsonl filled in"
    )
    answers.add_argument("--key", type=Path, required=True, help="the key that the export wrote")
    answers.add_argument(
        "--comparison", type=Path, help="where the comparison lies now (default: where it was)"
    )
    answers.add_argument(
        "--json", type=Path, metavar="PATH", help="write the printed numbers there too"
    )
    answers.set_defaults(run=run_import)
    arguments = parser.parse_args()
    try:
        arguments.run(arguments)
    except (ValueError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")


def run_export(arguments: argparse.Namespace) -> None:
    from experiments.blind.export import export, key_of

    sides = (arguments.sides[0], arguments.sides[1])
    key = export(
        arguments.folder,
        sides,
        arguments.count,
        arguments.output,
        arguments.seed,
        texts_only=arguments.texts_only,
    )
    tasks = len(key["tasks"])
    print(f"{tasks} tasks, {tasks // 2} pairs mirrored: {arguments.output}")
    if tasks < 2 * arguments.count:
        print(f"There are no {arguments.count} pairs with two different texts.")
    print(f"The key, not to be handed out: {key_of(arguments.output)}")


def run_import(arguments: argparse.Namespace) -> None:
    from experiments.blind.answers import read_answers, read_key
    from experiments.blind.comparison import read_answered
    from experiments.blind.results import measure

    key = read_key(arguments.key)
    answers, told = read_answers(arguments.file, key)
    sides = (key["sides"][0], key["sides"][1])
    answered = read_answered(arguments.comparison or Path(key["comparison"]), sides)
    results = {"sides": list(sides), **measure(answers, answered), "notes": told}
    write_json(arguments.json, results)
    console = Console(width=max(Console().width, 130))
    for table in (people_table(results), metric_table(results)):
        console.print(table)
    for sentence in told:
        console.print(sentence, markup=False, highlight=False)


def people_table(results: dict[str, Any]) -> Table:
    one, other = map(escape, results["sides"])
    title = f"People, {one} against {other}: mean preference from -2 to 2 [95 % over prompts]"
    counts = ("prompts", "answers", "raters")
    shares = ("alpha", "orders agree", "first slot")
    table = table_with(title, ["question"], ["preference", "win rate", *counts, *shares])
    for name, row in results["questions"].items():
        means = [
            shown(row["preference"], row["interval"]),
            shown(row["win_rate"], row["win_rate_interval"]),
        ]
        agreement = [shown(row[key.replace(" ", "_")]) for key in shares]
        table.add_row(name, *means, *(str(row[key]) for key in counts), *agreement)
    return table


def metric_table(results: dict[str, Any]) -> Table:
    table = Table(
        title="Metrics and people: the same outcome with ties / without / Spearman, and win rates "
        "overall"
    )
    questions = list(results["questions"])
    for column in ("metric", *questions, "win rate", "corrected by people", "trust"):
        table.add_column(column, justify="left" if column == "metric" else "right", overflow="fold")
    for name, row in results["metrics"].items():
        cells = []
        for question in questions:
            agreement = row["agreement"][question]
            cells.append(
                " / ".join(
                    shown(agreement[key]) for key in ("with_ties", "without_ties", "spearman")
                )
            )
        rates = (
            shown(row["win_rate"], row["interval"]),
            shown(row["corrected"], row["corrected_interval"]),
        )
        table.add_row(escape(name), *cells, *rates, shown(row["trust"]))
    return table


def shown(value: float | None, interval: dict[str, float] | None = None) -> str:
    low, high = (interval["low"], interval["high"]) if interval else (None, None)
    return estimate_text(value, low, high, digits=2)
