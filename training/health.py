"""Whether a reward is still worth following: the numbers of each batch, and the problems that they
show. Without torch, transformers and TRL, for every trainer.

    health = RewardHealth(group=8)
    rows = completion_rows(samples, [Judged(reward, verdicts)])     # of a batch of training
    numbers = health.add(rows)                                      # {"length_ratio": 1.2, ...}
    for problem, sentence in health.problems().items(): ...

docs/logged_keys.md says what each number is. With several rewards, "the reward" is the mean of
their scores. A completion on which a judge failed has none. A number that is not defined (no group,
no variance) is NaN.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.text.filler import is_degenerate

SATURATED = 0.99  # a score from which on a reward has no more to give
LEAST = 30  # audited questions of a cascade in a window: one disagreement among few is no alarm
MARGIN = 0.05  # fuller texts alone cost some of a cascade's agreement


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits beyond which a number is a problem. Each number but failed_fraction is a mean over
    `window` batches.

    Attributes:
        failed_fraction: the most completions of one batch that could not be judged.
        zero_variance, saturation, degenerate: the most of health/zero_variance_groups,
            saturated_fraction and degenerate_fraction.
        length_ratio: the most by which completions may grow or shrink against the first `window`
            batches of this run.
        runaway: the most of health/length_ratio (without references, of the growth since the start)
            of growing texts.
        truncated: the most completions cut at the maximal length, where that number grows. This and
            the one before count while the reward does not fall.
        agreement: the least agreement of a cascade's student and teacher (`fall`).
        yes_rate: the most of health/yes_rate.
        yes_growth: the most by which it may be above that of the first `window` batches.
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
    """One completion.

    Args:
        scores: of each reward, from 0 to 1, None for no score.
        failed: why it could not be judged, or None.
        unscored: why no reward scores it though no judge failed, or None.
        length: of its text, in characters.
        reference_length: of the longest reference, in characters; 0 without one.
        degenerate: whether it is padded with words that say nothing.
        yes_rate: the mean part `yes_rate` of its verdicts, from 0 to 1, or None where none has it.
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
        """The mean of the scores; None without any, or where a judge failed."""
        scores = [score for score in self.scores if score is not None]
        if self.failed is not None or not scores:
            return None
        return fmean(scores)

    @property
    def saturated(self) -> bool:
        """Whether no reward has more to give."""
        return all(score is None or score >= SATURATED for score in self.scores)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a reward found in a batch.

    Args:
        reward: whose verdicts these are.
        verdicts: one for each sample, in their order.
        decides: whether its failures count, which those of a reward of weight 0 do not.
    """

    reward: Reward
    verdicts: Sequence[Verdict]
    decides: bool = True


def completion_rows(samples: Sequence[Sample], judged: Sequence[Judged]) -> list[CompletionRow]:
    """Returns a row for each sample. judged: by every reward of the trainer."""
    by_sample = zip(*(judgment.verdicts for judgment in judged), strict=True)
    rows = []
    for sample, verdicts in zip(samples, by_sample, strict=True):
        yes_rates = []
        for verdict in verdicts:
            if "yes_rate" in verdict.parts:
                yes_rates.append(verdict.parts["yes_rate"])
        notes = []  # of failed judges
        reasons = []  # of rewards without a score
        deciding = 0
        for judgment, verdict in zip(judged, verdicts, strict=True):
            if not judgment.decides:
                continue
            deciding += 1
            if verdict.status.failed:
                notes.append(verdict.note or verdict.status.value)
            if verdict.score is None:
                reasons.append(judgment.reward.unscored([verdict]))
        # a failure has its own number: what is left has no score for another reason
        unscored = None
        if deciding and len(reasons) == deciding and not notes:
            unscored = "; ".join(reasons)
        rows.append(
            CompletionRow(
                scores=tuple(verdict.score for verdict in verdicts),
                failed=notes[0] if notes else None,
                unscored=unscored,
                length=len(sample.completion),
                reference_length=max(map(len, sample.references), default=0),
                degenerate=is_degenerate(sample),
                yes_rate=fmean(yes_rates) if yes_rates else None,
            )
        )
    return rows


class RewardHealth:
    """The numbers of a training so far.

    Args:
        group: completions per prompt, which are neighbours in a batch; 1 for a trainer without
            groups.
        limits: the values above which a number is a problem.
    """

    def __init__(self, group: int = 1, limits: Limits | None = None) -> None:
        self.group = group
        self.limits = limits or Limits()
        self._history: dict[str, list[float]] = {}  # by number, its value in each batch
        self._audits: list[tuple[int, int]] = []  # by batch, how many, and how many agreed
        self._why: dict[str, str] = {}  # of the last batch

    def add(
        self, rows: Sequence[CompletionRow], audited: int = 0, agreed: int = 0
    ) -> dict[str, float]:
        """Returns a batch's numbers.

        rows: of all ranks. audited: how many questions of a cascade in it were audited. agreed: on
        how many of them both judges agreed.
        """
        numbers = health(rows, self.group)
        # a batch without it has its place, so that a window is the same batches for all numbers
        for name, value in {"yes_rate": math.nan, **numbers}.items():
            self._history.setdefault(name, []).append(value)
        # the first reasons, for the sentences
        failures = [row.failed for row in rows if row.failed]
        causes = [row.unscored for row in rows if row.unscored]
        self._why = {
            "failed": failures[0] if failures else "",
            "unscored": causes[0] if causes else "",
        }
        self._audits.append((audited, agreed))
        bounds = interval(self._audits[-self.limits.window :])
        if bounds:
            numbers["audit_low"], numbers["audit_high"] = bounds
        return numbers

    def add_truncated(self, fraction: float) -> None:
        """Takes the share of a batch's completions that were cut at the maximal length, which only
        the trainer knows.
        """
        self._history.setdefault("truncated_fraction", []).append(fraction)

    def problems(self) -> dict[str, str]:
        """Returns {problem: a sentence with what to do}, by the names in callbacks.PROBLEMS, of the
        batches up to the last one.
        """
        sentences = problems(self._history, self.limits, self._why)
        sentence = fall(self._audits, self.limits.window, self.limits.agreement)
        if sentence:
            sentences["audit"] = sentence
        return sentences


def health(rows: Sequence[CompletionRow], group: int) -> dict[str, float]:
    """Returns a batch's numbers by their keys without "health/" (docs/logged_keys.md).

    group: completions per prompt, neighbours.
    """
    rewards = [row.reward for row in rows if row.reward is not None]
    saturated = [row.saturated for row in rows if row.reward is not None]
    ratios = [row.length / row.reference_length for row in rows if row.reference_length]
    numbers = {
        "failed_fraction": mean([row.failed is not None for row in rows]),
        "unscored_fraction": mean([row.unscored is not None for row in rows]),
        "saturated_fraction": mean(saturated),
        "reward": mean(rewards),
        "length": mean([row.length for row in rows]),
        "length_ratio": mean(ratios),
        "degenerate_fraction": mean([row.degenerate for row in rows]),
    }
    yes_rates = [row.yes_rate for row in rows if row.yes_rate is not None]
    if yes_rates:  # a judge of pictures was asked
        numbers["yes_rate"] = fmean(yes_rates)
    if group > 1:
        flat_groups = []
        for first in range(0, len(rows), group):
            flat_groups.append(flat(rows[first : first + group]))
        numbers["zero_variance_groups"] = mean(flat_groups)
    return numbers


def flat(group: Sequence[CompletionRow]) -> bool:
    """Whether every reward gives the same score to all of the group's completions that could be
    judged.
    """
    rows = [row.scores for row in group if row.failed is None]
    for scores_of_reward in zip(*rows, strict=True):  # reward by reward
        scores = {score for score in scores_of_reward if score is not None}
        if len(scores) > 1:
            return False
    return True


def mean(values: Sequence[float]) -> float:
    """Returns the mean of the values that are not NaN; NaN without any."""
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return math.nan
    return fmean(defined)


def problems(
    history: Mapping[str, Sequence[float]], limits: Limits, why: Mapping[str, str]
) -> dict[str, str]:
    """Returns {problem: a sentence}.

    history: by number, its value in each batch. why: the reason of the last batch's first "failed"
    and "unscored".
    """
    window = limits.window
    sentences: dict[str, str] = {}
    # of the last batch alone: with these nothing can be learnt from it
    failed = history["failed_fraction"][-1]
    batches = len(history["failed_fraction"])
    if failed > limits.failed_fraction:
        sentences["failed"] = (
            f"{failed:.0%} of the batch's completions could not be judged (limit "
            f"{limits.failed_fraction:.0%}): look to the judge, whose first reason is: "
            f"{why['failed']}"
        )
    if history["unscored_fraction"][-1] == 1.0:
        sentences["unscored"] = (
            "no completion of the batch has a score, so there is nothing to learn: "
            f"{why['unscored']}; fill the column, or leave out the rows without it."
        )
    # of the last window, so that one batch by chance is no problem
    if batches >= window:
        sentences.update(levels(means(history, slice(-window, None)), limits))
        yes_rates = history.get("yes_rate", [])
        defined_rates = [rate for rate in yes_rates if not math.isnan(rate)]
        # the first ones may come late: a judge of pictures is not asked in every batch
        sentence = eager(mean(yes_rates[-window:]), mean(defined_rates[:window]), limits)
        if sentence:
            sentences["yes_rate"] = sentence
    # of the last two, one after another
    if batches >= 2 * window:
        late = means(history, slice(-window, None))
        early = means(history, slice(-2 * window, -window))
        first_length = mean(history["length"][:window])
        sentences.update(growth(late, early, first_length, limits))
    return sentences


def means(history: Mapping[str, Sequence[float]], batches: slice) -> dict[str, float]:
    """Returns by number its mean over some of the batches."""
    return {name: mean(values[batches]) for name, values in history.items()}


def levels(late: Mapping[str, float], limits: Limits) -> dict[str, str]:
    """Returns the problems of shares that are too high in the last window.

    late: means of that window.
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


