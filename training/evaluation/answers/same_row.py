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
# what chat templates call whose turn it is; tools answer the assistant, as a user does
_USER = r"(?P<user>user|human|tool|ipython)"
_ASSISTANT = r"(?P<assistant>assistant|model|bot|gpt)"
_SYSTEM = r"(?P<system>system|developer)"
# "<|im_start|>", "<|turn>", "</s>", "<think>", "<bos>", "<start_of_turn>", "[IMG]"
_SPECIAL = (
    r"<[|\uff5c][^<>\n]{1,40}[|\uff5c]>|<\|?turn\|?>|</?(?:s|think)>|<[be]os>"
    r"|<(?:start|end)_of_\w+>|\[IMG(?:_BREAK|_END)?\]"
)
# a token that is a role ("<|user|>"), or is followed by one alone ("<|im_start|>user\n"), or any
# other; "[INST]" begins a user's turn and "[/INST]" an assistant's
_ROLE_TOKEN = re.compile(
    rf"""(?:<[|\uff5c](?=\w+[|\uff5c]>)|<[|\uff5c](?=\w+_start[|\uff5c]>)|(?:{_SPECIAL})\s*)
        (?:{_USER}|{_ASSISTANT}|{_SYSTEM})
        (?:(?:_start)?[|\uff5c]>|\s*:|(?=[^\S\n]*(?:\n|<|\Z)))
    | (?P<inst>\[INST\]|<</SYS>>|\[/SYSTEM_PROMPT\])
    | (?P<after>\[/INST\]|^(?:assistant|answer)\s*:\s*\Z)
    | (?P<before><<SYS>>|\[SYSTEM_PROMPT\])
    | (?P<other>{_SPECIAL})""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
# a role in plain words: "USER:", "### Instruction:", "Q:", "Short answer:"
_ROLE_LABEL = re.compile(
    r"""(?:^[#\ \t]*|\#{2,3}\ *|(?<=\s)(?=USER:|ASSISTANT:|HUMAN:|SYSTEM:|[Aa]nswer:\s*\Z))
    (?:(?P<user>user|human|instruction|input|question|q)
    |(?P<assistant>assistant|response|(?:short\ |final\ )?answer|a|gpt|ai)
    |(?P<system>system))\ ?:""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_TURN_WORD = re.compile(r"\w+")
_ROLES = {"inst": "user", "after": "assistant", "before": "system"}


def differing(record: Mapping[str, Any], row: Sample, where: str) -> str:
    """Returns the first of prompt, question, reference and ROW that the line has and the row has
    otherwise, or "". where: the line's place, for messages. Raises RecipeError for a value that
    cannot be read.
    """
    compared = {}
    for key in ("prompt", "question", "reference"):
        compared[key] = record.get(key)
    try:
        line = row_sample(compared)
        line_turns = turns(record.get("prompt") or "")
    except ValueError as error:
        raise RecipeError(f"{where}: {error}.") from None
    # what only one of the two has cannot differ
    both_ask = line.prompt and row.prompt
    if both_ask and not same_turns(line_turns, line.prompt, row.prompt):
        return "prompt"
    line_question = line.question or ""
    row_question = row.question or ""
    if line_question and row_question:
        question_turns = turns(line_question)
        if not same_turns(question_turns, line_question, row_question):
            return "question"
    both_expect = line.references and row.references
    if both_expect and not has_all(row.references, line.references):
        return "reference"
    # written by a comparison, of the row as it was then
    mark = record.get(ROW)
    if mark and mark != fingerprint(row):
        return ROW
    return ""


def same_turns(line_turns: Sequence[str], line: str, row: str) -> bool:
    """Returns whether a line and a row ask the same. line, row: their whole texts."""
    if same_text(line, row):
        return True
    # one of the two is in a chat template, "USER: Describe. ASSISTANT:" beside "Describe."
    row_turns = turns(row)
    if len(line_turns) == 1 and same_text(line_turns[0], row):
        return True
    if len(row_turns) == 1 and same_text(row_turns[0], line):
        return True
    # both are, maybe in different ones
    as_many_turns = len(line_turns) == len(row_turns)
    if as_many_turns and all(map(same_text, line_turns, row_turns)):
        return True
    # a row's messages are one text, with the system's
    return same_text(without_specials(line), row)


def has_all(row_references: Sequence[str], line_references: Sequence[str]) -> bool:
    """Returns whether the row has all references of the line, which may be one of several."""
    in_row = set(map(comparable_text, row_references))
    in_line = set(map(comparable_text, line_references))
    return in_line <= in_row


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
        role = message.get("role", message.get("from"))
        if text and role != "system":
            texts.append(without_placeholders(text))
    # a single message may hold a whole chat template
    if len(texts) == 1:
        return turns_in(texts[0])
    return texts


def turns_in(text: str) -> list[str]:
    """Returns the turns of a text. Words such as "User:" count where no special token begins a
    turn and the text ends with the assistant's; else they may be what is asked about.
    """
    marks = list(_ROLE_TOKEN.finditer(text))
    if "user" not in map(role_of, marks):
        # no special token begins a user's turn: labels, if the text ends with "ASSISTANT:"
        marks = list(_ROLE_LABEL.finditer(text))
        if not marks or role_of(marks[-1]) != "assistant":
            return [without_specials(text)]
        after_last_label = text[marks[-1].end() :]
        if after_last_label.strip():
            return [without_specials(text)]
    # the texts between the marks, those of the system left out
    raw_turns: list[str] = []
    role = ""  # what stands before the first turn tells how to answer
    start = 0
    for mark in marks:
        if role in ("user", "assistant"):
            raw_turns.append(text[start : mark.start()])
        # a token such as "</s>" begins no turn: the role stays
        role = role_of(mark) or role
        start = mark.end()
    if role in ("user", "assistant"):
        raw_turns.append(text[start:])
    return list(filter(None, map(without_specials, raw_turns)))


def role_of(mark: re.Match[str]) -> str:
    """Returns whose turn a mark begins, "" where it begins none."""
    kind = mark.lastgroup or ""
    if kind == "other":
        return ""
    return _ROLES.get(kind, kind)


def without_specials(text: str) -> str:
    """Returns a text without its special tokens and the placeholders of pictures."""
    return _ROLE_TOKEN.sub(" ", without_placeholders(text)).strip()


def same_text(text: str, other: str) -> bool:
    """Returns whether two texts have the same words, and are read as the same."""
    if in_one_line(text) == in_one_line(other):
        return True
    # the words are compared first, because reading a text as a metric does takes longer
    words = _TURN_WORD.findall(text.casefold())
    other_words = _TURN_WORD.findall(other.casefold())
    return words == other_words and comparable_text(text) == comparable_text(other)


def comparable_text(text: str) -> str:
    """Returns a text as a metric reads it, in lower case and in one line."""
    plain = read_text(text).plain
    # nothing is read of a text that is all markup
    return in_one_line(plain) or in_one_line(text)


def in_one_line(text: str) -> str:
    """Returns a text in lower case with single spaces."""
    return " ".join(text.casefold().split())
