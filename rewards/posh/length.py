"""Texts longer than what is judged, so that length is no refuge.

cut = judged_part(sample)                           # the first judged_length(completion) characters
verdict = charge_unread(verdict, sample, "f1")      # precision pays for the characters nobody read
read_note([("the completion", 12_000, 3_588)])      # what a judge with a short context did not read

Past JUDGED_CHARACTERS, or JUDGED_TOKENS words and signs, nobody parses a completion, and the rest counts as wrong
(default mode only): what a text costs is bounded, whatever it is made of. A judge may read less than that. Then recall
does not find what was cut of the completion, which counts as left out, and precision does not find what was cut of a
reference, which is not the completion's fault: the verdict's note says so.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from rewards.posh.scores import coarse_scores
from rewards.verdict import Sample, Span, Status, Verdict

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


def charge_unread(verdict: Verdict, sample: Sample, score: str) -> Verdict:
    """The verdict on the judged part as one on the whole completion.

    Precision is multiplied by the share of the characters that were judged; the others are one span of score 0 whose
    credit is what they cost.
    """
    read, total = judged_length(sample.completion), len(sample.completion)
    if total <= read or verdict.status is not Status.OK or verdict.score is None:
        return verdict
    precision = verdict.parts["precision"] * read / total
    parts = {**verdict.parts, **coarse_scores(precision, verdict.parts["recall"], score)}
    unread = Span(
        read,
        total,
        score=0.0,
        credit=parts[score] - verdict.score,
        kind="unread",
        note=f"not judged: past {read} characters",
        component=max((span.component for span in verdict.spans), default=-1) + 1,
    )
    note = f"only the first {read:,} of {total:,} characters of the completion are judged"
    note = f"{note}; {verdict.note}" if verdict.note else note
    return replace(verdict, score=parts[score], parts=parts, spans=(*verdict.spans, unread), note=note)


def read_note(texts: Sequence[tuple[str, int, int]]) -> str:
    """A sentence on what the judge read of those texts (name, length, characters cut) that were cut, else ""."""
    return "; ".join(
        f"the judge read {size - cut:,} of {size:,} characters of {name}" for name, size, cut in texts if cut
    )
