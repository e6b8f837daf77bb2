"""Finds the answer in a model's text: without reasoning, turns of other speakers, and text after
the answer's end.

    blank_unshown("<think>A cat?</think>A dog.</s>Human: Why?").strip()  # "A dog."

Chat templates mark turns by control tokens such as "<|im_start|>user". Texts that were decoded
without control tokens, and texts of base models, mark turns by plain words such as "User:". A plain
word counts as a turn only if a plain answer ("Assistant:") follows.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from spanreward.rewards.text.pieces import AFTER_END, LABELS, OTHERS, REASONING, TOKENS, TOOLS
from spanreward.rewards.text.tool_calls import calls_in

_REASONING_NAME = (
    r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|rationale)"
)
_TURN_PATTERN = (
    r"(?:<\|(?:im_start|start_header_id|start|turn)\|?>\s?|<start_of_turn>|<\|(?=\w+\|>)(?:im_)?"
    r"|\[UNUSED_TOKEN_\d+\])"
)
# The head of a message of gpt-oss: the receiver and the format. The channel "commentary" of gpt-oss
# is no answer.
_CHANNEL_HEAD = r"[^<>\n]{0,80}(?:<\|constrain\|>[\w.-]{0,20})?"


class TurnMark(NamedTuple):
    """A form of marks that divide a text into turns, reasoning and answer.

    name: the role of the mark, such as "open" (reasoning begins) or "other" (another speaker's
    turn). "" is the role of texts that only look like marks. pattern: a regular expression for the
    mark. reader: the text behind the mark that a reader is shown, in words. example: a text with
    such a mark.
    """

    name: str
    pattern: str
    reader: str
    example: str


# The first form that matches counts. Forms of one name must be neighbours (`joined_forms`).
TURN_MARK_FORMS: tuple[TurnMark, ...] = (
    TurnMark(
        "",
        r"(?<=\S)\s?<s>[^<>]*</s>",
        "all of it: such tags strike a text out, and end nothing",
        "A <s>cat</s> dog.",
    ),
    TurnMark(
        "open",
        rf"<{_REASONING_NAME}>|\[THINK\]|◁think▷|<\|(?:begin_of_thought|start_thinking)\|>",
        "nothing up to the mark that closes it",
        "<think>A cat?",
    ),
    TurnMark(
        "open",
        rf"<\|channel(?:\|>(?:analysis|commentary)\b{_CHANNEL_HEAD}<\|message\|>|>thought\b)",
        "nothing up to the next channel",
        "<|channel|>analysis<|message|>A cat?",
    ),
    TurnMark(
        "open",
        r"<unused\d+>\s*thought\b",
        "nothing up to the next unused token",
        "<unused94>thought A cat?",
    ),
    TurnMark(
        "open",
        r"\A\s*here(?: is|'s) my thought process:",
        "nothing up to the response",
        "Here is my thought process: a cat?",
    ),
    TurnMark(
        "open",
        r"(?-i:\Aanalysis(?=[A-Z]))",
        "nothing up to the final channel; the channel's tokens were left out as it was decoded",
        "analysisThe user asks for a cat.",
    ),
    TurnMark(
        "close",
        rf"</{_REASONING_NAME}>|\[/THINK\]|◁/think▷|<\|(?:end_of_thought|end_thinking)\|>",
        "the answer",
        "A cat?</think>A dog.",
    ),
    TurnMark(
        "close",
        rf"<\|channel\|>final\b{_CHANNEL_HEAD}<\|message\|>|<channel\|>",
        "the answer",
        "<|channel|>final<|message|>A dog.",
    ),
    TurnMark(
        "close",
        r"here(?: is|'s) my response:",
        "the answer",
        "Here is my response: a dog.",
    ),
    TurnMark(
        "close",
        r"(?-i:assistantfinal)",
        "the answer; the channel's tokens were left out as it was decoded",
        "assistantfinalA dog.",
    ),
    TurnMark(
        "unused",
        r"<unused\d+>",
        "the answer, where such a token began the reasoning",
        "<unused95>A dog.",
    ),
    TurnMark(
        "other",
        rf"{_TURN_PATTERN}(?:user|human|system|tool)\b(?:\|>)?",
        "nothing up to the writer's next turn",
        "<|im_start|>user\nWhat is it?",
    ),
    TurnMark(
        "other",
        r"\[INST\]",
        "nothing up to the writer's next turn",
        "[INST] What is it? [/INST]",
    ),
    TurnMark(
        "own",
        rf"{_TURN_PATTERN}(?:assistant|model|bot)\b(?:\|>| to=[\w.]{{1,80}})?",
        "the writer's turn",
        "<|im_start|>assistant\nA dog.",
    ),
    TurnMark("own", r"\[/INST\]", "the writer's turn", "What is it? [/INST] A dog."),
    TurnMark(
        "own",
        r"(?-i:\A\s*assistant[^\S\n]*$)",
        "the writer's turn; the template's tokens were left out as it was decoded",
        "assistant\nA dog.",
    ),
    TurnMark(
        "asks",
        r"^[# ]*(?:user|human|instruction|question|q)[ \d]{0,4}:",
        "nothing up to the plain answer that follows",
        "Question: What is it?",
    ),
    TurnMark(
        "asks",
        r"(?-i:^(?:user|system)[^\S\n]*$)",
        "nothing up to the plain answer that follows",
        "user\nWhat is it?",
    ),
    TurnMark(
        "answers",
        r"^[# ]*(?:assistant|response|(?:short |final )?answer|a)[ \d]{0,4}:",
        "the writer's turn",
        "Answer: a dog.",
    ),
    TurnMark(
        "answers",
        r"(?-i:\bASSISTANT:|^assistant[^\S\n]*$)",
        "the writer's turn",
        "USER: What is it? ASSISTANT: A dog.",
    ),
    TurnMark(
        "end",
        r"</s>|<eos>|<turn\|>|\[UNUSED_TOKEN_\d+\](?!\w)"
        r"|<\|(?:im_end|endoftext|eot_id|end|return)\|>",
        "nothing more, once the writer has answered",
        "A dog.<|im_end|>",
    ),
    TurnMark(
        "end",
        r"<[|\uff5c]?end[_\u2581]?of[_\u2581]?"
        r"(?:text|turn|turn_token|sentence|utterance|chunk|message)[|\uff5c]?>",
        "nothing more, once the writer has answered",
        "A dog.<end_of_turn>",
    ),
)


def joined_forms(forms: Sequence[TurnMark]) -> str:
    """Returns one pattern that matches any form, with a named group for each name.

    Forms of one name must be neighbours in `forms`.
    """
    alternatives = []
    # a group's name may occur only once in a pattern, so neighbours of one name share a group
    for name, rows in groupby(forms, key=attrgetter("name")):
        patterns = "|".join(row.pattern for row in rows)
        alternatives.append(f"(?P<{name}>{patterns})" if name else patterns)
    return "|".join(alternatives)


TURN_MARKS = re.compile(joined_forms(TURN_MARK_FORMS), re.IGNORECASE | re.MULTILINE)
_LETTER_OUTSIDE_TAGS = re.compile(r"<[^<>]*>|([^\W_])")
# names of marks that only end reasoning: "</think>", and tokens such as "<unused95>"
_ENDS_OF_REASONING = ("close", "unused")
_KIND_OF_MARK = {  # the kind of the mark's own characters, by the mark's name
    "open": REASONING,
    "other": OTHERS,
    "asks": OTHERS,
    "own": TOKENS,
    "answers": LABELS,
    "end": TOKENS,
}


def blank_unshown(text: str, calls: bool = True) -> str:
    """Returns the text, of the same length, with spaces for all text that a reader is not shown:
    "<think>x</think>A dog." becomes 16 spaces and "A dog."

    calls: whether spaces replace calls of tools, too.
    """
    characters = [" "] * len(text)
    parts = parts_of(text) if calls else _parts_without_calls(text)
    for start, end, kind in parts:
        if not kind:
            characters[start:end] = text[start:end]
    return "".join(characters)


def spaces_for_match(match: re.Match[str]) -> str:
    """Returns as many spaces as the match has characters, so that the offsets behind a replaced
    match stay the same.
    """
    return " " * len(match[0])


def parts_of(text: str) -> list[tuple[int, int, str]]:
    """Returns the parts (start, end, kind) of the text, in order: the answer of
    "<think>x</think>A dog." is the part (16, 22, "").

    The kind is "" for text that a reader is shown. Otherwise the kind is one of pieces.py, such as
    "reasoning".
    """
    parts = []
    for start, end, kind in _parts_without_calls(text):
        rest = start  # where the text after the last call begins
        # a call within reasoning is reasoning
        if not kind:
            for begin, stop in calls_in(text, start, end):
                parts.append((rest, begin, ""))
                parts.append((begin, stop, TOOLS))
                rest = stop
        parts.append((rest, end, kind))
    return parts


def _parts_without_calls(text: str) -> list[tuple[int, int, str]]:
    """Returns the parts (start, end, kind) of the text, in which calls of tools are not yet found.
    The kind is "" for text that a reader is shown.

    If the first mark of reasoning is an end ("</think>"), all text before the end is reasoning. If
    a text ends with a turn of another speaker and the model has written no answer, this turn has
    the kind "".
    """
    return _TurnReader(text).parts_of_text()


class _TurnReader:
    """Divides a text into parts, mark by mark (`TURN_MARK_FORMS`).

    Attributes:
        parts: the parts (start, end, kind) up to the offset `at`. The kind says why the part is
            dropped, such as "reasoning" (pieces.py), and is "" for text that a reader is shown.
        at: the offset where the next part begins.
        has_answered: whether the model has written a letter or digit outside tags.
        is_models_turn: whether the current turn is the model's.
        thinking: the mark that opened the current reasoning, such as "<think>", "" outside
            reasoning.
        has_ended_reasoning: whether some reasoning has ended.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[tuple[int, int, str]] = []  # (start, end, kind)
        self.at = 0
        self.has_answered = False
        self.is_models_turn = True
        self.thinking = ""  # the mark that opened the current reasoning
        self.has_ended_reasoning = False

    def parts_of_text(self) -> list[tuple[int, int, str]]:
        """Returns the parts of the whole text, in order."""
        marks = list(TURN_MARKS.finditer(self.text))
        answers = [mark.start() for mark in marks if mark.lastgroup == "answers"]
        last_answer = max(answers, default=0)
        for mark in marks:
            name = mark.lastgroup
            # a form that only looks like a mark, such as "<s>struck out</s>"
            if name is None:
                continue
            # a plain question ("User:") is a mark only if a plain answer follows
            if name == "asks" and mark.start() > last_answer:
                continue
            if self._ends_reasoning(mark):
                self._close_reasoning(mark)
                continue
            # within reasoning only the end of the reasoning counts; elsewhere an end is plain text
            if self.thinking or name in _ENDS_OF_REASONING:
                continue
            self._begin_part(mark, name)
            # if the model has answered before this mark, all further text is dropped
            if self.has_answered and name in ("other", "asks", "end"):
                kind = AFTER_END if name == "end" else OTHERS
                self.parts.append((self.at, len(self.text), kind))
                return self.parts
        self.parts.append((self.at, len(self.text), REASONING if self.thinking else ""))
        return self.parts

    def _ends_reasoning(self, mark: re.Match[str]) -> bool:
        """Whether a mark ends reasoning, such as "</think>". A second end without a start is a word
        of the answer.
        """
        if mark.lastgroup == "unused":
            # an unused token ends only reasoning that an unused token began
            return self.thinking.startswith("<unused")
        is_open = bool(self.thinking) or not self.has_ended_reasoning
        return mark.lastgroup == "close" and is_open

    def _close_reasoning(self, mark: re.Match[str]) -> None:
        """Adds the reasoning that a mark ends, with the mark. All text before an end without a
        start was reasoning too.
        """
        if not self.thinking:
            self.parts = [_as_reasoning(part) for part in self.parts]
        self.parts.append((self.at, mark.end(), REASONING))
        self.at = mark.end()
        self.thinking = ""
        self.has_ended_reasoning = True

    def _begin_part(self, mark: re.Match[str], name: str) -> None:
        """Adds the text before a mark, and the mark. Reasoning or another turn begins behind the
        mark. A mark that continues the model's turn adds nothing: "Answer:" within the model's turn
        is a label.

        name: the mark's name, such as "own".
        """
        start, end = mark.span()
        if self.is_models_turn and not self.has_answered:
            self.has_answered = _has_letters(self.text, self.at, start)
        # within the model's turn "Answer:" is a label, and a second start of its turn adds nothing
        continues_turn = name == "answers" or (name == "own" and self.has_answered)
        if self.is_models_turn and continues_turn:
            return
        self.parts.append((self.at, start, "" if self.is_models_turn else OTHERS))
        self.parts.append((start, end, _KIND_OF_MARK[name]))
        self.at = end
        self.thinking = mark[0].lower() if name == "open" else ""
        # the other marks begin a turn; "open" begins reasoning, and "end" leaves the turn as it is
        if name not in ("open", "end"):
            self.is_models_turn = name in ("own", "answers")


def _has_letters(text: str, start: int, end: int) -> bool:
    """Whether the characters [start, end) have a letter or digit outside tags."""
    pieces = _LETTER_OUTSIDE_TAGS.finditer(text, start, end)
    return any(piece[1] for piece in pieces)


def _as_reasoning(part: tuple[int, int, str]) -> tuple[int, int, str]:
    """Returns a part that was shown with the kind "reasoning", and any other part unchanged."""
    start, end, kind = part
    return start, end, kind or REASONING
