"""A prompt with several sampled answers counts as one: by the mean of its samples, and where every
side has equally many also by the best of them.

    answer = answer_of_samples([first, second, third], best_of=["posh_f1"])
    answer.scores["posh_f1"], answer.scores["posh_f1_best"]     # mean and maximum
    answer.samples[2].text                                      # what the third one says

So an interval stays one over prompts: samples of one prompt are no independent answers. A best of
k grows with k, and would favour the side with more samples.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer, Scores

BEST = "_best"  # the end of the name of a metric that takes the best sample


def answer_of_samples(
    samples: Sequence[JudgedAnswer], best_of: Collection[str] = ()
) -> JudgedAnswer:
    """Returns a prompt's answer. Its text and verdict are the first sample's.

    best_of: the metrics whose best is told too. A sample without a score, because its judge failed,
    is left out of the mean; the best is None then, since that sample may have been it.
    """
    if len(samples) == 1:
        return samples[0]
    # by metric, the scores of the samples that have one
    values: dict[str, list[float]] = {}
    for sample in samples:
        for name, score in sample.scores.items():
            # an empty list too: a metric that failed on all samples stays in the tables
            judged = values.setdefault(name, [])
            if score is not None:
                judged.append(score)
    scores: Scores = {}
    for name, judged in values.items():
        scores[name] = fmean(judged) if judged else None
        if name in best_of:
            best = None
            if len(judged) == len(samples):
                best = max(judged)
            scores[f"{name}{BEST}"] = best
    return replace(samples[0], scores=scores, samples=tuple(samples))


def every_sample(answers: Iterable[JudgedAnswer]) -> Iterator[JudgedAnswer]:
    """Yields each answer, or its samples where it has several."""
    for answer in answers:
        yield from answer.samples or (answer,)


def samples_a_prompt(answers: Sequence[JudgedAnswer]) -> int:
    """Returns how many samples each prompt of a run has; all have equally many."""
    counts = [len(answer.samples) for answer in answers]
    most = max(counts, default=0)
    # a single answer has no samples beside it
    return max(most, 1)
