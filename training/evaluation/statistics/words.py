"""Figures as a sentence, a table or a page says them.

in_figures(estimate)        # "0.040 [0.020, 0.060] {0.010, 0.070}": the mean, over prompts, over prompts and seeds
p_value(0.0342)             # "0.034"
"""

from collections.abc import Sequence

from spanreward.rewards.comparison.figures import NONE, estimate, interval
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.outcomes import Equivalence


def p_value(p: float) -> str:
    """Returns a p-value of two digits: 0.034, or < .001."""
    return "< .001" if p < 0.001 else f"{p:.2g}" if p < 0.095 else f"{p:.2f}"


def equivalence(found: Equivalence | None) -> str:
    """Returns what two one-sided tests say of a difference: `equivalent within 0.02 (p 0.003)`; "" where not asked."""
    if found is None:
        return ""
    word = "equivalent within" if found.holds else "not shown to be equivalent within"
    return f"{word} {found.within:g}" + ("" if found.p is None else f" (p {p_value(found.p)})")


def in_figures(found: Estimate, digits: int = 3, sign: str = "") -> str:
    """Returns `0.040 [0.020, 0.060] {0.010, 0.070}`: the mean, its interval over prompts, and that over prompts and
    seeds together, where there are seeds.
    """
    both = NONE if found.runs_low is None else interval(found.both_low, found.both_high, digits)
    braces = "" if both == NONE else f" {{{both[1:-1]}}}"
    return estimate(found.mean, found.low, found.high, digits, sign) + braces


def listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
