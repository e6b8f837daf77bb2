"""`python -m experiments agreement marked`: the sets whose words are marked, as rows of `spanreward
labels spans`.
"""

import argparse
from pathlib import Path
from typing import Any

from rich.table import Table

HELP = "write HAT's captions, or long texts changed on purpose, as rows with their mistakes"
DESCRIPTION = """\
Each row has the picture, `completion`, `reference` and `mistakes`. `hat` are the captions in which people flagged
words. `long` are detailed captions in other words, some of them changed (experiments/judging/long_texts.py)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("hat", "long"))
    parser.add_argument("folder", type=Path, help="the folder that holds the sets' own folders")
    parser.add_argument("output", type=Path, metavar="OUTPUT.jsonl")
    parser.add_argument(
        "--each", type=int, default=8, metavar="N", help="long: texts per picture (default 8)"
    )


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from experiments.judging.long_texts import flagged_by_people, long_texts, write

    hat = arguments.what == "hat"
    rows = (
        flagged_by_people(arguments.folder) if hat else long_texts(arguments.folder, arguments.each)
    )
    write(rows, arguments.output)
    numbers = {
        "rows": len(rows),
        "pictures": len({row["image"] for row in rows}),
        "mistakes": sum(len(row["mistakes"]) for row in rows),
        "words a text": round(sum(len(row["completion"].split()) for row in rows) / len(rows), 1),
    }
    table = Table(*numbers, title=str(arguments.output))
    table.add_row(*map(str, numbers.values()))
    return numbers, [table]
