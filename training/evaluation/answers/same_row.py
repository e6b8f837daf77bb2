"""Checks that a line in a file of answers is about the data's row with the same id.

    line = {"prompt": "<|im_start|>user\\nDescribe.<|im_end|>\\n", ...}
    differing_key(line, row, "a.jsonl line 1")
    # "", where the row's prompt is "Describe."
    turns_in("A chat. USER: <image>\\nDescribe. ASSISTANT:")  # ["Describe."]

Equal ids may belong to different data. The prompts, questions and references of line and row are
therefore compared. Evaluation harnesses write the prompt as the model got it, in the model's chat
template, and often only one of several references. Texts are compared as a metric reads texts,
without regard to case and white space. System turns are ignored, because they tell the model how to
answer and not what is asked.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.fingerprint import sample_fingerprint
from spanreward.rewards.rows.messages import message_text, messages_in
from spanreward.rewards.rows.placeholders import without_placeholders
from spanreward.rewards.rows.sample import row_sample
from spanreward.rewards.text.written import read_text
from spanreward.training.recipe import RecipeError

# the key of the row's hash in completions.jsonl; another hash shows that the row has changed
ROW_KEY = "row_fingerprint"
# the names of roles in chat templates; a tool's turn counts as a user's, because both answer the
# assistant
_USER_NAMES = r"(?P<user>user|human|tool|ipython)"
_ASSISTANT_NAMES = r"(?P<assistant>assistant|model|bot|gpt)"
_SYSTEM_NAMES = r"(?P<system>system|developer)"
# "<|im_start|>", "<|turn>", "</s>", "<think>", "<bos>", "<start_of_turn>", "[IMG]"
_SPECIAL_TOKENS = (
    r"<[|\uff5c][^<>\n]{1,40}[|\uff5c]>|<\|?turn\|?>|</?(?:s|think)>|<[be]os>"
    r"|<(?:start|end)_of_\w+>|\[IMG(?:_BREAK|_END)?\]"
)
# A special token, with its role if any: "<|user|>" names a role, "<|im_start|>user\n" is followed
# by a role, and "</s>" has no role. "[INST]" begins a user's turn and "[/INST]" an assistant's
# turn.
_ROLE_TOKEN = re.compile(
    rf"""(?:<[|\uff5c](?=\w+[|\uff5c]>)|<[|\uff5c](?=\w+_start[|\uff5c]>)|(?:{_SPECIAL_TOKENS})\s*)
        (?:{_USER_NAMES}|{_ASSISTANT_NAMES}|{_SYSTEM_NAMES})
        (?:(?:_start)?[|\uff5c]>|\s*:|(?=[^\S\n]*(?:\n|<|\Z)))
    | (?P<inst>\[INST\]|<</SYS>>|\[/SYSTEM_PROMPT\])
    | (?P<after>\[/INST\]|^(?:assistant|answer)\s*:\s*\Z)
    | (?P<before><<SYS>>|\[SYSTEM_PROMPT\])
    | (?P<other>{_SPECIAL_TOKENS})""",
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
_ROLES_OF_MARKS = {"inst": "user", "after": "assistant", "before": "system"}


def differing_key(line: Mapping[str, Any], row: Sample, where: str) -> str:
    """Returns the first key by which the line and the row differ: "prompt", "question", "reference"
    or ROW_KEY. Returns "" if no key differs.

    A key that the line or the row lacks does not differ. line: a line of a file of answers. row:
    the data's row with the line's id. where: the line's name, for messages. Raises RecipeError for
    a value that cannot be read.
    """
    compared = {}
    for key in ("prompt", "question", "reference"):
        compared[key] = line.get(key)
    try:
        line_sample = row_sample(compared)
        # from the line, whose prompt may be a list of messages: the Sample's prompt is one text, in
        # which the turns can no longer be told apart
        prompt_turns = texts_of_turns(line.get("prompt") or "")
    except ValueError as error:
        raise RecipeError(f"{where}: {error}.") from None
    # compare a key only if both the line and the row have it
    both_have_prompt = line_sample.prompt and row.prompt
    if both_have_prompt and not same_turns(prompt_turns, line_sample.prompt, row.prompt):
        return "prompt"
    line_question = line_sample.question or ""
    row_question = row.question or ""
    if line_question and row_question:
        question_turns = texts_of_turns(line_question)
        if not same_turns(question_turns, line_question, row_question):
            return "question"
    both_have_references = line_sample.references and row.references
    if both_have_references and not has_all(row.references, line_sample.references):
        return "reference"
    # a line that a comparison wrote has the hash of its row at that time
    written_fingerprint = line.get(ROW_KEY)
    if written_fingerprint and written_fingerprint != sample_fingerprint(row):
        return ROW_KEY
    return ""


def same_turns(line_turns: Sequence[str], line: str, row: str) -> bool:
    """Returns whether the prompts of a line and of a row ask the same, with or without a chat
    template.

    Example: "USER: Describe. ASSISTANT:" and "Describe." ask the same.

    line, row: the two whole prompts, each as one text, with the system's message if there is one.
    line_turns: the texts of the turns in the line's prompt, without the system's message
    (`texts_of_turns`). The caller gives the turns, because a line's prompt may be a list of
    messages, and in the one text `line` the messages can no longer be told apart.
    """
    # if neither prompt has a chat template, or both have the same
    if same_text(line, row):
        return True
    # if only the line's prompt has a chat template
    if len(line_turns) == 1 and same_text(line_turns[0], row):
        return True
    # if only the row's prompt has a chat template
    row_turns = texts_of_turns(row)
    if len(row_turns) == 1 and same_text(row_turns[0], line):
        return True
    # if both prompts have chat templates, maybe two different templates
    if len(line_turns) == len(row_turns):
        pairs = zip(line_turns, row_turns, strict=True)
        if all(same_text(line_turn, row_turn) for line_turn, row_turn in pairs):
            return True
    # if the row's prompt is all messages as one plain text, with the system's message, which the
    # turns lack
    return same_text(without_special_tokens(line), row)


def has_all(row_references: Sequence[str], line_references: Sequence[str]) -> bool:
    """Returns whether the row has every reference of the line. The line may have fewer references
    than the row.
    """
    texts_of_row = [comparable_text(reference) for reference in row_references]
    return all(comparable_text(reference) in texts_of_row for reference in line_references)


def texts_of_turns(prompt: Any) -> list[str]:
    """Returns the texts of a prompt's turns by users and assistants, without empty turns.

    prompt: messages, or a text that may hold a chat template. "USER: Describe. ASSISTANT:" gives
    ["Describe."], and a text without a template is one turn. Raises ValueError for a message
    without a text.
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
    """Returns the texts of the turns by users and assistants, in a text that may hold a chat
    template.

    Example: "<|im_start|>user\nDescribe.<|im_end|>\n<|im_start|>assistant\n" gives ["Describe."].
    Special tokens such as "<|im_start|>user" begin a turn. If there are none for a user's turn,
    words such as "User:" may begin a turn: only in a text that ends with a word such as
    "Assistant:". In any other text, such words may be part of a question, and the whole text is
    returned.
    """
    marks = _marks_of_turns(text)
    if not marks:
        return [without_special_tokens(text)]
    # collect the texts between the marks, without the system's texts
    raw_turns: list[str] = []
    role = ""  # whose text comes next; a text before the first mark counts as the system's
    start = 0  # where that text begins
    for mark in marks:
        if role in ("user", "assistant"):
            raw_turns.append(text[start : mark.start()])
        # a token such as "</s>" begins no turn: the role stays
        role = role_of(mark) or role
        start = mark.end()
    if role in ("user", "assistant"):
        raw_turns.append(text[start:])
    plain_turns = [without_special_tokens(turn) for turn in raw_turns]
    return [turn for turn in plain_turns if turn]


