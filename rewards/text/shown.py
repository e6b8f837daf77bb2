"""Which part of what a model wrote is its answer: no reasoning, no other speaker's turn, and
nothing after its end.

    [text[start:end] for start, end in shown(text := "<think>A cat?</think>A dog.</s>Human: Why?")]
    # ["A dog."]

Chat templates write turns as control tokens. A text that was decoded without these still has their
words, and a base model writes others. Such plain words ("User:") count where a plain answer follows
("Assistant:").
"""

import re

from spanreward.rewards.text.pieces import AFTER_END, LABELS, OTHERS, REASONING, TOKENS, TOOLS
from spanreward.rewards.text.tool_calls import calls_in

_THINK = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|rationale)"
_TURN = (
    r"(?:<\|(?:im_start|start_header_id|start|turn)\|?>\s?|<start_of_turn>|<\|(?=\w+\|>)(?:im_)?"
    r"|\[UNUSED_TOKEN_\d+\])"
)
# of gpt-oss's messages: whom it is for, and its format. Its commentary is no answer.
_HEAD = r"[^<>\n]{0,80}(?:<\|constrain\|>[\w.-]{0,20})?"
MARKS = re.compile(
    rf"""(?<=\S)\s?<s>[^<>]*</s>|(?P<open><{_THINK}>|\[THINK\]|◁think▷|<\|(?:begin_of_thought|start_thinking)\|>
    |<\|channel(?:\|>(?:analysis|commentary)\b{_HEAD}<\|message\|>|>thought\b)|<unused\d+>\s*thought\b
    |\A\s*here(?:\ is|'s)\ my\ thought\ process:|(?-i:\Aanalysis(?=[A-Z])))
    |(?P<close></{_THINK}>|\[/THINK\]|◁/think▷|<\|(?:end_of_thought|end_thinking)\|>
    |<\|channel\|>final\b{_HEAD}<\|message\|>|<channel\|>
    |here(?:\ is|'s)\ my\ response:|(?-i:assistantfinal))
    |(?P<unused><unused\d+>)
    |(?P<other>{_TURN}(?:user|human|system|tool)\b(?:\|>)?|\[INST\])
    |(?P<own>{_TURN}(?:assistant|model|bot)\b(?:\|>|\ to=[\w.]{{1,80}})?|\[/INST\]
        |(?-i:\A\s*assistant[^\S\n]*$))
    |(?P<asks>^[#\ ]*(?:user|human|instruction|question|q)[ \d]{{0,4}}:
        |(?-i:^(?:user|system)[^\S\n]*$))
    |(?P<answers>^[#\ ]*(?:assistant|response|(?:short\ |final\ )?answer|a)[ \d]{{0,4}}:
    |(?-i:\bASSISTANT:|^assistant[^\S\n]*$))
    |(?P<end></s>|<eos>|<turn\|>|\[UNUSED_TOKEN_\d+\](?!\w)|<\|(?:im_end|endoftext|eot_id|end|return)\|>
    |<[|\uff5c]?end[_\u2581]?of[_\u2581]?(?:text|turn|turn_token|sentence|utterance|chunk|message)[|\uff5c]?>)""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_SAID = re.compile(r"<[^<>]*>|([^\W_])")
_MARKS_ARE = {  # the kind of a mark itself
    "open": REASONING,
    "other": OTHERS,
    "asks": OTHERS,
    "own": TOKENS,
    "answers": LABELS,
    "end": TOKENS,
}


def blanked(text: str, calls: bool = True) -> str:
    """Returns the text with spaces in place of what is not shown. calls: whether calls of tools are
    not.
    """
    characters = [" "] * len(text)
    parts = parts_of(text) if calls else _turns(text)
    for start, end, kind in parts:
        if not kind:
            characters[start:end] = text[start:end]
    return "".join(characters)


def shown(text: str) -> list[tuple[int, int]]:
    """Returns the characters [start, end) that are shown, in order."""
    return [(start, end) for start, end, kind in parts_of(text) if not kind]


def parts_of(text: str) -> list[tuple[int, int, str]]:
    """Returns the text in parts (start, end, kind), in order. The kind is "" for what is shown, and
    says what the others are.
    """
    parts = []
    for start, end, kind in _turns(text):
        calls = [] if kind else list(calls_in(text, start, end))
        at = start
        for begin, stop in calls:
            parts += [(at, begin, ""), (begin, stop, TOOLS)]
            at = stop
        parts.append((at, end, kind))
    return parts


def _turns(text: str) -> list[tuple[int, int, str]]:
    """Returns the parts with the calls of tools in them.

    What stands before a first end of reasoning without a start is reasoning. Turns of others hide
    nothing where none of the writer's own follows.
    """
    parts: list[tuple[int, int, str]] = []
    at, answered, from_model, thinking, ended = 0, False, True, "", False
    marks = list(MARKS.finditer(text))
    last = max((mark.start() for mark in marks if mark.lastgroup == "answers"), default=0)
    for mark in marks:
        name, start = mark.lastgroup, mark.start()
        if (
            name is None
            or (thinking and name not in ("close", "unused"))
            or (name == "asks" and start > last)
        ):
            continue
        if name == "unused":  # it ends what such a token began
            if not thinking.startswith("<unused"):
                continue
            name = "close"
        if name == "close":
            if thinking or not ended:
                parts = parts if thinking else [_as_reasoning(part) for part in parts]
                parts.append((at, mark.end(), REASONING))
                at, thinking, ended = mark.end(), "", True
            continue
        answered = answered or (
            from_model and any(sentence[1] for sentence in _SAID.finditer(text, at, start))
        )
        if from_model and (name == "answers" or (name == "own" and answered)):
            continue
        parts.append((at, start, "" if from_model else OTHERS))
        parts.append((start, mark.end(), _MARKS_ARE[name]))
        at, thinking = mark.end(), mark[0].lower() if name == "open" else ""
        if answered and name in ("other", "asks", "end"):
            parts.append((at, len(text), AFTER_END if name == "end" else OTHERS))
            return parts
        from_model = from_model if name in ("open", "end") else name in ("own", "answers")
    parts.append((at, len(text), REASONING if thinking else ""))
    return parts


def _as_reasoning(part: tuple[int, int, str]) -> tuple[int, int, str]:
    start, end, kind = part
    return start, end, kind or REASONING
