"""Writes out the home folder in the paths of a recipe or a command line: `~/x`, as in shells.

    expand_home("~/judges/people")          # "/home/me/judges/people"
    expand_home("rewards.0.judge=encoder:~/people+match")
    expanded_within({"prompts": "~/prompts.yaml", "top": 20})

A shell expands `~` only at the beginning of a word, and transformers expands `~` by itself. Without
this module, one path would be spelled in two ways. So `~` is expanded when a recipe or a command
line is read, and all later code sees the same path.
"""

import os
import re
import sys
from typing import Any

# Matches the `~` or `~user` at the beginning of a path. A path may begin at the beginning of a word
# or value, and after the kind of a judge (":"), a "+" or a comma. A server's model, after "#", is
# no path.
HOME_PATTERN = re.compile(r"(?:^|(?<=[=:,+\[]))~[\w.-]*(?=/)")


def expand_home(text: str) -> str:
    """Returns the text with the home folders of its paths written out."""
    return HOME_PATTERN.sub(_expanded_match, text)


def expanded_within(value: Any) -> Any:
    """Returns plain data (texts, numbers, dicts, lists) with the home folders of all paths written
    out.
    """
    if isinstance(value, str):
        return expand_home(value)
    if isinstance(value, dict):
        return {key: expanded_within(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [expanded_within(entry) for entry in value]
    return value


def expand_arguments() -> None:
    """Writes out the home folders in the words of this process's command line (sys.argv)."""
    sys.argv = [expand_home(word) for word in sys.argv]


def _expanded_match(match: re.Match[str]) -> str:  # of this user, or of "~bob"
    return os.path.expanduser(match.group())
