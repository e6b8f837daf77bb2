"""Prepares people's answers: drops the rare ones, and detects yes/no questions (LAVE, section 4.2).

keep_references(["red"] * 6 + ["Red."] * 2 + ["pink"], 0.25)      # the eight red ones
is_binary(["yes", "yes", "no"])      # True
"""

from collections import Counter
from collections.abc import Sequence

from spanreward.rewards.language.answer_text import normalise


def keep_references(answers: Sequence[str], share: float) -> list[str]:
    """Returns the answers, sorted, that people gave at least `share` times as often as the most frequent one.

    Answers are compared in normalised form, or as they are if that is empty ("?"). share 0 keeps all answers.
    """
    forms = [normalise(answer) or answer for answer in answers]
    counts = Counter(forms)
    floor = share * max(counts.values(), default=0)
    return sorted(answer for answer, form in zip(answers, forms, strict=True) if counts[form] >= floor)


def is_binary(references: Sequence[str]) -> bool:
    """Returns whether yes or no is a most frequent reference."""
    counts = Counter(map(normalise, references))
    most = max(counts.values(), default=0)
    return any(most and counts[answer] == most for answer in ("yes", "no"))
