"""Prepares people's answers: drops the rare ones, and detects yes/no questions (LAVE, section 4.2).

keep_references(["red"] * 6 + ["Red."] * 2 + ["pink"], 0.25)      # the eight red ones
is_binary(["yes", "yes", "no"])      # True
"""

from collections import Counter
from collections.abc import Sequence

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.language.answer_text import normalise


def keep_references(answers: Sequence[str], share: float, mode: Mode = "default") -> list[str]:
    """Returns the answers, sorted, that people gave at least `share` times as often as the most frequent one.

    Answers are compared in normalised form, or as they are if that is empty ("?"). In published mode they are compared
    as they are, and one at exactly this share is dropped too, unless it is a most frequent one. share 0 keeps all.
    """
    forms = [answer if mode == "published" else normalise(answer) or answer for answer in answers]
    counts = Counter(forms)
    most = max(counts.values(), default=0)
    floor = share * most
    also = floor if mode == "default" else most
    kept = {form for form, count in counts.items() if count > floor or count == also}
    return sorted(answer for answer, form in zip(answers, forms, strict=True) if form in kept)


def is_binary(references: Sequence[str]) -> bool:
    """Returns whether yes or no is a most frequent reference."""
    counts = Counter(map(normalise, references))
    most = max(counts.values(), default=0)
    return any(most and counts[answer] == most for answer in ("yes", "no"))
