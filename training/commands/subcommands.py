"""A command with subcommands. Each is a module with HELP, DESCRIPTION, `add_arguments` and `measure`.

run("spanreward judge", __doc__, {"train": train_it, "label": label_it})
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from spanreward.training.commands.json_file import write_json
from spanreward.training.commands.main import choose


def run(prog: str, about: str | None, modules: Mapping[str, Any]) -> None:
    """Run the subcommand on the command line: print its tables and, with --json PATH, write its numbers."""
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
