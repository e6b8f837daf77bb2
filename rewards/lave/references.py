"""People's answers before they are shown: counted, the rare ones left out (LAVE, section 4.2).

keep_references(["red"] * 6 + ["Red."] * 2 + ["pink"], 0.25)      # the eight red ones
is_binary(["yes", "yes", "no"])      # True
"""

from collections import Counter
from collections.abc import Sequence

from rewards.language.answer_text import normalise


def keep_references(answers: Sequence[str], share: float) -> list[str]:
    """The answers, sorted, whose normalised form is given at least `share` times as often as the most frequent one.

    share 0 keeps all. An answer at exactly this share is kept (section 4.2). An answer of which normalisation leaves
    nothing ("?") counts as itself.
    """
    forms = [normalise(answer) or answer for answer in answers]
    counts = Counter(forms)
    floor = share * max(counts.values(), default=0)
    return sorted(answer for answer, form in zip(answers, forms, strict=True) if counts[form] >= floor)


def is_binary(references: Sequence[str]) -> bool:
    """Whether yes or no is the most frequent reference, or one of those that are."""
    counts = Counter(map(normalise, references))
    most = max(counts.values(), default=0)
    return any(most and counts[answer] == most for answer in ("yes", "no"))
