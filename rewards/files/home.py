"""The home folder in the paths of a recipe or a command line: `~/x`, as shells write it.

    expanded("~/judges/people")             # "/home/me/judges/people"
    expanded("rewards.0.judge=encoder:~/people+match")
    expanded_within({"prompts": "~/prompts.yaml", "top": 20})

transformers expands the home folder, and a shell does so in some words only. So it is expanded
where a recipe and a command line are read, and everything behind sees one path.
"""

import os
import re
import sys
from typing import Any

# Where a path may begin: a word, a value, or what follows a judge's kind, a + or a comma. A
# server's model, behind a #, is no path here.
BEGINNING = re.compile(r"(?:^|(?<=[=:,+\[]))~[\w.-]*(?=/)")


def expanded(text: str) -> str:
    """Returns the text with the home folders of its paths written out."""
    return BEGINNING.sub(_home, text)


def expanded_within(value: Any) -> Any:
    """Returns plain data with the home folders written out in all of its texts."""
    if isinstance(value, str):
        return expanded(value)
    if isinstance(value, dict):
        return {key: expanded_within(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [expanded_within(entry) for entry in value]
    return value


def expand_arguments() -> None:
    """Writes the home folders out in the words of this process's command line."""
    sys.argv = [expanded(word) for word in sys.argv]


def _home(match: re.Match[str]) -> str:  # also another user's: "~bob"
    return os.path.expanduser(match.group())
