"""Policies that reason before they answer: only the answer is judged.

    parts = split_reasoning(tokenizer, ids, "</think>")  # ids as sampled, a tokenizers.Tokenizer
    parts.text                                                # of all ids
    verdict = on_completion(reward.assess([Sample(prompt, parts.answer)])[0], parts)
    # spans on that whole text

The first end tag ends the reasoning, as in vLLM's reasoning parsers and TRL's response templates: a
user is shown all that follows. (TRL's reasoning_accuracy_reward takes the last tag; then a policy
could hide a bad answer before a second one.) A start tag is not required, since many chat templates
write it into the prompt. Without an end tag the answer is empty, which metrics score as EMPTY, a
real 0 without a judge call.

The tag is searched in the decoded ids, special tokens included. TRL's message may lack the
reasoning (a response template moves it to `reasoning_content` or `thinking`) or the tag (a special
token, as Magistral's [/THINK]). The judged text is decoded without special tokens, as TRL does.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tokenizers import Tokenizer

from spanreward.rewards.base.verdict import Verdict
from spanreward.rewards.text.markup import BLOCK
from spanreward.rewards.text.shown import TURN_MARKS

MARK = re.compile(r"\s*(<\|channel\|>\w+|<\|\w{3,}\|>|[<\[{◁【]\w{3,}[>\]}▷】])")
GAP = "\n\n"  # between turns that are judged as one text
# what follows is part of the answer
SHOWN = re.compile(rf"<(?:{BLOCK}|ref|box|img|strong|span)>", re.IGNORECASE)
UNKNOWN = (
    ", and all of them is judged: if it begins a reasoning, set reasoning_end to the tag "
    "that ends it."
)


@dataclass(frozen=True, slots=True)
class Parts:
    """A completion's text and what is judged of it. finished: with the end tag.

    places: the characters [start, end) of what is judged, in order: the answer, or each of the
    assistant's turns.
    """

    text: str
    places: tuple[tuple[int, int], ...]
    finished: bool = True

    @property
    def answer(self) -> str:
        """What is judged, turns with an empty line between them."""
        return GAP.join(self.text[start:end] for start, end in self.places)

    def outer(self, at: int) -> int:
        """Returns the place in the text of the answer's character `at`."""
        for start, end in self.places:
            if at <= end - start:
                return start + max(at, 0)
            at -= end - start + len(GAP)
        return len(self.text)


def split_reasoning(
    tokenizer: Tokenizer, ids: Sequence[int], end: str, mask: Sequence[int] = ()
) -> Parts:
    """Splits the ids' text after the last turn's first `end`, a tag such as "</think>". mask: 0 at
    a tool's ids.
    """
    others_tokens = [place for place, is_sampled in enumerate(mask, start=1) if not is_sampled]
    turn = max(others_tokens, default=0)

    def spelled(count: int) -> str:
        return tokenizer.decode(ids[turn:count], skip_special_tokens=False)

    text = tokenizer.decode(ids, skip_special_tokens=True)
    if end not in spelled(len(ids)):
        return Parts(text, ((len(text), len(text)),), finished=False)
    # tokens up to the tag's last
    count = bisect_left(range(len(ids)), True, key=lambda count: end in spelled(count))
    written = spelled(count)
    # characters of the answer in the tag's last token
    beyond = len(written) - written.index(end) - len(end)
    start = len(tokenizer.decode(ids[:count], skip_special_tokens=True)) - beyond
    return Parts(text, ((start, len(text)),))


def split_turns(tokenizer: Tokenizer, ids: Sequence[int], judged_turns: Sequence[str]) -> Parts:
    """Finds in the text of the sampled ids what is judged of it, `said`: the assistant's last
    message, or all of its messages in order, without the reasoning that the tokenizer's
    response_template takes out.
    """
    text = tokenizer.decode(ids, skip_special_tokens=True)
    turns = [turn for turn in judged_turns if turn] or [""]
    places: list[tuple[int, int]] = []
    before = len(text)
    for turn in reversed(turns):
        before = text.rfind(turn, 0, before)
        if before < 0:  # the ids decode to another text: it is judged, and gets no credit
            joined = GAP.join(turns)
            return Parts(joined, ((0, len(joined)),))
        places.insert(0, (before, before + len(turn)))
    return Parts(text, tuple(places))


def unknown_mark(tokenizer: Tokenizer, ids: Sequence[Sequence[int]], parts: Sequence[Parts]) -> str:
    """Returns the mark, such as "[PLAN]", that opens most completions and is read as part of the
    answer, "" if none.

    parts: as split_turns makes them.
    """
    counts: Counter[str] = Counter()
    for ids_of_row, part in zip(ids, parts, strict=True):
        answer = part.answer.lstrip()
        starts_later = part.places[0][0] > 0
        if starts_later or not answer or TURN_MARKS.match(answer):
            continue
        match = MARK.match(tokenizer.decode(ids_of_row[:16], skip_special_tokens=False))
        if match:
            counts[match[1]] += 1
    for mark, count in counts.items():
        if 2 * count > len(ids) and not SHOWN.fullmatch(mark):
            return mark
    return ""


def answer_of(tokenizer: Any, ids: Sequence[int], end: str | None) -> str:
    """Returns the ids' text without control tokens; with an `end`, what follows it. tokenizer:
    transformers'.
    """
    if end is None:
        return str(tokenizer.decode(ids, skip_special_tokens=True))
    return split_reasoning(tokenizer.backend_tokenizer, ids, end).answer


def on_completion(verdict: Verdict, parts: Parts) -> Verdict:
    """Returns the answer's verdict with its spans, and what was not read of it, moved to their
    place in the whole completion.
    """
    spans = []
    for span in verdict.spans:
        start = parts.outer(span.start)
        end = parts.outer(span.end - 1) + 1
        spans.append(replace(span, start=start, end=end))
    unread = []
    for part in verdict.unread:
        start = parts.outer(part.start)
        end = parts.outer(part.end - 1) + 1
        unread.append(replace(part, start=start, end=end))
    return replace(verdict, spans=tuple(spans), unread=tuple(unread))
