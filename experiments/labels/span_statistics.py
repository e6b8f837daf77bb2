"""Which words of a text a metric calls wrong, and people: pure functions over words.

    scores = word_scores("A red cat.", [(2, 5, 0.25)])          # [1.0, 0.25, 1.0]
    best_macro_f1([1.0, 0.25, 1.0], [False, True, False])       # 1.0, at an alerting threshold of 0.25

Words are runs of characters without white space.
"""

import re
from collections.abc import Sequence

import numpy as np

_WORD = re.compile(r"\S+")


def word_scores(text: str, spans: Sequence[tuple[int, int, float]]) -> list[float]:
    """Returns, per word, the lowest score of the spans (start, end, score) that touch it; 1 where none does."""
    return [
        min((score for start, end, score in spans if start < word.end() and word.start() < end), default=1.0)
        for word in _WORD.finditer(text)
    ]


def word_flags(text: str, spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Returns, per word, whether one of the spans touches it."""
    return [any(start < word.end() and word.start() < end for start, end in spans) for word in _WORD.finditer(text)]


def best_macro_f1(scores: Sequence[float], true: Sequence[bool]) -> float:
    """Returns the largest macro F1 over all alerting thresholds; nan without words.

    PoSh, table 2: "the maximum F1 when identifying mistakes and omissions across all alerting thresholds". At a
    threshold, the words that score no higher are flagged; to flag nothing is one of the thresholds. Macro F1 is the
    mean of the F1 of the flagged words and of the others, in [0, 1]; a class that nobody names has F1 0 (section 5:
    "macro F1 where we credit/penalize a model for predicting each annotated/unannotated token").
    """
    if len(scores) != len(true):
        raise ValueError(f"got {len(scores)} scores and {len(true)} flags")
    if not len(scores):
        return float("nan")
    values, people = np.asarray(scores, dtype=np.float64), np.asarray(true, dtype=bool)
    order = np.argsort(values, kind="stable")
    last = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)  # the last word of each score, in order
    flagged = np.append(0, last + 1)
    right = np.append(0, np.cumsum(people[order])[last])
    count, there = len(values), people.sum()
    neither = count - flagged - there + right
    return float(((_f1(right, flagged, there) + _f1(neither, count - flagged, count - there)) / 2).max())


def _f1(right: np.ndarray, found: np.ndarray, there: np.ndarray) -> np.ndarray:
    total = np.asarray(found + there, dtype=np.float64)
    return np.divide(2.0 * right, total, out=np.zeros_like(total), where=total > 0)
