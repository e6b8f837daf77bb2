"""How much of a completion is judged, so that length is no refuge and no text stalls a step.

    cut = judged_part(sample)                           # the first judged_length(completion) characters

Past JUDGED_CHARACTERS, or JUDGED_TOKENS words and signs, nobody parses a completion, and the rest counts as wrong
(default modes only): what a text costs is bounded, whatever it is made of.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from rewards.verdict import Sample, Span, Verdict

JUDGED_CHARACTERS = 10_000
JUDGED_TOKENS = 4_000  # English prose of JUDGED_CHARACTERS has 2,100; "!a!a!a" would have 10,000
TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")


def judged_length(text: str) -> int:
    """How many of the text's characters are judged."""
    if len(text) <= JUDGED_TOKENS:  # a word or sign has a character at least
        return len(text)
    begun = text[:JUDGED_CHARACTERS]
    last = next(islice(TOKEN.finditer(begun), JUDGED_TOKENS - 1, None), None)
    return len(begun) if last is None or not TOKEN.search(begun, last.end()) else last.end()


def judged_part(sample: Sample) -> Sample:
    """The sample with as much of its completion as is judged."""
    return replace(sample, completion=sample.completion[: judged_length(sample.completion)])


def charge_unread(
    verdict: Verdict, read: int, total: int, charged: Callable[[dict[str, float], float], dict[str, float]]
) -> Verdict:
    """The verdict on the first `read` of `total` characters as one on all of them: the others count as wrong.

    Score and credits are multiplied by the share that was read; the rest is one span of score 0 whose credit is what it
    costs. charged(parts, kept): the metric's parts when the share `kept` of the text was read.
    """
    if read >= total or verdict.score is None:
        return verdict
    share = read / total
    score = verdict.score * share
    spans = [
        replace(span, end=min(span.end, read), credit=span.credit * share)
        for span in verdict.spans
        if span.start < read
    ]
    note = f"not judged: past {read} characters"
    number = max((span.component for span in spans), default=-1) + 1
    unread = Span(read, total, 0.0, score - verdict.score, "unread", note, number)
    return replace(verdict, score=score, parts=charged(verdict.parts, share), spans=(*spans, unread))
