"""Completion of `spanreward` command lines by the shell's TAB key: commands, flags, metrics,
judges, recipes and files.

    eval "$(register-python-argcomplete spanreward)"     # in ~/.bashrc or ~/.zshrc

At each TAB, the shell runs `spanreward` with the environment variable _ARGCOMPLETE. To answer
quickly, `print_completions` imports only the module of the command that the user has typed.
"""

import argparse
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

ASKED_BY_THE_SHELL = "_ARGCOMPLETE"  # the environment variable that the shell sets
COMMANDS_OF_COMMANDS = ("criteria", "judge", "labels")  # commands with subcommands
METRIC_ARGUMENTS = ("reward", "metric")  # arguments whose value is the name of a metric


def print_completions(commands: Mapping[str, tuple[str, str]]) -> None:
    """Prints the completions for the shell and ends the process.

    commands: {command: (its module, its purpose)}, COMMAND_MODULES of main.py.
    """
    import argcomplete

    parser = argparse.ArgumentParser("spanreward")
    choices = parser.add_subparsers()
    # COMP_LINE holds the command line that the user has typed so far
    words = os.environ.get("COMP_LINE", "").split()
    for name, (module_name, purpose) in commands.items():
        command = choices.add_parser(name, help=purpose)
        # import only the module of the typed command; the other commands need only their names
        if name in words[1:2]:
            module = import_module(f"spanreward.training.{module_name}")
            add_command(command, name, module)
    argcomplete.autocomplete(parser, always_complete_options="long")


def add_command(command: argparse.ArgumentParser, name: str, module: Any) -> None:
    """Adds the arguments of a command to its parser, with the completions of their values. For a
    command with subcommands, adds the subcommands with their arguments.

    command: the parser. name: the command's name. module: the command's module.
    """
    if name not in COMMANDS_OF_COMMANDS:
        module.add_arguments(command)
        add_values(command)
        return
    # a subcommand such as "spans" of `spanreward labels spans` has a module of its own
    subcommands = command.add_subparsers()
    for subcommand_name, subcommand in module.ways().items():
        parser = subcommands.add_parser(subcommand_name, help=subcommand.HELP)
        subcommand.add_arguments(parser)
        add_values(parser)


def add_values(parser: argparse.ArgumentParser) -> None:
    """Sets the completions of each argument's value: names of metrics, judges or recipes, nothing
    for numbers and key=value, and files for all other arguments.
    """
    from argcomplete.completers import ChoicesCompleter, FilesCompleter, SuppressCompleter

    from spanreward.rewards.judges.by_name import JUDGE_KINDS
    from spanreward.rewards.metric_names import METRIC_NAMES
    from spanreward.training.commands.recipes import packaged_files

    judges = []
    for kind, (_, model) in JUDGE_KINDS.items():
        # a judge with a model is written KIND:MODEL, so the colon is completed too
        judges.append(f"{kind}:" if model else kind)
    for action in parser._actions:
        values: Any = FilesCompleter()
        if action.dest in METRIC_ARGUMENTS:
            values = ChoicesCompleter(dict.fromkeys(METRIC_NAMES, ""))
        elif action.dest == "judge":
            values = ChoicesCompleter(dict.fromkeys(judges, ""))
        elif action.dest in ("recipe", "name"):
            values = names_and_files(packaged_files())
        elif action.dest in ("options", "words") or action.type is int:
            # key=value or a number: a list of values would not help
            values = SuppressCompleter()
        # if an argument has `choices`, argcomplete itself offers these
        if action.choices is None:
            action.completer = values  # type: ignore[attr-defined]


def names_and_files(names: list[str]) -> Any:
    """Returns a completer that offers these names and YAML files."""
    from argcomplete.completers import FilesCompleter

    paths = FilesCompleter(("yaml", "yml"))

    def values(prefix: str, **_: Any) -> list[str]:
        # argcomplete itself drops the names that do not begin with the prefix
        return [*names, *paths(prefix)]

    return values
