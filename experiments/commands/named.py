"""Words of a command line such as NAME=FOLDER."""

import argparse
from collections.abc import Sequence


def named(parser: argparse.ArgumentParser, words: Sequence[str], form: str) -> dict[str, str]:
    """Returns {NAME: FOLDER}. form: what a word should have been, for the error that ends the
    command.
    """
    for word in words:
        if "=" not in word:
            parser.error(f"{form}, got {word!r}")
    return {name: value for name, _, value in (word.partition("=") for word in words)}
