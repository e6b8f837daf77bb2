"""For policies that reason before they answer: finds the answer, which alone is judged.

    parts = split_reasoning(tokenizer, ids, "</think>")  # ids as sampled, a tokenizers.Tokenizer
    parts.text                                           # the text of all ids
    (verdict,) = reward.assess([Sample(prompt, parts.answer)])
    verdict = on_completion(verdict, parts)              # the spans now index parts.text

The first end tag ends the reasoning. vLLM's reasoning parsers and TRL's response templates also
split at the first tag, so that a user is shown all text after the first tag. (TRL's
reasoning_accuracy_reward splits at the last tag. With the last tag, a policy could hide a bad
answer before a second tag.) A start tag is not required, because many chat templates write the
start tag into the prompt. Without an end tag the answer is empty. Metrics give an empty answer the
status EMPTY and the score 0, without a judge call.

The tag is searched in the decoded ids, with special tokens. The message from TRL may lack the
reasoning, because a response template moves it to `reasoning_content` or `thinking`. The message
may also lack the tag, if the tag is a special token such as Magistral's [/THINK]. The judged text
is decoded without special tokens, like the texts that TRL gives to rewards.
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

# a mark that may begin a reasoning: "<think>", "[PLAN]", "<|channel|>analysis"
MARK = re.compile(r"\s*(<\|channel\|>\w+|<\|\w{3,}\|>|[<\[{◁【]\w{3,}[>\]}▷】])")
GAP = "\n\n"  # put between turns that are judged as one text
# marks that begin an answer and no reasoning
SHOWN = re.compile(rf"<(?:{BLOCK}|ref|box|img|strong|span)>", re.IGNORECASE)
UNKNOWN = (
    ", and all of them is judged: if it begins a reasoning, set reasoning_end to the tag "
    "that ends it."
)


@dataclass(frozen=True, slots=True)
class Parts:
    """A completion's text, and the parts of the text that are judged.

    Args:
        text: the text of all ids, without special tokens.
        places: the characters [start, end) of each judged part, in order. The parts are the answer,
            or each turn of the assistant.
        finished: whether the reasoning ended with its tag; True if no tag was looked for.
    """

    text: str
    places: tuple[tuple[int, int], ...]
    finished: bool = True

    @property
    def answer(self) -> str:
        """The judged text: the judged parts, joined with an empty line between two parts."""
        return GAP.join(self.text[start:end] for start, end in self.places)

    def outer(self, at: int) -> int:
        """Returns the index in `text` of the character with the index `at` in `answer`.

        The text has no GAP between two turns. The first character of the gap gives the end of the
        turn before, and the second character gives the beginning of the next turn.
        """
        for start, end in self.places:
            length = end - start
            if at <= length:
                return start + max(at, 0)  # `at` is below 0 for a character of the gap before
            at -= length + len(GAP)
        return len(self.text)


def split_reasoning(
    tokenizer: Tokenizer, ids: Sequence[int], end: str, mask: Sequence[int] = ()
) -> Parts:
    """Returns the text of the ids, with the text after the tag `end` as the judged answer.

    Example: "<think>two cups</think>A red cup." has the answer "A red cup.". Of several turns, only
    the last turn is searched, and the first tag in that turn counts.

    Args:
        tokenizer: the policy's tokenizer, from the package `tokenizers`.
        ids: the completion's token ids, as sampled.
        end: the tag that ends the reasoning, such as "</think>".
        mask: for each id 1 if the policy sampled the id, and 0 if a tool wrote it. Empty if the
            policy sampled all ids.
    """
    # find the last turn, which begins after the last id that a tool wrote
    turn = 0
    for place, is_sampled in enumerate(mask, start=1):
        if not is_sampled:
            turn = place

    def spelled(count: int) -> str:
        return tokenizer.decode(ids[turn:count], skip_special_tokens=False)

    text = tokenizer.decode(ids, skip_special_tokens=True)
    if end not in spelled(len(ids)):
        # judge an empty answer at the end of the text
        return Parts(text, ((len(text), len(text)),), finished=False)
    # find the fewest ids that spell the tag; bisection works because more ids keep the tag
    count = bisect_left(range(len(ids)), True, key=lambda count: end in spelled(count))
    written = spelled(count)
    # the last id may also write the first characters of the answer, such as the "A" of ">A"
    beyond = len(written) - written.index(end) - len(end)
    start = len(tokenizer.decode(ids[:count], skip_special_tokens=True)) - beyond
    return Parts(text, ((start, len(text)),))


def split_turns(tokenizer: Tokenizer, ids: Sequence[int], judged_turns: Sequence[str]) -> Parts:
    """Returns the text of the sampled ids, with the places of the judged turns in the text.

    judged_turns: the text of the assistant's last message, or the texts of all messages of the
    assistant, in order. The texts lack a reasoning that the tokenizer's response_template takes
    out.
    """
    text = tokenizer.decode(ids, skip_special_tokens=True)
    turns = [turn for turn in judged_turns if turn]
    if not turns:  # the answer is empty: judge the empty text at the end
        turns = [""]
    places: list[tuple[int, int]] = []
    # search backwards, so that a last turn such as "Yes" is not found inside an earlier turn
    before = len(text)
    for turn in reversed(turns):
        before = text.rfind(turn, 0, before)
        # If the text of the ids lacks the turn, judge the turns as they are. As the ids decode to
        # another text, the completion gets no span credit.
        if before < 0:
            joined = GAP.join(turns)
            return Parts(joined, ((0, len(joined)),))
        places.insert(0, (before, before + len(turn)))
    return Parts(text, tuple(places))


def unknown_mark(tokenizer: Tokenizer, ids: Sequence[Sequence[int]], parts: Sequence[Parts]) -> str:
    """Returns the mark, such as "[PLAN]", that begins more than half of the completions; else "".

    The mark may begin a reasoning that is judged as part of the answer. Known marks, such as
    "<think>", do not count.

    ids: the token ids of each completion. parts: the results of split_turns.
    """
    counts: Counter[str] = Counter()
    for ids_of_row, part in zip(ids, parts, strict=True):
        answer = part.answer.lstrip()
        starts_later = part.places[0][0] > 0
        # skip a completion whose judged part begins later or begins with a known mark
        if starts_later or not answer or TURN_MARKS.match(answer):
            continue
        # decode only the first ids, because a mark is short
        beginning = tokenizer.decode(ids_of_row[:16], skip_special_tokens=False)
        match = MARK.match(beginning)
        if match:
            counts[match[1]] += 1
    for mark, count in counts.items():
        # at most one mark can begin more than half of the completions
        if 2 * count > len(ids) and not SHOWN.fullmatch(mark):
            return mark
    return ""


def answer_of(tokenizer: Any, ids: Sequence[int], end: str | None) -> str:
    """Returns the answer in the text of the ids, without special tokens.

    tokenizer: a tokenizer of transformers. end: the tag that ends the reasoning, such as
    "</think>"; the answer is "" if the text lacks the tag. If `end` is None, the answer is the
    whole text.
    """
    if end is None:
        return str(tokenizer.decode(ids, skip_special_tokens=True))
    return split_reasoning(tokenizer.backend_tokenizer, ids, end).answer


def on_completion(verdict: Verdict, parts: Parts) -> Verdict:
    """Returns the verdict of `parts.answer`, with its offsets changed to offsets in `parts.text`.

    The offsets are those of the verdict's spans and of its unread parts.
    """
    # convert the last character before an end: the end itself may belong to the next turn
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
