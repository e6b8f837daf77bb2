"""When a comparison may say "better": where other prompts and other training seeds would keep the
sign.

    judge_pair(difference, "posh_f1")
    # Outcome("undecided", over_prompts="higher", over_seeds="undecided",
                                            #         why="undecided over seeds: 1 seed, 3 or more
                                                      are needed")

"Better" needs an interval over prompts and seeds together on one side of 0, a p-value below LEVEL
after Holm's adjustment over all pairs and metrics, and a difference whose sign no failed judgment
could turn. "Higher" is about these prompts and these models alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from spanreward.rewards.comparison.crossed import holm
from spanreward.rewards.comparison.length import LengthControl
from spanreward.training.evaluation.statistics.estimates import MIN_SEEDS, Difference

LEVEL = 0.05
MIN_PROMPTS = 6  # a sign test of 5 differences of one sign has p = 2 / 2**5 = .06
UNDECIDED = "undecided"
WORDS = {  # by metric, for higher and lower: the verdict, and the word for these prompts alone
    "words": (("longer", "shorter"), ("longer", "shorter")),
    "length": (("longer", "shorter"), ("longer", "shorter")),
    "truncated": (("worse", "better"), ("more", "fewer")),
    "degenerate": (("worse", "better"), ("more", "fewer")),
}
USUAL = (("better", "worse"), ("higher", "lower"))

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Outcome:
    """verdict: better, worse or undecided (longer, shorter of a length). over_prompts, over_seeds:
    higher, lower or undecided. why: what keeps the verdict undecided, else "".
    """

    verdict: str
    over_prompts: str
    over_seeds: str
    why: str


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric of a pair. holm: p adjusted over all pairs and main metrics. win_rate: of main
    metrics.
    """

    difference: Difference
    outcome: Outcome
    holm: float | None = None
    win_rate: LengthControl | None = None


def judge_pair(
    found: Difference,
    metric: str,
    holm: float | None = None,
    fixed: bool = False,
    lone: str = "",
    waits: str = "",
) -> Outcome:
    """Returns the verdict on a difference, and why it is undecided where it is. holm: its adjusted
    p-value. fixed: both sides are fixed systems, whose verdict is over prompts alone. lone: the
    side that is one training run beside several of the other, "" for none. waits: why
    nothing may be said yet (statistics/waiting.py), "" where it may.
    """
    if waits:
        return Outcome(UNDECIDED, UNDECIDED, UNDECIDED, f"{UNDECIDED}: {waits}")
    prompts = sign(found.low, found.high)
    seeds = sign(found.runs_low, found.runs_high)
    why = over_prompts(found, prompts, holm)
    more = "" if fixed else over_seeds(found, prompts, lone)
    (better, worse), (higher, lower) = WORDS.get(metric, USUAL)
    prompts = 0 if why else prompts
    if more or prompts == 0:
        verdict = UNDECIDED
    elif prompts > 0:
        verdict = better
    else:
        verdict = worse
    return Outcome(
        verdict=verdict,
        over_prompts={1: higher, -1: lower, 0: UNDECIDED}[prompts],
        over_seeds={1: higher, -1: lower, 0: UNDECIDED}[seeds],
        why="; ".join(filter(None, [why, more])),
    )


def over_prompts(found: Difference, prompts: int, holm: float | None) -> str:
    """Returns why nothing is said of these prompts, "" where something is. prompts: the sign of
    their interval.
    """
    ends = found.worst_case
    if found.counted < MIN_PROMPTS:
        return (
            f"{UNDECIDED} over prompts: {count(found.counted, 'prompt')}, {MIN_PROMPTS} or "
            "more are needed"
        )
    if not prompts:
        return f"{UNDECIDED} over prompts: the interval holds 0"
    if ends and min(prompts * end for end in ends) <= 0:
        return (
            f"{UNDECIDED}: the {found.failed} failed judgments could turn it, to "
            f"{ends[prompts < 0]:+.3f}"
        )
    if holm is not None and holm >= LEVEL:
        return f"{UNDECIDED}: one of several differences, with an adjusted p of {holm:.2g} (Holm)"
    return ""


def over_seeds(found: Difference, prompts: int, lone: str) -> str:
    """Returns why nothing is said of other training seeds, "" where something is."""
    if found.trained < MIN_SEEDS:
        return f"{UNDECIDED} over seeds: {too_few(found.trained)}"
    if sign(found.both_low, found.both_high) != prompts:
        return f"{UNDECIDED} over prompts and seeds together: the interval holds 0"
    return f"{UNDECIDED} over seeds: {lone} is one training run" if lone else ""


def too_few(seeds: int) -> str:
    return f"{count(seeds, 'seed')}, {MIN_SEEDS} or more are needed"


def sign(low: float | None, high: float | None) -> int:
    """Returns 1 or -1 where the interval lies on one side of 0, else 0."""
    if low is None or high is None:
        return 0
    if low > 0:
        return 1
    if high < 0:
        return -1
    return 0


def count(number: int, what: str) -> str:
    ending = "" if number == 1 else "s"
    return f"{number} {what}{ending}"


def adjusted(tests: Mapping[K, float | None]) -> dict[K, float]:
    """Returns the p-values that are known, adjusted for how many they are (Holm)."""
    known = {key: p for key, p in tests.items() if p is not None}
    return dict(zip(known, holm(list(known.values())), strict=True))
