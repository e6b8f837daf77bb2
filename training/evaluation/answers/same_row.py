"""Whether a line of a file of answers is about the data's row of this id, by what both ask and
expect.

    differing({"prompt": "<|im_start|>user\\nDescribe.<|im_end|>\\n", ...}, row, "a.jsonl line 1")
    # "", where the row's prompt is "Describe."
    turns("A chat. USER: <image>\\nDescribe. ASSISTANT:")    # ["describe."]

Harnesses write the prompt as the model got it, in its chat template, and one of several references.
Texts are compared as a metric reads them, whatever their case and white space. Turns of the system
say how to answer, and not what is asked.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.fingerprint import fingerprint
from spanreward.rewards.rows.messages import message_text, messages_in
from spanreward.rewards.rows.placeholders import without_placeholders
from spanreward.rewards.rows.sample import row_sample
from spanreward.rewards.text.written import read_text
from spanreward.training.recipe import RecipeError

# the key in completions.jsonl, by which a reader tells that the row is still the same
ROW = "row_fingerprint"
_USER = r"(?P<user>user|human|tool|ipython)"
_ASSISTANT = r"(?P<assistant>assistant|model|bot|gpt)"
_SYSTEM = r"(?P<system>system|developer)"
_SPECIAL = (
    r"<[|\uff5c][^<>\n]{1,40}[|\uff5c]>|<\|?turn\|?>|</?(?:s|think)>|<[be]os>"
    r"|<(?:start|end)_of_\w+>|\[IMG(?:_BREAK|_END)?\]"
)
_TOKEN = re.compile(  # a token that is a role, or is followed by one alone, or any other
    rf"""(?:<[|\uff5c](?=\w+[|\uff5c]>)|<[|\uff5c](?=\w+_start[|\uff5c]>)|(?:{_SPECIAL})\s*)
        (?:{_USER}|{_ASSISTANT}|{_SYSTEM})
        (?:(?:_start)?[|\uff5c]>|\s*:|(?=[^\S\n]*(?:\n|<|\Z)))
    | (?P<inst>\[INST\]|<</SYS>>|\[/SYSTEM_PROMPT\])
    | (?P<after>\[/INST\]|^(?:assistant|answer)\s*:\s*\Z)
    | (?P<before><<SYS>>|\[SYSTEM_PROMPT\])
    | (?P<other>{_SPECIAL})""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_LABEL = re.compile(
    r"""(?:^[#\ \t]*|\#{2,3}\ *|(?<=\s)(?=USER:|ASSISTANT:|HUMAN:|SYSTEM:|[Aa]nswer:\s*\Z))
    (?:(?P<user>user|human|instruction|input|question|q)
    |(?P<assistant>assistant|response|(?:short\ |final\ )?answer|a|gpt|ai)
    |(?P<system>system))\ ?:""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_WORD = re.compile(r"\w+")
_ROLES = {"inst": "user", "after": "assistant", "before": "system"}


def differing(record: Mapping[str, Any], row: Sample, where: str) -> str:
    """Returns the first of prompt, question, reference and ROW that the line has and the row has
    otherwise, or "".
    """
    compared = ("prompt", "question", "reference")
    try:
        line = row_sample({key: record.get(key) for key in compared})
        asked = turns(record.get("prompt") or "")
    except ValueError as error:
        raise RecipeError(f"{where}: {error}.") from None
    if line.prompt and row.prompt and not same_turns(asked, line.prompt, row.prompt):
        return "prompt"
    question = line.question or ""
    if question and row.question and not same_turns(turns(question), question, row.question):
        return "question"
    if line.references and row.references and not has_all(row.references, line.references):
        return "reference"
    mark = record.get(ROW)
    if mark and mark != fingerprint(row):
        return ROW
    return ""


def same_turns(asked: Sequence[str], line: str, row: str) -> bool:
    """Whether a line and a row ask the same. asked: the line's turns; both texts are whole."""
    if same_text(line, row):
        return True
    of_row = turns(row)
    if len(asked) == 1 and same_text(asked[0], row):
        return True
    if len(of_row) == 1 and same_text(of_row[0], line):
        return True
    if len(asked) == len(of_row) and all(map(same_text, asked, of_row)):
        return True
    # a row's messages are one text, with the system's
    return same_text(without_specials(line), row)


def has_all(of_row: Sequence[str], of_line: Sequence[str]) -> bool:
    """Whether the row has all references of the line."""
    return set(map(plain, of_line)) <= set(map(plain, of_row))


def turns(prompt: Any) -> list[str]:
    """Returns what a prompt's turns say, of people and of assistants, without empty ones and those
    of the system: of messages, or of a text that may hold a chat template. A text without one is a
    turn. Raises ValueError for a message without a text.
    """
    messages = messages_in(prompt)
    if not isinstance(messages, list | tuple):
        return turns_in(str(messages))
    texts = []
    for message in messages:
        text = message_text(message)
        if text and message.get("role", message.get("from")) != "system":
            texts.append(without_placeholders(text))
    if len(texts) == 1:
        return turns_in(texts[0])
    return texts


def turns_in(text: str) -> list[str]:
    """Returns the turns of a text. Words such as "User:" count where no special token begins a
    turn and the text ends with the assistant's; else they may be what is asked about.
    """
    marks = list(_TOKEN.finditer(text))
    if "user" not in map(role_of, marks):
        marks = list(_LABEL.finditer(text))
        if not marks or role_of(marks[-1]) != "assistant" or text[marks[-1].end() :].strip():
            return [without_specials(text)]
    found: list[str] = []
    role = ""  # what stands before the first turn tells how to answer
    at = 0
    for mark in marks:
        if role in ("user", "assistant"):
            found.append(text[at : mark.start()])
        role = role_of(mark) or role
        at = mark.end()
    if role in ("user", "assistant"):
        found.append(text[at:])
    return [said for said in map(without_specials, found) if said]


def role_of(mark: re.Match[str]) -> str:
    """Returns whose turn a mark begins, "" where it begins none."""
    kind = mark.lastgroup or ""
    if kind == "other":
        return ""
    return _ROLES.get(kind, kind)


def without_specials(text: str) -> str:
    return _TOKEN.sub(" ", without_placeholders(text)).strip()


def same_text(text: str, other: str) -> bool:
    """Whether two texts have the same words, and are read as the same."""
    if in_one_line(text) == in_one_line(other):
        return True
    words = _WORD.findall(text.casefold())
    return words == _WORD.findall(other.casefold()) and plain(text) == plain(other)


def plain(text: str) -> str:
    return in_one_line(read_text(text).plain) or in_one_line(text)


def in_one_line(text: str) -> str:
    return " ".join(text.casefold().split())
