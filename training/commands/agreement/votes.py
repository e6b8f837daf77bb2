"""`spanreward agreement votes`: win rates with intervals over prompts (docs/votes.md)."""

import argparse
from pathlib import Path
from typing import Any

from rich.table import Table

HELP = "win rates from the votes of a judge or of people on file"
DESCRIPTION = "Win rates with intervals over prompts from votes on file (docs/votes.md)."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="a folder with votes.jsonl, laid out as docs/votes.md says")


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from training.commands import votes

    return votes.measure(arguments)
