"""Watches whether a training still improves the policy or exploits the reward: numbers of each
batch, and the problems that the numbers show. For every trainer: imports no torch, transformers or
TRL.

    health = RewardHealth(group=8)
    rows = completion_rows(samples, [Judged(reward, verdicts)])     # of a batch of training
    numbers = health.add(rows)                                      # {"length_ratio": 1.2, ...}
    for problem, sentence in health.problems().items(): ...

docs/logged_keys.md explains each number. With several rewards, "the reward" of a completion is the
mean of their scores. A completion on which a judge failed has no reward. An undefined number, such
as the mean reward of a batch in which every judge failed, is NaN.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.text.filler import is_degenerate

SATURATED_SCORE = 0.99  # from this score on, a reward counts as full
# The least number of audited questions in a window. Below it, a single disagreement weighs too much
# for an alarm.
MIN_AUDITED = 30
# The agreement of a cascade's judges may fall by this much: longer texts alone lower the agreement
AGREEMENT_MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits beyond which a number is a problem. Each number except failed_fraction is a mean
    over the last `window` batches.

    Attributes:
        failed_fraction: the highest share of a single batch's completions that could not be judged.
        zero_variance, saturation, degenerate: the highest health/zero_variance_groups,
            health/saturated_fraction and health/degenerate_fraction.
        length_ratio: the highest factor by which completions may grow or shrink, compared with the
            first `window` batches of this run.
        runaway: the highest health/length_ratio while completions grow and the reward does not
            fall. Without references, the limit is for the growth since the start.
        truncated: the highest share of completions cut at the maximal length, while this share
            grows and the reward does not fall.
        agreement: the least agreement between the student and the teacher of a cascade
            (`agreement_problem`).
        yes_rate: the highest health/yes_rate.
        yes_growth: the highest amount by which health/yes_rate may exceed its mean over the first
            `window` batches.
        window: the number of batches of a mean.
    """

    failed_fraction: float = 0.5
    zero_variance: float = 0.8
    saturation: float = 0.9
    length_ratio: float = 2.0
    degenerate: float = 0.05
    runaway: float = 1.5
    truncated: float = 0.1
    agreement: float = 0.7
    yes_rate: float = 0.5
    yes_growth: float = 0.15
    window: int = 10


