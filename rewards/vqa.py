"""The metrics LAVE is compared with: pure functions of an answer and the answers of people.

    vqa_accuracy("2 dogs", ["two dogs"] * 2 + ["dogs"] * 8)      # 0.6
    soft_vqa_accuracy("dog", ["dogs"] * 10)                      # 0.75
    exact_match("Dogs.", ["dogs"]), contains("a few dogs", ["dogs"]), token_f1("white dog", ["dog"])

All are in [0, 1], compare normalised answers (`rewards.language.answer_text.normalise`) and take the answer as it is: a
sentence around it is part of it.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from rewards.language.answer_text import normalise

AGREED = 3  # people who must have given an answer for it to count as right


def vqa_accuracy(answer: str, answers: Sequence[str]) -> float:
    """VQA accuracy (Antol et al. 2015), the official evaluation's average over leaving one person out.

    mean over the people i of min(1, number of the others who gave this answer / 3). Of ten answers, m of them equal:
    0.3, 0.6, 0.9, 1 for m = 1, 2, 3, 4 and more. Raises ValueError for fewer than four answers, of which no answer
    could reach 1. Answers are always normalised; the official code leaves them as they are where all are alike.
    """
    if len(answers) <= AGREED:
        raise ValueError(f"VQA accuracy needs {AGREED + 1} answers or more (its datasets have 10), got {len(answers)}")
    given = normalise(answer)
    same = [normalise(other) == given for other in answers]
    agreeing = sum(same)
    return sum(min(1.0, (agreeing - own) / AGREED) for own in same) / len(same)


def soft_vqa_accuracy(answer: str, answers: Sequence[str]) -> float:
    """VQA accuracy with edits in place of equality (Hu et al. 2022): the mean of the three highest max(0, 1 - CER).

    CER is the number of edited characters over the length of the person's answer. Raises ValueError for fewer than
    three answers.
    """
    if len(answers) < AGREED:
        raise ValueError(f"soft VQA accuracy needs {AGREED} answers or more, got {len(answers)}")
    likeness = sorted((_likeness(normalise(answer), normalise(other)) for other in answers), reverse=True)
    return sum(likeness[:AGREED]) / AGREED


def exact_match(answer: str, answers: Sequence[str]) -> float:
    """1 when the answer equals any of the answers, else 0."""
    return float(normalise(answer) in {normalise(other) for other in answers})


def contains(answer: str, answers: Sequence[str]) -> float:
    """1 when the characters of any of the answers occur in the answer, in words or across them, else 0."""
    text = normalise(answer)
    return float(any(wanted in text for wanted in map(normalise, answers) if wanted))


def token_f1(answer: str, answers: Sequence[str]) -> float:
    """F1 of the words as multisets against the best single answer (Rajpurkar et al. 2016); 0 of no answers."""
    own = Counter(normalise(answer).split())
    return max((_f1(own, Counter(normalise(other).split())) for other in answers), default=0.0)


def _f1(own: Counter[str], other: Counter[str]) -> float:
    total = own.total() + other.total()
    return 2 * (own & other).total() / total if total else 0.0


def _likeness(answer: str, reference: str) -> float:
    if not reference:
        return float(not answer)
    return max(0.0, 1 - edits(answer, reference) / len(reference))


@lru_cache(maxsize=4096)
def edits(first: str, second: str) -> int:
    """Fewest insertions, deletions and substitutions of a character that make one text the other (Levenshtein)."""
    row = list(range(len(second) + 1))
    for i, character in enumerate(first, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(second, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (character != other))
    return row[-1]
