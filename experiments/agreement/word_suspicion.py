"""Which words does a judge suspect? By word, so that a threshold of the judge's own does not
matter.

    marked = read_marked("outputs/hat.jsonl")
    found = measure_words(suspected_words(reward, marked))
    found["auroc"], found["low"], found["high"], found["f1"]

A word's suspicion is 1 less the lowest score of the spans with credit that touch it, and 0 without
one: what PoSh asks nothing about is not suspect. Or it is the encoder's own, 1 less its lowest
probability of the word's tokens. Only content words count. `f1` is that of the best threshold,
which is seen on the set itself: it compares judges, and promises nothing. Intervals are 95 %
bootstraps over texts.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.agreement.captions import Joined, judge, overlaps
from experiments.agreement.measures import auroc
from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.comparison.resampling import Interval, bootstrap
from spanreward.rewards.experimental.encoder_judge import EncoderJudge
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.text.bag_of_words import BAG_WORD, STOP_WORDS
from spanreward.training.data.marks import CharacterSpans
from spanreward.training.experimental.judge_training.data import picture_of
from spanreward.training.experimental.judge_training.fit import SETTINGS_FILE

Marked = tuple[Sample, CharacterSpans]
Scores = Sequence[tuple[tuple[int, int], float]]


@dataclass(frozen=True, slots=True)
class SuspectedWord:
    """Characters [start, end) of a text, how suspect the judge finds them, in [0, 1], and whether
    they are wrong.
    """

    start: int
    end: int
    suspicion: float
    wrong: bool


def unseen_of(marked: Sequence[Marked], folder: Path) -> list[Marked]:
    """Returns the texts whose picture the judge in this folder did not read."""
    read = set(json.loads((folder / SETTINGS_FILE).read_text("utf-8"))["pictures"]["read"])
    return [one for one in marked if picture_of(one[0]) not in read]


def suspected_words(reward: Reward | Joined, marked: Sequence[Marked]) -> list[list[SuspectedWord]]:
    """Returns the content words of each text. Raises RuntimeError where one has no score."""
    verdicts = judge(reward, [(sample.completion, sample.references) for sample, _ in marked])
    return [
        words_of(sample.completion, verdict, wrong)
        for (sample, wrong), verdict in zip(marked, verdicts, strict=True)
    ]


def read_words(encoder: EncoderJudge, marked: Sequence[Marked]) -> list[list[SuspectedWord]]:
    """Returns the content words of each text as the encoder reads it beside its joined
    references.
    """
    with encoder:
        read = encoder.read(
            [(sample.completion, " ".join(sample.references)) for sample, _ in marked]
        )
    return [
        scored_words(sample.completion, list(tokens.items()), wrong)
        for (sample, wrong), tokens in zip(marked, read, strict=True)
    ]


def words_of(text: str, verdict: Verdict, wrong: CharacterSpans) -> list[SuspectedWord]:
    return scored_words(
        text, [((s.start, s.end), s.score) for s in verdict.spans if s.credit], wrong
    )


def scored_words(text: str, scores: Scores, wrong: CharacterSpans) -> list[SuspectedWord]:
    """scores: how right characters [start, end) of the text are, in [0, 1]."""
    found = []
    for word in BAG_WORD.finditer(text.lower()):
        if word.group() not in STOP_WORDS:
            touching = [score for place, score in scores if overlaps(word.span(), [place])]
            suspicion = 1 - min(touching, default=1.0)
            found.append(SuspectedWord(*word.span(), suspicion, overlaps(word.span(), wrong)))
    return found


def measure_words(texts: Sequence[Sequence[SuspectedWord]]) -> dict[str, Any]:
    def area(chosen: Sequence[Sequence[SuspectedWord]]) -> float:
        words = [word for text in chosen for word in text]
        return auroc([word.suspicion for word in words], [word.wrong for word in words])

    interval: Interval = bootstrap(texts, area)
    words = [word for text in texts for word in text]
    suspicion, wrong = (
        np.array([word.suspicion for word in words]),
        np.array([word.wrong for word in words]),
    )
    order = np.argsort(-suspicion, kind="stable")
    last = np.append(np.diff(suspicion[order]) != 0, True)  # equal suspicions are flagged together
    right = np.cumsum(wrong[order])
    f1 = (2 * right / (np.arange(1, len(words) + 1) + wrong.sum()))[last]
    return {
        "auroc": area(texts),
        "low": interval.low,
        "high": interval.high,
        "f1": float(f1.max()),
        "texts": len(texts),
        "words": len(words),
        "wrong": int(wrong.sum()),
    }
