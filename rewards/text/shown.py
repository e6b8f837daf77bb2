"""Which part of what a model wrote is its answer: no reasoning, no other speaker's turn, and nothing after its end.

    [text[start:end] for start, end in shown(text := "<think>A cat?</think>A dog.</s>Human: Why?")]     # ["A dog."]

Chat templates write turns as control tokens. A text that was decoded without these still has their words.
"""

import re

_THINK = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|rationale)"
_TURN = r"(?:<\|(?:im_start|start_header_id|start|turn)\|?>\s?|<start_of_turn>|<\|(?=\w+\|>))"
MARKS = re.compile(
    rf"""(?<=\S)\s?<s>[^<>]*</s>|(?P<open><{_THINK}>|\[THINK\]|◁think▷|<\|(?:begin_of_thought|start_thinking)\|>
    |<\|channel(?:\|>analysis<\|message\|>|>thought\b)|\A\s*here(?:\ is|'s)\ my\ thought\ process:)
    |(?P<close></{_THINK}>|\[/THINK\]|◁/think▷|<\|(?:end_of_thought|end_thinking)\|>
    |<\|channel\|>final<\|message\|>|<channel\|>|here(?:\ is|'s)\ my\ response:)
    |(?P<other>{_TURN}(?:user|human|system|tool)\b(?:\|>)?|\[INST\]|(?-i:^USER:|^(?:user|system)[^\S\n]*$))
    |(?P<own>{_TURN}(?:assistant|model|bot)\b(?:\|>)?|\[/INST\]|(?-i:\bASSISTANT:|^assistant[^\S\n]*$))
    |(?P<end></s>|<eos>|<end_of_turn>|<turn\|>|<\|(?:im_end|endoftext|eot_id|end|end_of_text|return|end_of_turn_token)\|>
    |<[|\uff5c]end[_\u2581]of[_\u2581]sentence[|\uff5c]>)""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_SAID = re.compile(r"[^\W_]")


def blanked(text: str) -> str:
    """Returns the text with spaces in place of what is not shown."""
    kept = [" "] * len(text)
    for start, end in shown(text):
        kept[start:end] = text[start:end]
    return "".join(kept)


def shown(text: str) -> list[tuple[int, int]]:
    """Returns the characters [start, end) that are shown, in order. What stands before a first end of reasoning
    without a start is reasoning. Turns of others hide nothing where none of the writer's own follows.
    """
    found: list[tuple[int, int]] = []
    at, said, own, thinking, ended = 0, False, True, False, False
    for mark in MARKS.finditer(text):
        kind, start = mark.lastgroup, mark.start()
        if kind is None or (thinking and kind != "close"):
            continue
        if kind == "close":
            if thinking or not ended:
                found, at, thinking, ended = found if thinking else [], mark.end(), False, True
            continue
        said = said or (own and _SAID.search(text, at, start) is not None)
        if kind == "own" and own and said:
            continue
        found += [(at, start)] if own else []
        if said and kind in ("other", "end"):
            return found
        at, thinking = mark.end(), kind == "open"
        own = own if kind in ("open", "end") else kind == "own"
    return found if thinking else [*found, (at, len(text))]