@dataclass(frozen=True, slots=True)
class CompletionRow:
    """The facts of a completion that the numbers are made of.

    Args:
        scores: the score of each reward, from 0 to 1; None for a missing score.
        failed: the reason of a failed judge, or None if no judge failed.
        unscored: the reason why no reward has a score although no judge failed; otherwise None.
        length: the number of characters of the completion.
        reference_length: the number of characters of the longest reference; 0 without references.
        degenerate: whether the completion is padded with words without content.
        yes_rate: the mean of the part `yes_rate` over the verdicts, from 0 to 1; None if no verdict
            has this part.
    """

    scores: tuple[float | None, ...]
    failed: str | None
    unscored: str | None
    length: int
    reference_length: int
    degenerate: bool
    yes_rate: float | None = None

    @property
    def reward(self) -> float | None:
        """The mean of the scores; None if no reward has a score, or if a judge failed."""
        scores = [score for score in self.scores if score is not None]
        if self.failed is not None or not scores:
            return None
        return fmean(scores)

    @property
    def saturated(self) -> bool:
        """Whether every score is full, so that a better completion could not score higher."""
        return all(score is None or score >= SATURATED_SCORE for score in self.scores)


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdicts of a reward on a batch.

    Args:
        reward: the reward that gave the verdicts.
        verdicts: a verdict for each sample, in the order of the samples.
        decides: whether failures of this reward count; False for a reward of weight 0, which does
            not train the policy.
    """

    reward: Reward
    verdicts: Sequence[Verdict]
    decides: bool = True


def completion_rows(samples: Sequence[Sample], judged: Sequence[Judged]) -> list[CompletionRow]:
    """Returns a CompletionRow for each sample.

    samples: the samples of a batch. judged: the verdicts of every reward of the trainer.
    """
    verdicts_of_samples = zip(*(judgment.verdicts for judgment in judged), strict=True)
    rows = []
    for sample, verdicts in zip(samples, verdicts_of_samples, strict=True):
        yes_rates = []
        for verdict in verdicts:
            if "yes_rate" in verdict.parts:
                yes_rates.append(verdict.parts["yes_rate"])
        # the rewards that train the policy, each with its verdict on the sample
        deciding = []
        for judgment, verdict in zip(judged, verdicts, strict=True):
            if judgment.decides:
                deciding.append((judgment.reward, verdict))
        failed = failure_of(deciding)
        rows.append(
            CompletionRow(
                scores=tuple(verdict.score for verdict in verdicts),
                failed=failed,
                unscored=lack_of_score(deciding) if failed is None else None,
                length=len(sample.completion),
                reference_length=max(map(len, sample.references), default=0),
                degenerate=is_degenerate(sample),
                yes_rate=fmean(yes_rates) if yes_rates else None,
            )
        )
    return rows


def failure_of(deciding: Sequence[tuple[Reward, Verdict]]) -> str | None:
    """Returns the reason of the first failed judge of a completion, such as "no answer within 5 s";
    None if no judge failed.

    deciding: the rewards that train the policy, each with its verdict on the completion.
    """
    for _, verdict in deciding:
        if verdict.status.failed:
            return verdict.note or verdict.status.value
    return None


def lack_of_score(deciding: Sequence[tuple[Reward, Verdict]]) -> str | None:
    """Returns why no reward has a score for a completion, for example that its row has no
    reference; None if a reward has a score.

    deciding: the rewards that train the policy, each with its verdict on the completion. Without
    such a reward, the result is None too.
    """
    has_score = any(verdict.score is not None for _, verdict in deciding)
    if has_score or not deciding:
        return None
    return "; ".join(reward.unscored([verdict]) for reward, verdict in deciding)


class RewardHealth:
    """Collects the numbers of a training's batches, and finds problems.

    Args:
        group: the number of completions per prompt, which must be neighbours in a batch; 1 for a
            trainer without groups.
        limits: the limits beyond which a number is a problem.
    """

    def __init__(self, group: int = 1, limits: Limits | None = None) -> None:
        self.group = group
        self.limits = limits or Limits()
        self._history: dict[str, list[float]] = {}  # the values of each number, batch by batch
        self._audits: list[tuple[int, int]] = []  # (audited, agreed) questions of each batch
        # the first reasons for missing scores in the last batch, see the function `find_problems`
        self._reasons: dict[str, str] = {}

    def add(
        self, rows: Sequence[CompletionRow], audited: int = 0, agreed: int = 0
    ) -> dict[str, float]:
        """Adds the numbers of a batch to the history, and returns the numbers of this batch by
        name, such as "yes_rate". `problems` reads the history.

        rows: the completions of all ranks. audited: the number of the batch's questions that both
        judges of a cascade answered. agreed: the number of audited questions on which the two
        judges agreed.
        """
        numbers = health_of_batch(rows, self.group)
        # A batch without a yes_rate gets NaN, so that a window covers the same batches for all
        # numbers.
        for name, value in {"yes_rate": math.nan, **numbers}.items():
            self._history.setdefault(name, []).append(value)
        # keep the first reason of each kind, for the sentences of `find_problems`
        failures = [row.failed for row in rows if row.failed]
        causes = [row.unscored for row in rows if row.unscored]
        self._reasons = {
            "failed": failures[0] if failures else "",
            "unscored": causes[0] if causes else "",
        }
        self._audits.append((audited, agreed))
        bounds = agreement_interval(self._audits[-self.limits.window :])
        if bounds:
            numbers["audit_low"], numbers["audit_high"] = bounds
        return numbers

    def add_truncated(self, fraction: float) -> None:
        """Adds the share of a batch's completions that were cut at the maximal length. Only the
        trainer knows this share.
        """
        self._history.setdefault("truncated_fraction", []).append(fraction)

    def problems(self) -> dict[str, str]:
        """Returns {problem: a sentence with a remedy} after the last batch. The problems have the
        names of callbacks.PROBLEMS.
        """
        sentences = find_problems(self._history, self.limits, self._reasons)
        disagreement = agreement_problem(self._audits, self.limits.window, self.limits.agreement)
        if disagreement:
            sentences["audit"] = disagreement
        return sentences


def health_of_batch(rows: Sequence[CompletionRow], group: int) -> dict[str, float]:
    """Returns the numbers of a batch, by the keys of docs/logged_keys.md without "health/".

    group: the number of completions per prompt, which are neighbours in `rows`.
    """
    # numbers that every batch has
    rewards = [row.reward for row in rows if row.reward is not None]
    saturated = [row.saturated for row in rows if row.reward is not None]
    ratios = [row.length / row.reference_length for row in rows if row.reference_length]
    numbers = {
        "failed_fraction": mean_of_known([row.failed is not None for row in rows]),
        "unscored_fraction": mean_of_known([row.unscored is not None for row in rows]),
        "saturated_fraction": mean_of_known(saturated),
        "reward": mean_of_known(rewards),
        "length": mean_of_known([row.length for row in rows]),
        "length_ratio": mean_of_known(ratios),
        "degenerate_fraction": mean_of_known([row.degenerate for row in rows]),
    }
    # numbers that only some batches have: only with a judge of pictures, and only with groups
    yes_rates = [row.yes_rate for row in rows if row.yes_rate is not None]
    if yes_rates:
        numbers["yes_rate"] = fmean(yes_rates)
    if group > 1:
        flat_groups = []
        for first in range(0, len(rows), group):
            flat_groups.append(all_score_alike(rows[first : first + group]))
        numbers["zero_variance_groups"] = mean_of_known(flat_groups)
    return numbers


def all_score_alike(group: Sequence[CompletionRow]) -> bool:
    """Returns whether every reward gives the same score to all completions of the group, so that
    the group teaches nothing. Completions on which a judge failed do not count.
    """
    rows = [row.scores for row in group if row.failed is None]
    # turn the scores of each completion into the scores by each reward
    for scores_of_reward in zip(*rows, strict=True):
        scores = {score for score in scores_of_reward if score is not None}
        if len(scores) > 1:
            return False
    return True


def mean_of_known(values: Sequence[float]) -> float:
    """Returns the mean of the values that are not NaN, or NaN if all values are NaN."""
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return math.nan
    return fmean(defined)


def find_problems(
    history: Mapping[str, Sequence[float]], limits: Limits, reasons: Mapping[str, str]
) -> dict[str, str]:
    """Returns {problem: a sentence with a remedy} for the problems that the numbers show.

    history: the values of each number, batch by batch, such as {"reward": [0.4, 0.5]}. reasons: for
    the last batch, the first reason for a failed judge ("failed") and for a missing score
    ("unscored").
    """
    window = limits.window
    sentences = batch_problems(history, limits, reasons)
    batches = len(history["failed_fraction"])
    # problems of the last window: a single bad batch, by chance, must not be a problem
    if batches >= window:
        last_window = means_over_batches(history, slice(-window, None))
        sentences.update(share_problems(last_window, limits))
        yes_rates = history.get("yes_rate", [])
        # The first rates may come late, because a judge of pictures is not asked in every batch.
        defined_rates = [rate for rate in yes_rates if not math.isnan(rate)]
        sentence = yes_rate_problem(
            mean_of_known(yes_rates[-window:]), mean_of_known(defined_rates[:window]), limits
        )
        if sentence:
            sentences["yes_rate"] = sentence
    # problems of the last window compared with the window before
    if batches >= 2 * window:
        late = means_over_batches(history, slice(-window, None))
        early = means_over_batches(history, slice(-2 * window, -window))
        first_length = mean_of_known(history["length"][:window])
        sentences.update(length_problems(late, early, first_length, limits))
    return sentences


def batch_problems(
    history: Mapping[str, Sequence[float]], limits: Limits, reasons: Mapping[str, str]
) -> dict[str, str]:
    """Returns {problem: a sentence} for problems of the last batch alone, from which the policy can
    learn nothing.

    history, reasons: those of `find_problems`.
    """
    sentences: dict[str, str] = {}
    failed = history["failed_fraction"][-1]
    if failed > limits.failed_fraction:
        sentences["failed"] = (
            f"{failed:.0%} of the batch's completions could not be judged (limit "
            f"{limits.failed_fraction:.0%}): look to the judge, whose first reason is: "
            f"{reasons['failed']}"
        )
    if history["unscored_fraction"][-1] == 1.0:
        sentences["unscored"] = (
            "no completion of the batch has a score, so there is nothing to learn: "
            f"{reasons['unscored']}; fill the column, or leave out the rows without it."
        )
    return sentences


def means_over_batches(history: Mapping[str, Sequence[float]], batches: slice) -> dict[str, float]:
    """Returns the mean of each number over these batches. batches: a slice of the batches."""
    return {name: mean_of_known(values[batches]) for name, values in history.items()}


def share_problems(late: Mapping[str, float], limits: Limits) -> dict[str, str]:
    """Returns {problem: a sentence} for shares that are too high in the last window.

    late: the mean of each number over the last window.
    """
    sentences: dict[str, str] = {}
    flat_groups = late.get("zero_variance_groups", 0)
    full = late["saturated_fraction"]
    padded = late["degenerate_fraction"]
    if flat_groups > limits.zero_variance:
        sentences["zero_variance"] = (
            f"in {flat_groups:.0%} of the groups all completions have the same reward, and teach "
            "nothing: raise the temperature or num_generations, or use harder prompts or dynamic "
            "sampling."
        )
    if full > limits.saturation:
        sentences["saturation"] = (
            f"{full:.0%} of the completions have all of the reward, which has no more to teach: "
            "use harder prompts or a stricter reward, or end the training here."
        )
    if padded > limits.degenerate:
        sentences["degenerate"] = (
            f"{padded:.0%} of the completions are padded with words or signs that say nothing: "
            "look at them (spans/*.html shows them first), and set soft_overlong_cache or a lower "
            "learning rate."
        )
    return sentences


def yes_rate_problem(late: float, first: float, limits: Limits) -> str:
    """Returns a sentence if the judge says yes to too many things that are not in the picture;
    otherwise "".

    late, first: the mean yes_rate of the last and of the first window; NaN if no judge was asked
    about a picture.
    """
    # every comparison with NaN is false, so a NaN is no problem
    if late > limits.yes_rate:
        limit = f"limit {limits.yes_rate:.0%}"
    elif late > first + limits.yes_growth:
        limit = f"limit {limits.yes_growth:.0%} more"
    else:
        return ""
    return (
        f"the judge says yes to {late:.0%} of the things that pictures lack (at the start "
        f"{first:.0%}, {limit}), so its yes says little: take a judge that sees better or "
        "evidence='reference', and go back to an earlier checkpoint."
    )


def length_problems(
    late: Mapping[str, float],
    early: Mapping[str, float],
    first_length: float,
    limits: Limits,
) -> dict[str, str]:
    """Returns {problem: a sentence} for completions that become too long or too short.

    The problem "runaway" is growth without a fall of the reward. The problem "length" is a length
    far from that at the start.

    If all completions at the start were empty, the growth since the start is infinite. Infinite
    growth alone is no "runaway", but "length" is a problem as soon as completions are not empty.

    late, early: the mean of each number over the last window, and over the window before.
    first_length: the mean length in characters over the first window of the run.
    """
    sentences: dict[str, str] = {}
    length = late["length"]
    since_start = length / first_length if first_length else math.inf
    growth = growth_of_length(late, early, since_start, limits)
    # If the reward falls while texts grow, training will shorten the texts by itself. `not <` is
    # also true for a NaN.
    if growth and not late["reward"] < early["reward"]:
        sentences["runaway"] = (
            f"{growth}, and the reward does not fall: it may pay for what it does not read. Read "
            "some completions, set soft_overlong_cache, lower the learning rate or go back to an "
            "earlier checkpoint."
        )
    lowest, highest = 1 / limits.length_ratio, limits.length_ratio  # such as 0.5 and 2
    is_near_start = lowest <= since_start <= highest
    if length and not is_near_start:
        sentences["length"] = (
            f"completions have {length:.0f} characters, and had {first_length:.0f} at the start: "
            "read some, and if they do not say what they should, lower the learning rate or punish "
            "length as such."
        )
    return sentences


def growth_of_length(
    late: Mapping[str, float],
    early: Mapping[str, float],
    since_start: float,
    limits: Limits,
) -> str:
    """Returns in words how completions grow too long, such as "12% of the completions are cut at
    the maximal length, and more and more"; "" if they do not.

    late, early: the mean of each number over the last window, and over the window before.
    since_start: the length in the last window, divided by the length in the first window.
    """
    length = late["length"]
    factor = late["length_ratio"]
    compared_with = "the longest reference"
    if math.isnan(factor):  # the rows have no references
        factor = since_start
        compared_with = "at the start"
    # the factor is infinite if the first completions were all empty: then it shows nothing
    if limits.runaway < factor < math.inf and length > early["length"]:
        return (
            f"completions are {factor:.1f} times as long as {compared_with} and growing "
            f"({length:.0f} characters)"
        )
    cut = late.get("truncated_fraction", 0)
    if cut > max(limits.truncated, early.get("truncated_fraction", 0)):
        return f"{cut:.0%} of the completions are cut at the maximal length, and more and more"
    return ""


def agreement_interval(audits: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Returns Wilson's 95 % interval of the share of audited questions on which the two judges of a
    cascade agree; None for fewer than MIN_AUDITED audited questions.

    audits: (number of audited questions, number of agreements) of each batch.
    """
    from scipy.stats import binomtest  # here, because the import takes half a second

    audited = sum(audited for audited, _ in audits)
    agreed = sum(agreed for _, agreed in audits)
    if audited < MIN_AUDITED:
        return None
    bounds = binomtest(agreed, audited).proportion_ci(method="wilson")
    return float(bounds.low), float(bounds.high)


