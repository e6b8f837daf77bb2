"""The command `spanreward`, which runs its subcommands. `python -m spanreward` is the same.

    spanreward --help
    spanreward score posh --judge match --input rows.jsonl --output verdicts.jsonl

A training on several processes is started by accelerate: accelerate launch -m spanreward train
RECIPE
"""

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from importlib import import_module
from importlib.metadata import version
from typing import Any

from spanreward.rewards.base.needs import missing_package_sentence
from spanreward.rewards.base.terminal import (
    Terminal,
    exit_with_message,
    guard_logs,
    leave_interrupted,
)
from spanreward.rewards.files.home import expand_arguments
from spanreward.rewards.files.outputs import write_json
from spanreward.training.commands.completion import ASKED_BY_THE_SHELL, print_completions
from spanreward.training.commands.metric_options import add_flags, read_arguments
from spanreward.training.commands.standard_streams import writes_to_output

# {command: (its module in spanreward.training, its purpose for the help)}. No other module outside
# of training/experimental names an experimental module.
COMMAND_MODULES = {
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

CLOSED_PIPE_EXIT_CODE = 128 + 13  # the exit code of a program that the signal SIGPIPE ends
MIN_TABLE_COLUMNS = 140  # the least width of a table, in characters


def main() -> None:
    """Runs the command in sys.argv. If the shell asks for completions, prints these instead."""
    if ASKED_BY_THE_SHELL in os.environ:
        print_completions(COMMAND_MODULES)  # does not return
    expand_arguments()
    about = "Published vision-language judge metrics as TRL rewards, with token-level credit."
    purposes = {}
    for name, (_, purpose) in COMMAND_MODULES.items():
        purposes[name] = purpose
    command = choose_command("spanreward", about, purposes)
    guard_logs()
    try:
        run_command(command)
        sys.stdout.flush()  # now, because the `except` below catches an error of a closed pipe
    except (ImportError, RuntimeError) as error:
        # if the package of an extra is missing, name the extra
        missing = missing_package_sentence(f"spanreward {command}", error)
        if missing:
            exit_with_message(missing)
        raise
    except BrokenPipeError:
        # The program behind the pipe, such as `head`, has read enough. At its end, the interpreter
        # would write the rest of the buffer to the closed pipe, and fail.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        sys.exit(CLOSED_PIPE_EXIT_CODE)
    except KeyboardInterrupt:
        leave_interrupted(f"spanreward {command}: interrupted.")


def run_command(name: str) -> None:
    """Runs the command of this name with the words in sys.argv.

    If the words send numbers or rows to standard output (`--json -`), the command's tables are
    printed to standard error.
    """
    tables: AbstractContextManager[object] = nullcontext()
    if writes_to_output(sys.argv):
        tables = redirect_stdout(sys.stderr)
    # import no other command's module, since it may need an extra that is not installed
    module, _ = COMMAND_MODULES[name]
    with tables:
        import_module(f"spanreward.training.{module}").main()


def choose_command(prog: str, about: str | None, purposes: Mapping[str, str]) -> str:
    """Returns the name of the command on the command line, such as "score", and removes the name
    from sys.argv. Without a command, prints the help and ends the process.

    prog: the program's name in the help, such as "spanreward". about: the first lines of the help.
    purposes: {command: its purpose}, for the help.
    """
    # list the commands with their purposes, for the help
    width = max(map(len, purposes))
    lines = []
    for name, purpose in purposes.items():
        lines.append(f"  {name.ljust(width)}  {purpose}")
    listed = "\n".join(lines)
    epilog = f"commands:\n{listed}\n\n`{prog} COMMAND --help` explains each."
    # read the name of the command, the first word behind the program's name
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
    # The parser of the command reads the other words. Its messages begin with sys.argv[0].
    command: str = parser.parse_args(sys.argv[1:2]).command
    sys.argv = [f"{prog} {command}", *sys.argv[2:]]
    return command


def run_subcommand(prog: str, about: str | None, modules: Mapping[str, Any]) -> None:
    """Runs the subcommand on the command line. Prints its tables and, with --json PATH, writes its
    numbers to the file.

    prog: the words before the subcommand, such as "spanreward labels". about: the first lines of
    the help. modules: {subcommand: its module}. Each module has HELP, DESCRIPTION,
    `add_arguments(parser)`, and `measure(arguments)`, which returns (numbers, tables).
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
        exit_with_message(f"{prog}: {error}")
    for table in tables:
        # in a narrower table, words in cells would be broken
        width = max(Terminal().width, MIN_TABLE_COLUMNS)
        Terminal(width=width, markup=False, emoji=False).print(table)


def without_nan(numbers: Any) -> Any:
    """Returns nested lists and dicts with None in place of each nan, because JSON has no nan.
    Tuples become lists.
    """
    if isinstance(numbers, dict):
        return {name: without_nan(value) for name, value in numbers.items()}
    if isinstance(numbers, (list, tuple)):
        return [without_nan(value) for value in numbers]
    is_nan = numbers != numbers  # true of nan alone
    return None if is_nan else numbers
