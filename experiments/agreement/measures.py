"""Measures of agreement that only the studies in this folder take: precision and recall of finds,
floors of words.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from spanreward.rewards.text.bag_of_words import BAG_WORD, STOP_WORDS, content_words


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Precision, recall and F1 in [0, 1] of a set of finds; 0 where nothing was found or nothing is
    there.
    """

    precision: float
    recall: float
    f1: float


def retrieval(right: float, found: float, there: float) -> Retrieval:
    """From counts: `right` of the `found` are correct, `there` should have been found."""
    precision = right / found if found else 0.0
    recall = right / there if there else 0.0
    total = precision + recall
    return Retrieval(precision, recall, 2 * precision * recall / total if total else 0.0)


def flag_retrieval(predicted: Sequence[bool], true: Sequence[bool]) -> Retrieval:
    """Predicted flags against true ones, one each per word.

    Raises ValueError when the lengths differ.
    """
    right = sum(p and t for p, t in zip(predicted, true, strict=True))
    return retrieval(right, sum(predicted), sum(true))


def token_precision(text: str, references: Sequence[str]) -> float:
    """Returns the share of the text's content words that the joined references have, as multisets,
    in [0, 1]; 1 without words.
    """
    own = Counter(content_words(text))
    there = Counter(word for reference in references for word in content_words(reference))
    return (own & there).total() / own.total() if own else 1.0


def absent_words(text: str, references: Sequence[str]) -> list[tuple[int, int]]:
    """Returns the characters of the content words that occur in no reference."""
    there = {word for reference in references for word in content_words(reference)}
    return [
        match.span()
        for match in BAG_WORD.finditer(text.lower())
        if match.group() not in STOP_WORDS | there
    ]


def swap_consistency(choices: Sequence[tuple[Hashable | None, Hashable | None]]) -> float | None:
    """Returns the share, in [0, 1], of pairs whose two orders chose the same answer (MLLM-Bench,
    section 6.4). choices: each order's answer, by name. A pair with a failed vote (None) is left
    out; None where all are.
    """
    read = [one == other for one, other in choices if one is not None and other is not None]
    return sum(read) / len(read) if read else None


RIGHT_ABOVE = 0.5  # the score above which an answer counts as right


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Returns the chance that a positive scores above a negative, ties half, in [0, 1]; nan without
    both classes.
    """
    labels = np.asarray(positive, dtype=bool)
    if len(scores) != len(labels):
        raise ValueError(f"got {len(scores)} scores and {len(labels)} labels")
    positives, negatives = int(labels.sum()), int((~labels).sum())
    if not positives or not negatives:
        return float("nan")
    rank_sum = rankdata(scores)[labels].sum()
    return float((rank_sum - positives * (positives + 1) / 2) / (positives * negatives))


def cohen_kappa(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Returns the agreement beyond chance (Cohen 1960), at most 1; nan where both always say the
    same one thing.
    """
    count = len(first)
    agreed = sum(one == other for one, other in zip(first, second, strict=True)) / count
    yes, other_yes = sum(first) / count, sum(second) / count
    chance = yes * other_yes + (1 - yes) * (1 - other_yes)
    return (agreed - chance) / (1 - chance) if chance < 1 else float("nan")
