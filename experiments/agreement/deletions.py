"""Is credit what words are worth? Sentences and wrong attributes are deleted, and the score moves.

    python -m experiments.agreement.deletions ../shared/data

Credit is the score's derivative with respect to how often a component is said. Deleting one is a
step of -1. So the sum of the credits of what only one sentence says is held against the score less
that of the text without the sentence. On HAT the attributes that people call hallucinated are
deleted one by one.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.agreement.known_sets import read_hat
from experiments.agreement.span_agreement import without
from experiments.labels.records import read_objects
from experiments.labels.statistics import pearson
from spanreward.rewards.base.verdict import Sample, Span, Verdict
from spanreward.rewards.judges import MatchJudge
from spanreward.rewards.language.parse import split_sentences
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.reward.reward import Reward

LOWEST = 1e-9  # of a span's score: rated 1 of 5


@dataclass(frozen=True, slots=True)
class Deletion:
    """credit: of what is deleted, the sum. effect: the score less that of the text without it."""

    credit: float
    effect: float


def only_there(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """Returns one span of each component that has all its words in [start, end)."""
    elsewhere = {span.component for span in spans if span.start < start or span.end > end}
    return list(
        {span.component: span for span in spans if span.component not in elsewhere}.values()
    )


def effects(
    metric: Reward, cuts: Sequence[tuple[Sample, Verdict, Sequence[Span], int, int]]
) -> list[Deletion]:
    """Deletes characters [start, end) of each sample's text."""
    texts = [
        replace(sample, completion=without(sample.completion, start, end))
        for sample, _, _, start, end in cuts
    ]
    return [
        Deletion(sum(span.credit for span in spans), whole.score - shorter.score)
        for (_, whole, spans, _, _), shorter in zip(cuts, metric.assess(texts), strict=True)
        if whole.score is not None and shorter.score is not None
    ]


def of_sentences(metric: Reward, samples: Sequence[Sample]) -> list[Deletion]:
    """Deletes each sentence that alone says something and is not the only one."""
    cuts = []
    sentences = split_sentences([sample.completion for sample in samples])
    for sample, verdict, places in zip(samples, metric.assess(samples), sentences, strict=True):
        said = [
            (only_there(verdict.spans, start, end), start, end)
            for start, end in places
            if len(places) > 1
        ]
        cuts += [(sample, verdict, spans, start, end) for spans, start, end in said if spans]
    return effects(metric, cuts)


def of_attributes(
    metric: Reward, labelled: Sequence[tuple[Sample, Sequence[tuple[int, int]]]]
) -> list[Deletion]:
    """Deletes each attribute that is rated 1 and that people call wrong."""
    cuts = [
        (sample, verdict, [span], span.start, span.end)
        for (sample, wrong), verdict in zip(labelled, metric.assess([one for one, _ in labelled]), strict=True)
        for span in verdict.spans
        if span.kind == "attribute" and span.asked and span.score < LOWEST
        and any(start < span.end and span.start < end for start, end in wrong)
    ]  # fmt: skip
    return effects(metric, cuts)


def report(name: str, found: Sequence[Deletion]) -> str:
    """Returns correlation, slope through 0 of effects on credits, and the share of equal signs."""
    credits, moved = (
        np.array([one.credit for one in found]),
        np.array([one.effect for one in found]),
    )
    slope = float((credits * moved).sum() / (credits**2).sum())
    signs = float((np.sign(credits) == np.sign(moved))[moved != 0].mean())
    counts = (
        f"credit above 0: {int((credits > 0).sum())}; score rises without it: "
        f"{int((moved < 0).sum())}"
    )
    r = pearson(credits.tolist(), moved.tolist())
    return f"{name}: {len(found)}, r {r:.3f}, slope {slope:.2f}, signs {signs:.2f}; {counts}"


def main() -> None:
    folder = Path(sys.argv[1])
    pairs = [
        Sample("", row["completion"], references=(row["reference"],))
        for _, row in read_objects(folder / "bench_pairs.jsonl")
    ]
    hat = [
        (record.samples[0], record.mistakes or ())
        for record in read_hat(folder / "hat_aloha/hat_trainval.jsonl")
    ]
    for mode in ("default", "published"):
        metric = PoshReward(MatchJudge(), mode=mode)  # type: ignore[arg-type]
        print(report(f"{mode}, sentences", of_sentences(metric, pairs)))
        print(report(f"{mode}, HAT's wrong attributes", of_attributes(metric, hat)))


if __name__ == "__main__":
    main()