def _marks_of_turns(text: str) -> list[re.Match[str]]:
    """Returns the marks between the turns of a text, such as "<|im_start|>user" or "USER:". Returns
    [] for a text without a chat template.

    If no special token begins a user's turn, words such as "USER:" are the marks, but only if the
    text ends with a word such as "ASSISTANT:".
    """
    tokens = list(_ROLE_TOKEN.finditer(text))
    if "user" in map(role_of, tokens):
        return tokens
    labels = list(_ROLE_LABEL.finditer(text))
    if not labels or role_of(labels[-1]) != "assistant":
        return []
    behind_last_label = text[labels[-1].end() :]
    return [] if behind_last_label.strip() else labels


def role_of(mark: re.Match[str]) -> str:
    """Returns the role whose turn a mark begins, such as "user"; "" for a mark such as "</s>".

    mark: a match of _ROLE_TOKEN or _ROLE_LABEL.
    """
    kind = mark.lastgroup or ""
    if kind == "other":
        return ""
    return _ROLES_OF_MARKS.get(kind, kind)


def without_special_tokens(text: str) -> str:
    """Returns a text without its special tokens and the placeholders of pictures: "<image>Describe.
    </s>" gives "Describe.".
    """
    return _ROLE_TOKEN.sub(" ", without_placeholders(text)).strip()


def same_text(text: str, other: str) -> bool:
    """Returns whether two texts are equal as a metric reads them, without regard to case and white
    space.
    """
    if in_one_line(text) == in_one_line(other):
        return True
    # words are compared first, without markup and signs, because `comparable_text` takes longer
    words = _TURN_WORD.findall(text.casefold())
    other_words = _TURN_WORD.findall(other.casefold())
    return words == other_words and comparable_text(text) == comparable_text(other)


def comparable_text(text: str) -> str:
    """Returns a text as a metric reads it, without markup, in lower case and in one line."""
    plain = read_text(text).plain
    # a text of nothing but markup is empty as a metric reads it
    return in_one_line(plain) or in_one_line(text)


def in_one_line(text: str) -> str:
    """Returns a text in lower case with single spaces: " A  Dog.\n" gives "a dog."."""
    return " ".join(text.casefold().split())