def agreement_problem(audits: Sequence[tuple[int, int]], window: int, floor: float) -> str:
    """Returns a sentence if the two judges of a cascade agree too seldom; otherwise "".

    That is the case if the whole interval of the last window is below `floor`, or more than
    AGREEMENT_MARGIN below the interval of the first window. Then the policy may exploit the weaker
    judge, the student. A higher `sure` (CascadeJudge) lets the student answer fewer questions.

    audits: (number of audited questions, number of agreements) of each batch. window: the number of
    batches of a window. floor: the least agreement, from 0 to 1.
    """
    if len(audits) < window:
        return ""
    first = agreement_interval(audits[:window])
    last = agreement_interval(audits[-window:])
    if first is None or last is None:  # too few questions were audited
        return ""
    first_low, first_high = first
    low, high = last
    # the whole interval must be below, so that chance alone gives no alarm
    highest_allowed = max(first_low - AGREEMENT_MARGIN, floor)
    if high >= highest_allowed:
        return ""
    return (
        f"the teacher agrees with the cascade's student on {low:.0%} to {high:.0%} of the "
        f"audited questions (at the start {first_low:.0%} to {first_high:.0%}, limit {floor:.0%}): "
        "the policy may have found the student's weakness; go back to an earlier checkpoint, and "
        "raise the cascade's `sure`, train the student again, or ask the teacher alone."
    )
