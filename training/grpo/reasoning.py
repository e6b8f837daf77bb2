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
from spanreward.rewards.text.markup import BLOCK_TAGS
from spanreward.rewards.text.shown import TURN_MARKS

# a mark that may begin a reasoning: "<think>", "[PLAN]", "<|channel|>analysis"
REASONING_MARK = re.compile(r"\s*(<\|channel\|>\w+|<\|\w{3,}\|>|[<\[{◁【]\w{3,}[>\]}▷】])")
GAP_BETWEEN_TURNS = "\n\n"  # put between turns that are judged as one text
# marks that begin an answer and no reasoning
ANSWER_MARK = re.compile(rf"<(?:{BLOCK_TAGS}|ref|box|img|strong|span)>", re.IGNORECASE)
UNKNOWN_MARK_WARNING = (
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
        return GAP_BETWEEN_TURNS.join(self.text[start:end] for start, end in self.places)

    def index_in_text(self, index: int) -> int:
        """Returns the index in `text` of the character that has the index `index` in `answer`.

        `answer` has only the judged parts of `text`, joined by GAP_BETWEEN_TURNS. Example: in the
        text "Hm. A cup.", the judged part is at the characters [4, 10), and the answer is "A cup.".
        The index 2 in the answer, of "c", gives 6.

        The text itself has no GAP_BETWEEN_TURNS, which is two characters. The first character of
        a gap gives the end of the part before, and the second character gives the beginning of the
        next part.
        """
        part_start = 0  # the index in `answer` at which the current part begins
        for start, end in self.places:
            part_end = part_start + end - start  # the index in `answer` of the gap after the part
            if index < part_start:  # the second character of the gap before this part
                return start
            if index <= part_end:  # a character of this part, or the first of the gap after it
                return start + index - part_start
            part_start = part_end + len(GAP_BETWEEN_TURNS)
        return len(self.text)

    def span_in_text(self, start: int, end: int) -> tuple[int, int]:
        """Returns the place (start, end) in `text` of the characters [start, end) of `answer`.

        Example: if the answer begins at character 4 of the text, (2, 5) gives (6, 9).
        """
        # find the last character, and not `end` itself, which may belong to the next judged part
        last = self.index_in_text(end - 1)
        return self.index_in_text(start), last + 1


def split_reasoning(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    end: str,
    mask: Sequence[int] = (),
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
    turn_start = 0
    for count, is_sampled in enumerate(mask, start=1):
        if not is_sampled:
            turn_start = count
    text = tokenizer.decode(ids, skip_special_tokens=True)
    count_up_to_tag = _count_up_to_tag(tokenizer, ids[turn_start:], end)
    if count_up_to_tag is None:
        # the reasoning never ended: judge an empty answer at the end of the text
        return Parts(text, ((len(text), len(text)),), finished=False)
    tag_stop = turn_start + count_up_to_tag  # the index after the last id of the tag
    # The last id of the tag may also write the first characters of the answer, such as the "A" of
    # ">A". To find these characters, decode special tokens too: the tag may be a special token.
    turn_up_to_tag = tokenizer.decode(ids[turn_start:tag_stop], skip_special_tokens=False)
    _, _, answer_beginning = turn_up_to_tag.partition(end)  # "A", or mostly ""
    # find where the answer starts in `text`, which has no special tokens
    text_up_to_tag = tokenizer.decode(ids[:tag_stop], skip_special_tokens=True)
    answer_start = len(text_up_to_tag) - len(answer_beginning)
    return Parts(text, ((answer_start, len(text)),))


def _count_up_to_tag(tokenizer: Tokenizer, ids: Sequence[int], end: str) -> int | None:
    """Returns the least number of ids whose text has the tag `end`, or None if no ids have it.

    Example: if the ids write "Hm", ".", "</think>" and "A cup.", the result is 3.

    The tag is searched with special tokens, because the tag itself may be one.
    """

    def has_tag(count: int) -> bool:
        """Returns whether the tag is in the text of the first `count` ids."""
        return end in tokenizer.decode(ids[:count], skip_special_tokens=False)

    if not has_tag(len(ids)):
        return None
    # bisection works, because a text that has the tag keeps it with further ids
    return bisect_left(range(len(ids)), True, key=has_tag)


def split_turns(tokenizer: Tokenizer, ids: Sequence[int], judged_turns: Sequence[str]) -> Parts:
    """Returns the text of the sampled ids, with the places of the judged turns in the text.

    Example: if the ids write "A cup.Red." and the judged turns are ["A cup.", "Red."], the places
    are (0, 6) and (6, 10).

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
    next_start = len(text)  # where the next turn starts
    for turn in reversed(turns):
        start = text.rfind(turn, 0, next_start)
        # If the text of the ids lacks the turn, judge the turns as they are. As the ids decode to
        # another text, the completion gets no span credit.
        if start < 0:
            joined = GAP_BETWEEN_TURNS.join(turns)
            return Parts(joined, ((0, len(joined)),))
        places.insert(0, (start, start + len(turn)))
        next_start = start
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
        first_judged_character, _ = part.places[0]
        # skip a completion without an answer, or with text before its answer: a mark at its
        # beginning is not judged
        if not answer or first_judged_character > 0:
            continue
        if TURN_MARKS.match(answer):  # skip a known mark, such as "<think>"
            continue
        # decode only the first ids, because a mark is short
        beginning = tokenizer.decode(ids_of_row[:16], skip_special_tokens=False)
        match = REASONING_MARK.match(beginning)
        if match:
            counts[match[1]] += 1
    for mark, count in counts.items():
        # at most one mark can begin more than half of the completions
        if 2 * count > len(ids) and not ANSWER_MARK.fullmatch(mark):
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

    The offsets are those of the verdict's spans and of its unread parts. Example: if the answer
    begins at character 4 of the text, the span [2, 5) becomes [6, 9).
    """
    spans = []
    for span in verdict.spans:
        start, end = parts.span_in_text(span.start, span.end)
        spans.append(replace(span, start=start, end=end))
    unread = []
    for part in verdict.unread:
        start, end = parts.span_in_text(part.start, part.end)
        unread.append(replace(part, start=start, end=end))
    return replace(verdict, spans=tuple(spans), unread=tuple(unread))
