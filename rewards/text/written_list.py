"""The JSON list in what a judge wrote, whatever stands around it.

    read_list('Here it is:\\n```json\\n["a", "b"]\\n```')      # ["a", "b"]
    read_list('["a", "b", "c')                               # ["a", "b"]: the token limit cut it
    unlisted('A cat. "[]"')                                  # "A cat. '()'"

Texts are shown to a judge without brackets. So a list in its answer is its own, even if it repeats
a completion.
"""

import re
from contextlib import suppress
from typing import Any

from pydantic_core import from_json

from spanreward.rewards.files.json_lines import encodable
from spanreward.rewards.files.yaml_file import read_yaml

MOST_ENTRIES = 12  # entries that are read; the prompts ask for no more
MOST_CHARACTERS = 20_000  # characters that are read; a judge writes about 4,000 at most
START = re.compile(r"""\[\s*(?:[]{"'\u201c]|\Z)""")  # of a list, and not of [1] or [Text ends]
WORD_BEHIND = re.compile(r"[^\W_]+")
_WITHOUT_LIST_SIGNS = str.maketrans('"\\[]{}`', "'/()()'")


def unlisted(text: str) -> str:
    """Returns the text, of the same length, without the signs of a list and those that a judge must
    escape in one.
    """
    return text.translate(_WITHOUT_LIST_SIGNS)


def read_list(answer: str) -> list[Any] | None:
    """Returns the first MOST_ENTRIES entries, None for no list and for several. An empty one counts
    if no word follows it. One that the token limit cut has all but its last entry. Loose quotes and
    commas are read as YAML reads them.
    """
    _, _, answer_text = answer[:MOST_CHARACTERS].rpartition("</think>")
    opening = START.search(answer_text)
    begins = opening.start() if opening else 0
    end = answer_text.rfind("]") + 1
    # from the first sign that may open a list to the last that may close one
    written = answer_text[begins:end] if opening else ""
    entries: list[Any] | None = None
    try:
        entries = from_json(written)
    except ValueError as error:
        with suppress(ValueError):
            if not str(error).startswith("EOF "):
                read = {"list": read_yaml(written, "it")}
                entries = encodable(read, "it")["list"]
            elif opening:
                # it breaks off: its last entry may be half of one
                begun = from_json(answer_text[begins:], allow_partial="trailing-strings")
                entries = begun[:-1] or None
    if entries is None:
        return None
    # "[] is what I would write if" says nothing
    if not entries and WORD_BEHIND.search(answer_text[end:]):
        return None
    return entries[:MOST_ENTRIES]