def eager(late: float, first: float, limits: Limits) -> str:
    """Returns a sentence if the judge says yes to too many things that pictures lack, else "".

    late, first: the yes-rates of the last and the first window, NaN where no picture was asked.
    """
    cause = ""  # stays so where a rate is NaN
    if late > limits.yes_rate:
        cause = f"limit {limits.yes_rate:.0%}"
    elif late > first + limits.yes_growth:
        cause = f"limit {limits.yes_growth:.0%} more"
    if not cause:
        return ""
    return (
        f"the judge says yes to {late:.0%} of the things that pictures lack (at the start "
        f"{first:.0%}, {cause}), so its yes says little: take a judge that sees better or "
        "evidence='reference', and go back to an earlier checkpoint."
    )


def growth(
    late: Mapping[str, float], early: Mapping[str, float], first: float, limits: Limits
) -> dict[str, str]:
    """Returns the problems of lengths.

    late, early: means of the last window and of that before. first: the mean length in the first
    one.
    """
    sentences: dict[str, str] = {}
    length = late["length"]
    beside = late["length_ratio"]
    cut = late.get("truncated_fraction", 0)
    grown = ""
    ratio = length / first if first else math.inf  # all first completions may be empty
    than = "the longest reference"
    if math.isnan(beside):  # there is none
        beside = ratio
        than = "at the start"
    if limits.runaway < beside < math.inf and length > early["length"]:
        grown = (
            f"completions are {beside:.1f} times as long as {than} and growing ({length:.0f} "
            "characters)"
        )
    elif cut > max(limits.truncated, early.get("truncated_fraction", 0)):
        grown = f"{cut:.0%} of the completions are cut at the maximal length, and more and more"
    # long texts that cost reward will not last; `not <` also where a mean is NaN
    if grown and not late["reward"] < early["reward"]:
        sentences["runaway"] = (
            f"{grown}, and the reward does not fall: it may pay for what it does not read. Read "
            "some completions, set soft_overlong_cache, lower the learning rate or go back to an "
            "earlier checkpoint."
        )
    if length and not 1 / limits.length_ratio <= ratio <= limits.length_ratio:
        sentences["length"] = (
            f"completions have {length:.0f} characters, and had {first:.0f} at the start: read "
            "some, and if they do not say what they should, lower the learning rate or punish "
            "length as such."
        )
    return sentences


