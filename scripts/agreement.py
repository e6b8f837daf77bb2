"""How far a judge agrees with the truth, or with people.

    python scripts/agreement.py spans outputs/quickstart --models base sft --count 500

spans: reads the results.json and completions.jsonl that scripts/compare.py wrote about Scenes, where the truth is
known, and answers two questions. Are the words that the judge calls wrong (spans with a score below 0.5) the wrong
ones? And does the credit of a component have the sign of what its words truly add to the description's F1?
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    spans = commands.add_parser(
        "spans",
        help="wrong words and credit against the truth of Scenes",
        description="Words are runs of letters and digits. `precision` is the share of the words the judge calls wrong "
        "that are wrong, `recall` the share of the wrong words it finds; `claims` are the words that state a fact of "
        "the picture (not the `in` of a place); per kind, among the words that spans of that kind touch. The effect of "
        "a component is the true F1 of the text less that of the text without its first span; `equal signs` is over "
        "the components where neither credit nor effect is 0, `spearman` over all with credit.",
    )
    spans.add_argument("folder", type=Path, help="output folder of scripts/compare.py")
    spans.add_argument("--models", nargs="+", default=[], help="which of the compared models (default all)")
    spans.add_argument("--count", type=int, default=500, help="completions, spread over models and seeds (default 500)")
    spans.add_argument("--json", type=Path, metavar="PATH", help="write the printed numbers there too")
    arguments = parser.parse_args()

    from training.span_agreement import read_completions, summarise

    try:
        if arguments.count < 1:
            raise ValueError(f"--count must be 1 or more, got {arguments.count}.")
        completions, skipped = read_completions(arguments.folder, arguments.models, arguments.count)
        agreement = {**summarise(completions), "skipped": skipped}
        if arguments.json:
            arguments.json.parent.mkdir(parents=True, exist_ok=True)
            arguments.json.write_text(json.dumps(agreement, indent=2) + "\n")
    except (ValueError, OSError) as error:
        sys.exit(f"agreement.py: {error}")
    console = Console()
    counted = f"{agreement['completions']} completions" + (f", {skipped} without a verdict left out" if skipped else "")
    console.print(table_of(f"Wrong words, judge and referee: {counted}", agreement["words"]))
    console.print(table_of("Credit and true effect on F1, per component", agreement["credit"]))


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


def cell(value: float | int | None) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
