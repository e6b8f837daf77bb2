"""`python -m experiments agreement filler`: what the penalty for words that say nothing takes from
people.
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

HELP = "what the penalty for filler takes from people's captions"
DESCRIPTION = "What the penalty for words that say nothing takes from people's own captions."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="the folder that holds the sets' own folders")


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from experiments.agreement.fillers import LOSS, measure_filler

    rows = [asdict(row) for row in measure_filler(arguments.folder)]
    table = Table(
        "set",
        "texts",
        "words",
        f"lose more than {LOSS}",
        "mean share of filler",
        title="Filler in captions",
    )
    for row in rows:
        numbers = (f"{row['words']:.1f}", f"{row['charged']:.2%}", f"{row['mean']:.3%}")
        table.add_row(row["name"], str(row["texts"]), *numbers)
    return rows, [table]
