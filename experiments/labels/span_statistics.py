"""Which tokens of a text a metric calls wrong, and people: pure functions, as PoSh's table 2
counts.

    places = token_places("A red cat.")                     # [(0, 1), (2, 5), (6, 9)]
    scores = token_scores(places, [(2, 5, 0.25)])           # [1.0, 0.25, 1.0]
    best_macro_f1([1.0, 0.25, 1.0], [False, True, False])   # 1.0, at an alerting threshold of 0.25

A token is spaCy's, without white space and single punctuation marks. Pages colour a word by the
lowest score that touches it, so that no mistake hides; here, as in PoSh's script, the highest
counts.
"""

from collections.abc import Sequence
from functools import cache
from string import punctuation

import numpy as np
import spacy
from spacy.tokenizer import Tokenizer

THRESHOLDS = 10
PUNCTUATION = set(punctuation)

Place = tuple[int, int]


@cache
def _tokenizer() -> Tokenizer:
    """spaCy's English tokenizer, which is rules alone: its trained pipelines have the same."""
    return spacy.blank("en").tokenizer


def token_places(text: str, signs: bool = False) -> list[Place]:
    """Returns the characters [start, end) of each token. signs: with single punctuation marks."""
    tokens = [(token.idx, token.text.strip()) for token in _tokenizer()(text)]
    return [
        (start, start + len(words))
        for start, words in tokens
        if words and (signs or words not in PUNCTUATION)
    ]


def token_scores(places: Sequence[Place], spans: Sequence[tuple[int, int, float]]) -> list[float]:
    """Returns, per token, the highest score of the spans (start, end, score) that touch it; 1 where
    none does.
    """
    scores = np.full(max((end for _, end in places), default=0), -np.inf)
    for start, end, score in spans:
        np.maximum(scores[start:end], score, out=scores[start:end])
    highest = [float(scores[start:end].max()) for start, end in places]
    return [1.0 if score == -np.inf else score for score in highest]


def token_flags(places: Sequence[Place], spans: Sequence[Place]) -> list[bool]:
    """Returns, per token, whether one of the spans touches it."""
    return [
        score == 0.0 for score in token_scores(places, [(start, end, 0.0) for start, end in spans])
    ]


def best_macro_f1(scores: Sequence[float], true: Sequence[bool]) -> float:
    """Returns the largest macro F1 at ten alerting thresholds, evenly from the smallest score to
    the largest; nan without tokens.

    PoSh, table 2: "the maximum F1 when identifying mistakes and omissions across all alerting
    thresholds". At a threshold, the tokens that score no higher are flagged. Macro F1 is the mean
    of the F1 of the flagged tokens and of the others, in [0, 1]; a class that nobody names has F1 0
    (section 5: "macro F1 where we credit/penalize a model for predicting each annotated/unannotated
    token").
    """
    if len(scores) != len(true):
        raise ValueError(f"got {len(scores)} scores and {len(true)} flags")
    if not len(scores):
        return float("nan")
    values, people = np.asarray(scores, dtype=np.float64), np.asarray(true, dtype=bool)
    thresholds = np.linspace(values.min(), values.max(), THRESHOLDS)
    return max(_macro_f1(values <= threshold, people) for threshold in thresholds)


def _macro_f1(flagged: np.ndarray, people: np.ndarray) -> float:
    def f1(one: np.ndarray, other: np.ndarray) -> float:
        return 2 * float((one & other).sum()) / max(float(one.sum() + other.sum()), 1.0)

    return (f1(flagged, people) + f1(~flagged, ~people)) / 2
