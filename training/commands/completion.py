"""What the shell's TAB offers after `spanreward`: commands, flags, metrics, judges, recipes, files.

    eval "$(register-python-argcomplete spanreward)"     # in ~/.bashrc or ~/.zshrc

argcomplete asks by running the command with a variable of the environment. Only the module of the
command on the line is imported, so that an answer takes a moment.
"""

import argparse
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

ASKED_BY_THE_SHELL = "_ARGCOMPLETE"
COMMANDS_OF_COMMANDS = ("criteria", "judge", "labels")  # commands with commands of their own
METRIC_ARGUMENTS = ("reward", "metric")  # the arguments that name one


def complete(commands: Mapping[str, tuple[str, str]]) -> None:
    """Answers the shell and ends the process. commands: COMMANDS of main.py."""
    import argcomplete

    parser = argparse.ArgumentParser("spanreward")
    choices = parser.add_subparsers()
    # the shell puts the line as it stands into the environment
    words = os.environ.get("COMP_LINE", "").split()
    for name, (module_name, purpose) in commands.items():
        command = choices.add_parser(name, help=purpose)
        # the other commands are offered by name, and none of their modules is imported
        if name in words[1:2]:
            module = import_module(f"spanreward.training.{module_name}")
            add_command(command, name, module)
    argcomplete.autocomplete(parser, always_complete_options="long")


def add_command(command: argparse.ArgumentParser, name: str, module: Any) -> None:
    """Adds the arguments of a command, or its ways with theirs, and what they may be."""
    if name not in COMMANDS_OF_COMMANDS:
        module.add_arguments(command)
        add_values(command)
        return
    # `spanreward labels spans`
    choices = command.add_subparsers()
    for way_name, way in module.ways().items():
        parser = choices.add_parser(way_name, help=way.HELP)
        way.add_arguments(parser)
        add_values(parser)


def add_values(parser: argparse.ArgumentParser) -> None:
    """Gives arguments what may stand for them, and leaves files to the others."""
    from argcomplete.completers import ChoicesCompleter, FilesCompleter, SuppressCompleter

    from spanreward.rewards.judges.by_name import KINDS
    from spanreward.rewards.metric_names import NAMES
    from spanreward.training.commands.recipes import packaged_files

    judges = []
    for kind, (_, model) in KINDS.items():
        # a kind with a model is written KIND:MODEL
        judges.append(f"{kind}:" if model else kind)
    for action in parser._actions:
        values: Any = FilesCompleter()
        if action.dest in METRIC_ARGUMENTS:
            values = ChoicesCompleter(dict.fromkeys(NAMES, ""))
        elif action.dest == "judge":
            values = ChoicesCompleter(dict.fromkeys(judges, ""))
        elif action.dest in ("recipe", "name"):
            values = names_and_files(packaged_files())
        elif action.dest in ("options", "words") or action.type is int:
            # key=value, or a number, of which no list could help
            values = SuppressCompleter()
        # argcomplete offers the choices of an argument that has them
        if action.choices is None:
            action.completer = values  # type: ignore[attr-defined]


def names_and_files(names: list[str]) -> Any:
    """Returns a completer that offers these names, and files of YAML."""
    from argcomplete.completers import FilesCompleter

    paths = FilesCompleter(("yaml", "yml"))

    def values(prefix: str, **_: Any) -> list[str]:
        # argcomplete itself leaves out the names that do not begin with the prefix
        return [*names, *paths(prefix)]

    return values
