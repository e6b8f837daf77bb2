"""A command with subcommands, and the file behind --json.

run("spanreward judge", __doc__, {"train": train_it, "label": label_it})
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from spanreward.training.commands.main import choose


def run(prog: str, about: str | None, modules: Mapping[str, Any]) -> None:
    """Run the subcommand on the command line: print its tables and, with --json PATH, write its numbers.

    modules: each has HELP, DESCRIPTION, `add_arguments(parser)`, and `measure(arguments)`, which returns both.
    """
    name = choose(prog, about, {name: module.HELP for name, module in modules.items()})
    form = argparse.RawDescriptionHelpFormatter
    command = argparse.ArgumentParser(f"{prog} {name}", description=modules[name].DESCRIPTION, formatter_class=form)
    modules[name].add_arguments(command)
    command.add_argument("--json", type=Path, metavar="PATH", help="write the printed numbers there too")
    arguments = command.parse_intermixed_args()
    try:
        numbers, tables = modules[name].measure(arguments)
        write_json(arguments.json, numbers)
    except (ValueError, OSError, ImportError, RuntimeError) as error:  # RuntimeError: a judge without an answer
        sys.exit(f"{prog}: {error}")
    for shown in tables:
        Console(width=max(Console().width, 140)).print(shown)


def defined(numbers: Any) -> Any:
    """Returns the same with None for nan, wherever it stands: JSON has no nan."""
    if isinstance(numbers, dict):
        return {name: defined(value) for name, value in numbers.items()}
    if isinstance(numbers, (list, tuple)):
        return [defined(value) for value in numbers]
    return None if numbers != numbers else numbers


def write_json(path: Path | None, numbers: Any) -> None:
    """Write the numbers there, where a path is given, and make its folder."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(numbers, indent=2) + "\n")