def interval(audits: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Returns Wilson's interval (95 %) of the share of a cascade's audited questions on which both
    judges agree; None for fewer than LEAST questions.

    audits: per batch, how many were audited, and on how many of them the two agree.
    """
    from scipy.stats import binomtest  # half a second, which every start of a training would take

    audited = sum(audited for audited, _ in audits)
    agreed = sum(agreed for _, agreed in audits)
    if audited < LEAST:
        return None
    bounds = binomtest(agreed, audited).proportion_ci(method="wilson")
    return float(bounds.low), float(bounds.high)


def fall(audits: Sequence[tuple[int, int]], window: int, floor: float) -> str:
    """Returns a sentence if the last window's interval is MARGIN below the first's, or below the
    floor, else "".
    """
    first = interval(audits[:window])
    now = interval(audits[-window:])
    if len(audits) < window or first is None or now is None:
        return ""
    first_low, first_high = first
    low, high = now
    # all of the interval must lie below, so that chance is no cause
    if high >= max(first_low - MARGIN, floor):
        return ""
    return (
        f"the teacher agrees with the cascade's student on {low:.0%} to {high:.0%} of the "
        f"audited questions (at the start {first_low:.0%} to {first_high:.0%}, limit {floor:.0%}): "
        "the policy may have found the student's weakness; go back to an earlier checkpoint, and "
        "raise sure, train the student again, or ask the teacher alone."
    )
