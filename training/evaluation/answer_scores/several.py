"""Merges several sampled answers to a prompt into one answer.

    answer = answer_of_samples([first, second, third], best_of=["posh_f1"])
    answer.scores["posh_f1"], answer.scores["posh_f1_best"]  # mean and maximum
    answer.samples[2].text  # the third sample's completion

A merged answer has the mean score of its samples. Samples of one prompt are not independent, so the
intervals of a comparison are over prompts, not over samples. A merged answer may also have the best
score of its samples. The best of eight samples is higher than the best of four by chance. So a best
is given only if all sides have equally many samples.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer, Scores

BEST_ENDING = "_best"  # the end of the name of a metric that takes the best sample


def answer_of_samples(
    samples: Sequence[JudgedAnswer], best_of: Collection[str] = ()
) -> JudgedAnswer:
    """Returns the samples of one prompt as one answer, with the mean score by each metric.

    The text and the verdict are the first sample's. A sample whose judge failed does not count in
    the mean. best_of: the metrics that also get the best score, under a name such as
    "posh_f1_best". The best is None if some sample has no score, because that sample may have been
    the best.
    """
    if len(samples) == 1:
        return samples[0]
    # by metric, the scores of the samples, without those of failed judges
    defined: dict[str, list[float]] = {}
    for sample in samples:
        for name, score in sample.scores.items():
            # a metric that failed on all samples keeps an empty list, and stays in the tables
            defined_scores = defined.setdefault(name, [])
            if score is not None:
                defined_scores.append(score)
    scores: Scores = {}
    for name, defined_scores in defined.items():
        scores[name] = fmean(defined_scores) if defined_scores else None
        if name in best_of:
            best = None
            if len(defined_scores) == len(samples):
                best = max(defined_scores)
            scores[f"{name}{BEST_ENDING}"] = best
    return replace(samples[0], scores=scores, samples=tuple(samples))


def every_sample(answers: Iterable[JudgedAnswer]) -> Iterator[JudgedAnswer]:
    """Yields the samples of each answer; an answer without samples is yielded itself."""
    for answer in answers:
        yield from answer.samples or (answer,)


def samples_a_prompt(answers: Sequence[JudgedAnswer]) -> int:
    """Returns the number of samples that each prompt of a run has. All prompts have equally
    many.
    """
    counts = [len(answer.samples) for answer in answers]
    most = max(counts, default=0)
    # `samples` is empty for an answer that is its prompt's only sample
    return max(most, 1)
