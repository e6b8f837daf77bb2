"""Which part of what a model wrote is its answer: no reasoning, no other speaker's turn, and
nothing after its end.

    [text[start:end] for start, end in shown(text := "<think>A cat?</think>A dog.</s>Human: Why?")]
    # ["A dog."]

Chat templates write turns as control tokens. A text that was decoded without these still has their
words, and a base model writes others. Such plain words ("User:") count where a plain answer follows
("Assistant:").
"""

import re

_THINK = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|rationale)"
_TURN = (
    r"(?:<\|(?:im_start|start_header_id|start|turn)\|?>\s?|<start_of_turn>|<\|(?=\w+\|>)(?:im_)?)"
)
MARKS = re.compile(
    rf"""(?<=\S)\s?<s>[^<>]*</s>|(?P<open><{_THINK}>|\[THINK\]|◁think▷|<\|(?:begin_of_thought|start_thinking)\|>
    |<\|channel(?:\|>analysis<\|message\|>|>thought\b)
    |\A\s*here(?:\ is|'s)\ my\ thought\ process:|(?-i:\Aanalysis(?=[A-Z])))
    |(?P<close></{_THINK}>|\[/THINK\]|◁/think▷|<\|(?:end_of_thought|end_thinking)\|>
    |<\|channel\|>final<\|message\|>|<channel\|>
    |here(?:\ is|'s)\ my\ response:|(?-i:assistantfinal))
    |(?P<other>{_TURN}(?:user|human|system|tool)\b(?:\|>)?|\[INST\])
    |(?P<own>{_TURN}(?:assistant|model|bot)\b(?:\|>)?|\[/INST\]|(?-i:\A\s*assistant[^\S\n]*$))
    |(?P<asks>^[#\ ]*(?:user|human|instruction|question|q)[ \d]{{0,4}}:
        |(?-i:^(?:user|system)[^\S\n]*$))
    |(?P<answers>^[#\ ]*(?:assistant|response|(?:short\ |final\ )?answer|a)[ \d]{{0,4}}:
    |(?-i:\bASSISTANT:|^assistant[^\S\n]*$))
    |(?P<end></s>|<eos>|<turn\|>|<\|(?:im_end|endoftext|eot_id|end|return)\|>
    |<[|\uff5c]?end[_\u2581]?of[_\u2581]?(?:text|turn|turn_token|sentence|utterance|chunk|message)[|\uff5c]?>)""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_SAID = re.compile(r"<[^<>]*>|([^\W_])")


def blanked(text: str) -> str:
    """Returns the text with spaces in place of what is not shown."""
    kept = [" "] * len(text)
    for start, end in shown(text):
        kept[start:end] = text[start:end]
    return "".join(kept)


def shown(text: str) -> list[tuple[int, int]]:
    """Returns the characters [start, end) that are shown, in order. What stands before a first end
    of reasoning without a start is reasoning. Turns of others hide nothing where none of the
    writer's own follows.
    """
    found: list[tuple[int, int]] = []
    at, said, own, thinking, ended = 0, False, True, False, False
    marks = list(MARKS.finditer(text))
    last = max((mark.start() for mark in marks if mark.lastgroup == "answers"), default=0)
    for mark in marks:
        kind, start = mark.lastgroup, mark.start()
        if kind is None or (thinking and kind != "close") or (kind == "asks" and start > last):
            continue
        if kind == "close":
            if thinking or not ended:
                found, at, thinking, ended = found if thinking else [], mark.end(), False, True
            continue
        said = said or (own and any(one[1] for one in _SAID.finditer(text, at, start)))
        if own and (kind == "answers" or (kind == "own" and said)):
            continue
        found += [(at, start)] if own else []
        if said and kind in ("other", "asks", "end"):
            return found
        at, thinking = mark.end(), kind == "open"
        own = own if kind in ("open", "end") else kind in ("own", "answers")
    return found if thinking else [*found, (at, len(text))]
