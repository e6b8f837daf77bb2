"""Decides when a comparison may say "better": if other prompts and other training seeds would keep
the sign.

    judge_pair(difference, "posh_f1")
    # Outcome("undecided", over_prompts="higher", over_seeds="undecided",
    #         why="undecided over seeds: 1 seed, 3 or more are needed")

"Better" needs an interval over prompts and seeds together on one side of 0. "Better" also needs a
p-value below SIGNIFICANCE_LEVEL after Holm's adjustment over all pairs and metrics, and a sign that
no failed judgment could turn. "Higher" is a claim about these trained models alone, not about other
training seeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from spanreward.rewards.comparison.crossed import holm_adjusted
from spanreward.rewards.comparison.length import LengthControl
from spanreward.training.evaluation.statistics.estimates import MIN_SEEDS, Difference

SIGNIFICANCE_LEVEL = 0.05
MIN_PROMPTS = 6  # a sign test of 5 differences of one sign has p = 2 / 2**5 = .06
UNDECIDED_OUTCOME = "undecided"
# By metric, two pairs of words for a higher and a lower value: the verdict, and the word for these
# prompts alone. A longer answer is neither better nor worse, and more cut answers are worse.
METRIC_WORDS = {
    "words": (("longer", "shorter"), ("longer", "shorter")),
    "length": (("longer", "shorter"), ("longer", "shorter")),
    "truncated": (("worse", "better"), ("more", "fewer")),
    "degenerate": (("worse", "better"), ("more", "fewer")),
}
USUAL_WORDS = (("better", "worse"), ("higher", "lower"))

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on a difference.

    Attributes:
        verdict: "better", "worse" or "undecided"; for a length "longer", "shorter" or "undecided".
        over_prompts: "higher", "lower" or "undecided", for these trained models alone.
        over_seeds: "higher", "lower" or "undecided", by the interval over training seeds alone.
        why: the reason why the verdict is undecided; "" for any other verdict.
    """

    verdict: str
    over_prompts: str
    over_seeds: str
    why: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of one metric on a pair of models.

    Attributes:
        difference: the later model's scores minus the earlier model's.
        outcome: the verdict on the difference.
        holm: the difference's p-value, adjusted over all pairs and main metrics; None if the metric
            is no main metric.
        win_rate: how often the later model wins; None if the metric is no main metric.
    """

    difference: Difference
    outcome: Outcome
    holm: float | None = None
    win_rate: LengthControl | None = None


def judge_pair(
    difference: Difference,
    metric: str,
    adjusted_p: float | None = None,
    fixed: bool = False,
    lone: str = "",
    waits: str = "",
) -> Outcome:
    """Returns the verdict on a difference, with the reason if the verdict is undecided.

    Args:
        difference: the later model's scores minus the earlier model's.
        metric: the metric's name, which decides the words, such as "longer" for a length.
        adjusted_p: the difference's p-value after Holm's adjustment; None if unknown.
        fixed: whether both sides are fixed systems, whose verdict is over prompts alone.
        lone: the name of the side that is a single training run while the other side has several
            runs; "" for no such side.
        waits: the reason why the pair gets no verdict yet (statistics/waiting.py); "" if the pair
            gets a verdict.
    """
    if waits:
        why = f"{UNDECIDED_OUTCOME}: {waits}"
        return Outcome(UNDECIDED_OUTCOME, UNDECIDED_OUTCOME, UNDECIDED_OUTCOME, why)
    prompts_sign = interval_sign(difference.low, difference.high)
    seeds_sign = interval_sign(difference.runs_low, difference.runs_high)
    doubt_over_prompts = why_undecided_over_prompts(difference, prompts_sign, adjusted_p)
    doubt_over_seeds = ""
    if not fixed:
        doubt_over_seeds = why_undecided_over_seeds(difference, prompts_sign, lone)
    # with a doubt over prompts no side is better, even if the interval is on one side of 0
    if doubt_over_prompts:
        prompts_sign = 0
    verdict_sign = 0 if doubt_over_seeds else prompts_sign
    verdict_words, prompt_words = METRIC_WORDS.get(metric, USUAL_WORDS)
    return Outcome(
        verdict=word_of_sign(verdict_sign, verdict_words),
        over_prompts=word_of_sign(prompts_sign, prompt_words),
        over_seeds=word_of_sign(seeds_sign, prompt_words),
        why="; ".join(filter(None, [doubt_over_prompts, doubt_over_seeds])),
    )


def word_of_sign(sign: int, words: tuple[str, str]) -> str:
    """Returns the word for a sign: with the words ("better", "worse"), 1 gives "better", -1 gives
    "worse", and 0 gives "undecided".
    """
    positive, negative = words
    if sign == 0:
        return UNDECIDED_OUTCOME
    return positive if sign > 0 else negative


def why_undecided_over_prompts(
    difference: Difference, prompts_sign: int, adjusted_p: float | None
) -> str:
    """Returns the reason why other prompts could turn the sign of the difference; "" if they hardly
    could.

    If several reasons apply, the first of the four below is returned.

    prompts_sign: the sign of the interval over prompts, or 0 for an interval that holds 0.
    adjusted_p: the difference's p-value after Holm's adjustment; None if unknown.
    """
    # 1. too few prompts
    if difference.counted < MIN_PROMPTS:
        prompts = counted_noun(difference.counted, "prompt")
        return f"{UNDECIDED_OUTCOME} over prompts: {prompts}, {MIN_PROMPTS} or more are needed"
    # 2. the sign is open
    if prompts_sign == 0:
        return f"{UNDECIDED_OUTCOME} over prompts: the interval holds 0"
    # 3. the mean would be 0, or have the other sign, if all failed judgments had gone one way
    if difference.worst_case:
        lowest, highest = difference.worst_case
        worst = lowest if prompts_sign > 0 else highest
        if worst * prompts_sign <= 0:
            return (
                f"{UNDECIDED_OUTCOME}: the {difference.failed} failed judgments could turn it, to "
                f"{worst:+.3f}"
            )
    # 4. one of so many differences has such an interval by chance
    if adjusted_p is not None and adjusted_p >= SIGNIFICANCE_LEVEL:
        return (
            f"{UNDECIDED_OUTCOME}: one of several differences, with an adjusted p of "
            f"{adjusted_p:.2g} (Holm)"
        )
    return ""


def why_undecided_over_seeds(difference: Difference, prompts_sign: int, lone: str) -> str:
    """Returns the reason why other training seeds could turn the sign of the difference; "" if they
    hardly could.

    prompts_sign: the sign of the interval over prompts: 1, -1, or 0 for an interval that holds 0.
    lone: the name of the side that is a single training run while the other side has several runs;
    "" for no such side.
    """
    if difference.trained < MIN_SEEDS:
        return f"{UNDECIDED_OUTCOME} over seeds: {too_few(difference.trained)}"
    # The interval over prompts and the interval over prompts and seeds are around the same mean, so
    # they are not on opposite sides of 0. If their signs differ, one of them holds 0: almost always
    # the interval over prompts and seeds, because it is the wider one.
    both_sign = interval_sign(difference.both_low, difference.both_high)
    if both_sign != prompts_sign:
        return f"{UNDECIDED_OUTCOME} over prompts and seeds together: the interval holds 0"
    # a single run does not show how far the scores of other seeds would be from its scores
    if lone:
        return f"{UNDECIDED_OUTCOME} over seeds: {lone} is one training run"
    return ""


def too_few(seeds: int) -> str:
    """Returns how many training seeds there are and how many are needed, in words, such as "1 seed,
    3 or more are needed".
    """
    return f"{counted_noun(seeds, 'seed')}, {MIN_SEEDS} or more are needed"


def interval_sign(low: float | None, high: float | None) -> int:
    """Returns 1 for an interval above 0, -1 for an interval below 0, and 0 for any other
    interval.
    """
    if low is None or high is None:
        return 0
    if low > 0:
        return 1
    if high < 0:
        return -1
    return 0


def counted_noun(number: int, what: str) -> str:
    """Returns a number with its noun in singular or plural: "1 seed", "2 seeds". what: the noun."""
    ending = "" if number == 1 else "s"
    return f"{number} {what}{ending}"


def adjust_p_values(tests: Mapping[K, float | None]) -> dict[K, float]:
    """Returns the p-values, adjusted for the number of tests (Holm), by the same keys.

    tests: the p-value of each test by any key, such as (sides, metric). A test without a p-value
    (None) is left out.
    """
    p_values = {}
    for key, p in tests.items():
        if p is not None:
            p_values[key] = p
    adjusted_values = holm_adjusted(list(p_values.values()))
    return dict(zip(p_values, adjusted_values, strict=True))
