"""The parsers of all commands, caught before they read a command line."""

import argparse
from typing import Any

import pytest

from tests.support.command import spanreward

WORDS = {  # every command and subcommand, and what it needs to be given
    "score": ("score", "posh"),
    "recipes": ("recipes",),
    "doctor": ("doctor",),
    "train": ("train", "recipes/quickstart/scenes-dapo.yaml"),
    "compare": ("compare",),
    "judge train": ("judge", "train", "recipes/judges/people.yaml"),
    "judge label": ("judge", "label", "rows.jsonl"),
    "labels spans": ("labels", "spans", "rows.jsonl"),
    "criteria write": ("criteria", "write", "rows.jsonl"),
    "serve": ("serve", "posh"),
}
CHOOSING = ("spanreward", "spanreward judge", "spanreward labels", "spanreward criteria")


class Caught(Exception):
    """Holds the parser of a command, which then ends."""


def catch_parsers(monkeypatch: pytest.MonkeyPatch) -> dict[str, argparse.ArgumentParser]:
    """Returns the parser of each command of WORDS."""
    parsers = {}
    parse_args = argparse.ArgumentParser.parse_args

    def caught(self: argparse.ArgumentParser, *given: Any, **more: Any) -> Any:
        if self.prog in CHOOSING:
            return parse_args(self, *given, **more)  # which only chooses the command
        raise Caught(self)

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", caught)
    monkeypatch.setattr(argparse.ArgumentParser, "parse_intermixed_args", caught)
    for name, words in WORDS.items():
        with pytest.raises(Caught) as raised:
            spanreward(*words)
        parsers[name] = raised.value.args[0]
    return parsers
