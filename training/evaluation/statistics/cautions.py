"""What a reader must be told of a comparison before its figures, and what limits them.

lopsided(evaluation.failed)         # judgments of one side failed more often
alike(evaluation.answers)           # two sides with the same answers, a side with one answer
unsound(setup, metrics)             # rewards that apply to nothing, failed checks of a run
looks(setup, models)                # answers that are cut or padded
caveats(setup, metrics)             # notes
"""

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import combinations

import numpy as np
from scipy.stats import binomtest

from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import is_answers
from spanreward.training.evaluation.judged.evaluate import Answers
from spanreward.training.evaluation.judged.metrics import Metric, by_kind, names_of
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.outcomes import LEVEL, MIN_PROMPTS
from spanreward.training.run_checks import failed_checks

SAME = 0.9  # a larger share of identical answers is told
SHORT = 15  # words of a reference
LOOKS = 0.05  # a larger share of cut or padded answers is told


def lopsided(failed: Mapping[str, Mapping[str, np.ndarray]]) -> list[str]:
    """Returns a warning for every metric and two sides whose judgments failed unequally often: by an exact test of the
    prompts on which one side failed more often than the other.
    """
    told = []
    for one, other in combinations(failed, 2):
        for metric, of_one in failed[one].items():
            of_other = failed[other][metric]
            more, fewer = of_one.sum(axis=0), of_other.sum(axis=0)
            counts = int((more > fewer).sum()), int((more < fewer).sum())
            if sum(counts) and binomtest(counts[0], sum(counts)).pvalue < LEVEL:
                told.append(
                    f"{metric}: judgments of {of_one.mean():.0%} of the answers of {one} failed, and of "
                    f"{of_other.mean():.0%} of those of {other}: what is left may be a fair sample of neither"
                )
    return told


def alike(answers: Answers) -> list[str]:
    """Returns warnings of two sides with the same answers, and of a side that answers everything alike."""
    texts = {side: [[answer.text for answer in of_run] for of_run in of_side] for side, of_side in answers.items()}
    told = []
    for one, other in combinations(texts, 2):
        equal = np.array(texts[one]) == np.array(texts[other])
        if equal.size and equal.mean() > SAME:
            told.append(
                f"{equal.sum()} of {equal.size} answers of {one} and {other} are identical: did an adapter not load, "
                "or is it one checkpoint twice?"
            )
    for side, of_side in texts.items():
        for of_run in of_side[:1]:
            most, count = next(iter(Counter(of_run).most_common(1)), ("", 0))
            if len(of_run) >= MIN_PROMPTS and count > SAME * len(of_run):
                told.append(f"{side} gives one answer to {count} of {len(of_run)} prompts: {most[:60]!r}")
    return told


def unsound(setup: Setup, metrics: Collection[str]) -> list[str]:
    """Returns what comes before any number: rewards that apply to nothing, failed checks of a run."""
    told = [
        f"the reward {reward.__name__} applies to none of these answers, and is not in the tables"
        for reward in setup.rewards
        if names_of(reward)[0] not in metrics
    ]
    return told + [
        f"{side}, seed {seed}: the check {check.name} of its training failed: {check.found}, wanted {check.wanted}"
        for side, runs in setup.sides.items()
        for seed, run in zip(setup.seeds, runs, strict=True)
        for check in failed_checks(run)
    ]


def looks(setup: Setup, models: Mapping[str, Mapping[str, Estimate]]) -> tuple[list[str], list[str]]:
    """Returns warnings and notes of runs with more than LOOKS of their answers cut or padded. It is a warning where
    that is beyond chance over prompts (Wilson, 95 %), else a note.
    """
    told: dict[bool, list[str]] = {True: [], False: []}
    count = len(setup.prompts.rows)
    words = {"truncated": "cut at the maximal length", "degenerate": "padded with words that say nothing"}
    for metric, what in words.items():
        for side, table in models.items():
            for seed, share in zip(setup.seeds, table[metric].per_seed if metric in table else (), strict=False):
                if share is not None and share > LOOKS:
                    which = "" if setup.fixed else f", seed {seed}"
                    surely = binomtest(round(share * count), count).proportion_ci(method="wilson").low > LOOKS
                    told[surely].append(f"{side}{which}: {share:.0%} of its answers here are {what}")
    return told[True], told[False]


def caveats(setup: Setup, metrics: Mapping[str, Metric]) -> list[str]:
    """Returns what limits the figures: no other judge, decoding that is not known, references that PoSh needs long."""
    kinds = by_kind(metrics)
    told = []
    if kinds["trained"] and not kinds["untrained"]:
        told.append(
            "every judge here is one that a model was trained on: name held-out metrics under `referees` in the recipe"
        )
    if kinds["unknown"] and not setup.fixed:
        told.append(
            "nothing here says what every side was trained on, so a judge may be one that it has learned to please"
        )
    files = [side for side, runs in setup.sides.items() if any(map(is_answers, runs))]
    if files and len(files) < len(setup.sides):
        told.append(
            f"{' and '.join(files)}: how the answers were decoded (greedy or sampled, how long) is not known; the "
            f"others decode greedily, at most {setup.max_tokens} tokens"
        )
    words = [len(text.split()) for row in setup.prompts.rows for text in row.get("reference") or ()]
    if any(part.metric == "posh" for part in setup.parts) and words and np.median(words) < SHORT:
        told.append(
            f"the references have {np.median(words):.0f} words (median): PoSh is made for detailed ones, and calls "
            "true details that short references lack wrong"
        )
    return told
