"""The command `spanreward`, its subcommands, and the file behind --json. `python -m spanreward` is
the same.

    spanreward --help
    spanreward score posh --judge match --input rows.jsonl --output verdicts.jsonl

On several processes a recipe is launched: accelerate launch -m spanreward train RECIPE
"""

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from importlib import import_module
from importlib.metadata import version
from typing import Any

from spanreward.rewards.base.needs import lacking
from spanreward.rewards.base.terminal import Terminal, guard_logs, leave, leave_interrupted
from spanreward.rewards.files.home import expand_arguments
from spanreward.rewards.files.outputs import write_json
from spanreward.training.commands.completion import ASKED_BY_THE_SHELL, complete
from spanreward.training.commands.metric_options import add_flags, read_arguments
from spanreward.training.commands.standard_streams import writes_to_output

# Each command: its module in spanreward.training, and what it is for. What is experimental is named
# here and nowhere else in the core.
COMMANDS = {
    "score": ("commands.score", "score the completions of a file with a metric"),
    "recipes": (
        "commands.recipes",
        "list the recipes and launch configurations, and copy one to start from",
    ),
    "doctor": ("commands.doctor", "check this machine, a judge and a recipe before training"),
    "train": (
        "commands.train",
        "train a policy by SFT, GRPO or DAPO as a recipe says (needs the extra train)",
    ),
    "compare": (
        "commands.compare",
        "compare files of answers, or checkpoints (which need the extra train), with error bars",
    ),
    "criteria": (
        "experimental.criteria_command",
        "let a judge write the criteria of a data set's rows, to check and to edit",
    ),
    "judge": (
        "experimental.judge_command",
        "train a judge that reads each text once (needs the extra train)",
    ),
    "serve": (
        "commands.serve",
        "serve a metric over HTTP, for RemoteReward and others (needs the extra serve)",
    ),
    "labels": (
        "commands.labels",
        "say from labelled completions whether to train on a metric's spans",
    ),
}

CLOSED_PIPE_EXIT_CODE = 128 + 13  # that of a program which SIGPIPE ends
MIN_TABLE_COLUMNS = 140  # of characters


def main() -> None:
    if ASKED_BY_THE_SHELL in os.environ:
        complete(COMMANDS)  # does not return
    expand_arguments()
    about = "Published vision-language judge metrics as TRL rewards, with token-level credit."
    purposes = {}
    for name, (_, purpose) in COMMANDS.items():
        purposes[name] = purpose
    command = choose_command("spanreward", about, purposes)
    guard_logs()
    try:
        run_command(command)
        sys.stdout.flush()  # here, where a closed pipe is still caught
    except (ImportError, RuntimeError) as error:
        # of an extra that is not installed
        missing = lacking(f"spanreward {command}", error)
        if missing:
            leave(missing)
        raise
    except BrokenPipeError:
        # the program behind the pipe, such as `head`, has read enough; what is still buffered must
        # not be written when the interpreter ends
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        sys.exit(CLOSED_PIPE_EXIT_CODE)
    except KeyboardInterrupt:
        leave_interrupted(f"spanreward {command}: interrupted.")


def run_command(name: str) -> None:
    """Runs the command of this name with the words in sys.argv. Its tables go to standard error
    where its numbers or lines go to standard output.
    """
    tables: AbstractContextManager[object] = nullcontext()
    if writes_to_output(sys.argv):
        tables = redirect_stdout(sys.stderr)
    # the module of this command alone, as others need extras
    module, _ = COMMANDS[name]
    with tables:
        import_module(f"spanreward.training.{module}").main()


def choose_command(prog: str, about: str | None, purposes: Mapping[str, str]) -> str:
    """Returns the command on the command line, and leaves the words after it in sys.argv. Ends the
    process where there is none, after the help.

    prog: what the usage begins with. about: the help's first lines. purposes: of each command, for
    the help.
    """
    width = max(map(len, purposes))
    lines = []
    for name, purpose in purposes.items():
        lines.append(f"  {name.ljust(width)}  {purpose}")
    listed = "\n".join(lines)
    epilog = f"commands:\n{listed}\n\n`{prog} COMMAND --help` explains each."
    parser = argparse.ArgumentParser(
        prog,
        description=about,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"spanreward {version('spanreward')}"
    )
    parser.add_argument("command", choices=purposes, metavar="COMMAND", help="one of those below")
    if not sys.argv[1:]:
        parser.print_help()
        sys.exit(0)
    # the command's own parser reads the rest, under a name that its messages begin with
    command: str = parser.parse_args(sys.argv[1:2]).command
    sys.argv = [f"{prog} {command}", *sys.argv[2:]]
    return command


def run_subcommand(prog: str, about: str | None, modules: Mapping[str, Any]) -> None:
    """Runs the subcommand on the command line: prints its tables and, with --json PATH, writes its
    numbers.

    prog, about: as for `choose_command`. modules: by the subcommand's name; each has HELP,
    DESCRIPTION, `add_arguments(parser)`, and `measure(arguments)`, which returns both.
    """
    purposes = {name: module.HELP for name, module in modules.items()}
    chosen = choose_command(prog, about, purposes)
    module = modules[chosen]
    command = argparse.ArgumentParser(
        f"{prog} {chosen}",
        description=module.DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(command)
    add_flags(command, "json")
    arguments = read_arguments(command)
    try:
        numbers, tables = module.measure(arguments)
        write_json(arguments.json, numbers)
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        # RuntimeError: a judge without an answer
        leave(f"{prog}: {error}")
    for table in tables:
        # narrower ones break the words of cells
        width = max(Terminal().width, MIN_TABLE_COLUMNS)
        Terminal(width=width, markup=False, emoji=False).print(table)


def without_nan(numbers: Any) -> Any:
    """Returns the same with None for nan, wherever it stands: JSON has no nan."""
    if isinstance(numbers, dict):
        return {name: without_nan(value) for name, value in numbers.items()}
    if isinstance(numbers, (list, tuple)):
        return [without_nan(value) for value in numbers]
    is_nan = numbers != numbers  # true of nan alone
    return None if is_nan else numbers
