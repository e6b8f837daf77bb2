"""Reads the list that a judge wrote: from the first bracket to the text's end, so one that it only quotes is not read.

read_list('```json\\n["It is red."]\\n```')       # ["It is red."]
"""

from typing import Any

from pydantic_core import from_json


def read_list(answer: str) -> list[Any] | None:
    """Returns the entries, None for no list. A list that the token limit cut has all entries but the last, if any."""
    written = answer[max(answer.find("["), 0) :].rstrip().removesuffix("```")
    try:
        found = from_json(written)
        return found if isinstance(found, list) else None
    except ValueError as error:
        cut = written.startswith("[") and str(error).startswith("EOF ")
        return (from_json(written, allow_partial="trailing-strings")[:-1] or None) if cut else None
