"""Which words of a text a metric calls wrong, and people: pure functions over words.

    scores = word_scores("A red cat.", [(2, 5, 0.25)])          # [1.0, 0.25, 1.0]
    best_macro_f1([1.0, 0.25, 1.0], [False, True, False])       # 1.0, at an alerting threshold of 0.25

Words are runs of characters without white space. A word's score is the lowest of the spans that touch it, 1 where none
does.
"""

import re
from collections.abc import Sequence

import numpy as np

_WORD = re.compile(r"\S+")


def words(text: str) -> list[tuple[int, int]]:
    """Where each word of the text starts and ends, in characters."""
    return [match.span() for match in _WORD.finditer(text)]


def word_scores(text: str, spans: Sequence[tuple[int, int, float]]) -> list[float]:
    """Per word the lowest score of the spans (start, end, score) that touch it; 1 where none does."""
    return [
        min((score for start, end, score in spans if start < last and first < end), default=1.0)
        for first, last in words(text)
    ]


def word_flags(text: str, spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Per word whether one of the spans touches it."""
    return [any(start < last and first < end for start, end in spans) for first, last in words(text)]


def macro_f1(predicted: Sequence[bool], true: Sequence[bool]) -> float:
    """The mean of the F1 of the flagged words and the F1 of the others, in [0, 1]; a class that nobody names has F1 0.

    PoSh, section 5: "macro F1 where we credit/penalize a model for predicting each annotated/unannotated token".
    """
    if len(predicted) != len(true):
        raise ValueError(f"got {len(predicted)} predicted flags and {len(true)} true ones")
    ours, people = np.asarray(predicted, dtype=bool), np.asarray(true, dtype=bool)
    both, neither = (ours & people).sum(), (~ours & ~people).sum()
    return float((_f1(both, ours.sum(), people.sum()) + _f1(neither, (~ours).sum(), (~people).sum())) / 2)


def best_macro_f1(scores: Sequence[float], true: Sequence[bool]) -> float:
    """The largest macro F1 over all alerting thresholds, words being flagged from a score down; nan without words.

    PoSh, table 2: "the maximum F1 when identifying mistakes and omissions across all alerting thresholds". To flag
    nothing is one of them.
    """
    if len(scores) != len(true):
        raise ValueError(f"got {len(scores)} scores and {len(true)} flags")
    if not len(scores):
        return float("nan")
    values, people = np.asarray(scores, dtype=np.float64), np.asarray(true, dtype=bool)
    order = np.argsort(values, kind="stable")
    last = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)  # of each score, in that order
    flagged = np.append(0, last + 1)
    right = np.append(0, np.cumsum(people[order])[last])
    count, there = len(values), people.sum()
    neither = count - flagged - there + right
    return float(((_f1(right, flagged, there) + _f1(neither, count - flagged, count - there)) / 2).max())


def _f1(right: np.ndarray, found: np.ndarray, there: np.ndarray) -> np.ndarray:
    total = np.asarray(found + there, dtype=np.float64)
    return np.divide(2.0 * np.asarray(right), total, out=np.zeros_like(total), where=total > 0)
