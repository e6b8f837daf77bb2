"""Policies that think aloud first: where the reasoning ends and the answer, which alone is judged, begins.

    parts = split_reasoning(tokenizer, ids, "</think>")       # ids as sampled, a tokenizers.Tokenizer
    parts.reasoning + parts.answer                            # what all of the ids decode to
    verdict = on_completion(reward.assess([Sample(prompt, parts.answer)])[0], parts)       # spans on that whole text

The first end tag ends the reasoning, as in vLLM's reasoning parsers and in TRL's response templates: whatever follows
is what a user would be shown, so further tags in it are words of the answer, judged like any others. (TRL's
reasoning_accuracy_reward takes the last tag; then a policy could hide a bad answer before a second one.) A start tag is
not asked for, as many chat templates write it into the prompt. Without an end tag there is no answer: the block was
cut, and metrics call an empty completion EMPTY, a real 0 for which no judge is asked.

The tag is looked for in what the ids say, special tokens included, and not in TRL's message: that may lack reasoning
(where the tokenizer has a response template, which moves it to `reasoning_content` or `thinking`), or the tag (where it
is a special token, as Magistral's [/THINK]). What is judged is decoded without special tokens, as TRL does.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tokenizers import Tokenizer

from rewards.verdict import Span, Verdict


@dataclass(frozen=True, slots=True)
class Parts:
    """A completion's text in two: `reasoning` with its tags, and `answer`. finished: the end tag was written."""

    reasoning: str
    answer: str
    finished: bool


def split_reasoning(tokenizer: Tokenizer, ids: Sequence[int], end: str) -> Parts:
    """Cut what the sampled ids decode to behind the first `end`, a tag such as "</think>"."""

    def spelled(count: int) -> str:
        return tokenizer.decode(ids[:count], skip_special_tokens=False)

    text = tokenizer.decode(ids, skip_special_tokens=True)
    if end not in spelled(len(ids)):
        return Parts(text, "", finished=False)
    count = bisect_left(range(len(ids)), True, key=lambda count: end in spelled(count))  # tokens up to the tag's last
    written = spelled(count)
    beyond = len(written) - written.index(end) - len(end)  # what the tag's last token wrote of the answer
    start = len(tokenizer.decode(ids[:count], skip_special_tokens=True)) - beyond
    return Parts(text[:start], text[start:], finished=True)


def answer_of(tokenizer: Any, ids: Sequence[int], end: str | None) -> str:
    """What the ids say without control tokens, or with an `end` what follows it. tokenizer: transformers'."""
    if end is None:
        return str(tokenizer.decode(ids, skip_special_tokens=True))
    return split_reasoning(tokenizer.backend_tokenizer, ids, end).answer


def on_completion(verdict: Verdict, parts: Parts) -> Verdict:
    """The answer's verdict with its spans moved to where the whole completion has these words."""
    return replace(verdict, spans=tuple(moved(span, len(parts.reasoning)) for span in verdict.spans))


def moved(span: Span, by: int) -> Span:
    """The span that many characters further on."""
    return replace(span, start=span.start + by, end=span.end + by)
