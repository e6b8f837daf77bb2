"""Reads the JSON list in a judge's answer, even with prose around the list.

    read_list('Here it is:\\n```json\\n["a", "b"]\\n```')      # ["a", "b"]
    read_list('["a", "b", "c')                               # ["a", "b"]: the token limit cut it
    without_list_signs('A cat. "[]"')                        # "A cat. '()'"

The texts in a judge's prompt have no brackets (`without_list_signs`). So a list in the judge's
answer is the judge's own list, even if the judge repeats a completion.
"""

import re
from typing import Any

from pydantic_core import from_json

from spanreward.rewards.files.json_lines import checked_encodable
from spanreward.rewards.files.yaml_file import read_yaml

MOST_ENTRIES = 12  # entries that are read; the prompts ask for no more
MOST_CHARACTERS = 20_000  # characters that are read; a judge writes about 4,000 at most
# a list begins so; [1] and [Text ends] do not
LIST_START = re.compile(r"""\[\s*(?:[]{"'\u201c]|\Z)""")
WORD_BEHIND = re.compile(r"[^\W_]+")
_WITHOUT_LIST_SIGNS = str.maketrans('"\\[]{}`', "'/()()'")


def without_list_signs(text: str) -> str:
    """Returns the text, of the same length, without the signs that a JSON list has.

    Round brackets replace square and curly brackets. Other signs replace double quotes, backslashes
    and backquotes, which a judge would have to escape in a list.
    """
    return text.translate(_WITHOUT_LIST_SIGNS)


def read_list(answer: str) -> list[Any] | None:
    """Returns the first MOST_ENTRIES entries of the list in a judge's answer: ["a", "b"] for
    `Here: ["a", "b"]`.

    Returns None if the answer has no list or several lists. An empty list counts only if no word
    follows the list. A list that the token limit cut is read without its last entry. A list with
    faults of JSON, such as single quotes, is read as YAML.
    """
    _, _, behind_reasoning = answer[:MOST_CHARACTERS].rpartition("</think>")
    opening = LIST_START.search(behind_reasoning)
    if opening is None:
        return None
    begun = behind_reasoning[opening.start() :]
    end = begun.rfind("]") + 1
    entries = _entries_of(begun, end)
    if entries is None:
        return None
    # in "[] is what I would write if ..." the judge gives no list
    if not entries and WORD_BEHIND.search(begun[end:]):
        return None
    return entries[:MOST_ENTRIES]


def _entries_of(begun: str, end: int) -> list[Any] | None:
    """Returns the entries of the list at the start of a text, None if the text has no single list.

    begun: the text from the "[" of the list on. end: the offset behind the last "]".
    """
    written = begun[:end]
    try:
        return from_json(written)
    except ValueError as error:
        breaks_off = str(error).startswith("EOF ")
    try:
        if breaks_off:
            # the last entry may be incomplete
            return from_json(begun, allow_partial="trailing-strings")[:-1] or None
        read = {"list": read_yaml(written, "it")}
        return checked_encodable(read, "it")["list"]
    except ValueError:
        return None  # the text is neither JSON nor YAML
