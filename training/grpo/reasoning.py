"""Policies that reason before they answer: only the answer is judged.

    parts = split_reasoning(tokenizer, ids, "</think>")  # ids as sampled, a tokenizers.Tokenizer
    parts.text                                           # of all ids
    (verdict,) = reward.assess([Sample(prompt, parts.answer)])
    verdict = on_completion(verdict, parts)              # its spans lie on parts.text

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

# what may open a reasoning: "<think>", "[PLAN]", "<|channel|>analysis"
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
    """A completion's text and what is judged of it.

    Args:
        text: of all ids, without special tokens.
        places: the characters [start, end) of what is judged, in order: the answer, or each of the
            assistant's turns.
        finished: whether the reasoning ended with its tag; True where no tag is looked for.
    """

    text: str
    places: tuple[tuple[int, int], ...]
    finished: bool = True

    @property
    def answer(self) -> str:
        """What is judged, turns with an empty line between them."""
        return GAP.join(self.text[start:end] for start, end in self.places)

    def outer(self, at: int) -> int:
        """Returns the place in the text of the answer's character `at`.

        Of the gap between two turns, which is not in the text, one character gets the end of the
        turn before and the other the beginning of the next.
        """
        for start, end in self.places:
            length = end - start
            if at <= length:
                return start + max(at, 0)  # below 0 in the gap before this turn
            at -= length + len(GAP)
        return len(self.text)


def split_reasoning(
    tokenizer: Tokenizer, ids: Sequence[int], end: str, mask: Sequence[int] = ()
) -> Parts:
    """Splits the ids' text after the last turn's first `end`, a tag such as "</think>".

    ids: as sampled. mask: 0 at a tool's ids; empty where all were sampled. "<think>two
    cups</think>A red cup." has the answer "A red cup.".
    """
    # the last turn begins after the last id that a tool wrote
    turn = 0
    for place, is_sampled in enumerate(mask, start=1):
        if not is_sampled:
            turn = place

    def spelled(count: int) -> str:
        return tokenizer.decode(ids[turn:count], skip_special_tokens=False)

    text = tokenizer.decode(ids, skip_special_tokens=True)
    if end not in spelled(len(ids)):
        # an empty answer at the end of the text
        return Parts(text, ((len(text), len(text)),), finished=False)
    # the fewest ids that spell the tag: with more ids it stays, so that they are found by bisection
    count = bisect_left(range(len(ids)), True, key=lambda count: end in spelled(count))
    written = spelled(count)
    # the last of these may also hold the answer's first characters: ">A"
    beyond = len(written) - written.index(end) - len(end)
    start = len(tokenizer.decode(ids[:count], skip_special_tokens=True)) - beyond
    return Parts(text, ((start, len(text)),))


def split_turns(tokenizer: Tokenizer, ids: Sequence[int], judged_turns: Sequence[str]) -> Parts:
    """Finds in the text of the sampled ids what is judged of it.

    judged_turns: the texts of the assistant's last message, or of all of its messages in order,
    without the reasoning that the tokenizer's response_template takes out.
    """
    text = tokenizer.decode(ids, skip_special_tokens=True)
    turns = [turn for turn in judged_turns if turn]
    if not turns:  # nothing was answered: the empty text at the end is judged
        turns = [""]
    places: list[tuple[int, int]] = []
    # from the last turn back, so that a turn that is also a word of another is found where it was
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

    A reasoning that nothing takes out would be judged as if it were the answer.

    parts: as split_turns makes them.
    """
    counts: Counter[str] = Counter()
    for ids_of_row, part in zip(ids, parts, strict=True):
        answer = part.answer.lstrip()
        starts_later = part.places[0][0] > 0
        # a mark that is known, or not part of what is judged, does no harm
        if starts_later or not answer or TURN_MARKS.match(answer):
            continue
        # a mark is short, so that not all ids need be decoded
        beginning = tokenizer.decode(ids_of_row[:16], skip_special_tokens=False)
        match = MARK.match(beginning)
        if match:
            counts[match[1]] += 1
    for mark, count in counts.items():
        if 2 * count > len(ids) and not SHOWN.fullmatch(mark):  # at most one opens more than half
            return mark
    return ""


def answer_of(tokenizer: Any, ids: Sequence[int], end: str | None) -> str:
    """Returns the ids' text without control tokens; with an `end`, what follows it, "" without it.

    tokenizer: one of transformers.
    """
    if end is None:
        return str(tokenizer.decode(ids, skip_special_tokens=True))
    return split_reasoning(tokenizer.backend_tokenizer, ids, end).answer


def on_completion(verdict: Verdict, parts: Parts) -> Verdict:
    """Returns the answer's verdict with its spans, and what was not read of it, moved to their
    place in the whole completion.
    """
    # an end is moved with the last character before it: the end itself may lie in another turn
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
