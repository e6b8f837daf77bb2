"""RewardHealthCallback: whether the reward is still worth following. Numbers in the log, and a
warning per problem.

    reward = Recorder(PoshReward(judge))
    health = RewardHealthCallback([reward], stop_on=["failed", "runaway"])
    GRPOTrainer(reward_funcs=[reward], callbacks=[health], ...)

Logged as `health/...` per batch of training, over all ranks (docs/logged_keys.md says what each key
is).

With several rewards, "the reward" is the mean of their scores. A completion on which a judge failed
has none. A number that is not defined (no group, no variance) is NaN, which TRL leaves out.
"""

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import Any

from accelerate.utils import gather_object
from transformers import TrainerControl, TrainerState, TrainingArguments

from spanreward.rewards.base.checks import check_known
from spanreward.rewards.reward.reward import LogMetric, judges_of
from spanreward.rewards.text.filler import is_degenerate
from spanreward.training.callbacks import PROBLEMS
from spanreward.training.callbacks.base import Watching, group_size
from spanreward.training.grpo.judge_metrics import total_usage
from spanreward.training.grpo.recorder import Recorder

log = logging.getLogger(__name__)

SATURATED = 0.99
TRUNCATED = "completions/clipped_ratio"  # TRL's key
# As judge/failed_fraction, NAME/unscored_fraction, reward and completions/mean_length.
LOGGED_ELSEWHERE = ("failed_fraction", "unscored_fraction", "reward", "length")
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
    """

    failed_fraction: float = 0.5
    zero_variance: float = 0.8
    saturation: float = 0.9
    length_ratio: float = 2.0
    degenerate: float = 0.05
    runaway: float = 1.5
    truncated: float = 0.1
    agreement: float = 0.7
    window: int = 10


@dataclass(frozen=True, slots=True)
class CompletionRow:
    """One completion. scores: of each reward. failed: why it could not be judged, or None.
    unscored: why no reward scores it though no judge failed, or None. Lengths in characters.
    """

    scores: tuple[float | None, ...]
    failed: str | None
    unscored: str | None
    length: int
    reference_length: int
    degenerate: bool

    @property
    def reward(self) -> float | None:
        """The mean of the scores; None without any, or where a judge failed."""
        scores = [score for score in self.scores if score is not None]
        return fmean(scores) if scores and self.failed is None else None

    @property
    def saturated(self) -> bool:
        """Whether no reward has more to give."""
        return all(score is None or score >= SATURATED for score in self.scores)


class RewardHealthCallback(Watching):
    """Logs the numbers of a reward's health, and warns of each problem once, with what to do.

    Args:
        recorders: the rewards to watch.
        limits: the values above which a number is a problem.
        stop_on: names in PROBLEMS, or one. Each of these ends the training at the end of the step,
            on all ranks, with a checkpoint.

    Attributes:
        stopped: the warning that ended the training, or "".

    Raises ValueError for a problem that does not exist.
    """

    def __init__(
        self,
        recorders: Sequence[Recorder] | Recorder,
        limits: Limits | None = None,
        stop_on: Collection[str] | str = ("failed", "unscored"),
    ) -> None:
        super().__init__(recorders)
        stop_on = [stop_on] if isinstance(stop_on, str) else stop_on
        check_known("problem in stop_on", stop_on, PROBLEMS)
        self.limits = limits or Limits()
        self.stop_on = frozenset(stop_on)
        self._judges = judges_of(recorder.reward for recorder in self.recorders)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.stopped = ""
        self._group = group_size(args)
        self._history: dict[str, list[float]] = {}
        self._audits: list[tuple[int, int]] = []  # per batch, over all ranks
        self._usage = total_usage(self._judges)
        self._found: dict[str, str] = {}  # in the current step
        self._warned_of: set[str] = set()

    def observe(self, log_metric: LogMetric | None) -> None:
        before = self._usage
        self._usage = total_usage(self._judges)
        used = self._usage.since(before)
        ranks = gather_object([(self._rows(), used.audited, used.agreed)])
        shares, audited, agreed = zip(*ranks, strict=True)
        rows: list[CompletionRow] = list(chain.from_iterable(shares))
        self._audits.append((sum(audited), sum(agreed)))
        for name, value in health(rows, self._group).items():
            self._history.setdefault(name, []).append(value)
            if log_metric is not None and name not in LOGGED_ELSEWHERE:
                log_metric(f"health/{name}", value)
        if log_metric is not None and (bounds := interval(self._audits[-self.limits.window :])):
            log_metric("health/audit_low", bounds[0])
            log_metric("health/audit_high", bounds[1])
        failed = next((row.failed for row in rows if row.failed), "")
        unscored = next((row.unscored for row in rows if row.unscored), "")
        self._found |= problems(
            self._history, self.limits, {"failed": failed, "unscored": unscored}
        )
        if sentence := fall(self._audits, self.limits.window, self.limits.agreement):
            self._found["audit"] = sentence

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        super().on_step_end(args, state, control)
        found = self._found
        self._found = {}
        for problem, sentence in found.items():
            if problem not in self._warned_of and state.is_world_process_zero:
                log.warning("step %d: %s", state.global_step, sentence)
            self._warned_of.add(problem)
            if problem in self.stop_on and not self.stopped:
                self.stopped = sentence
                control.should_training_stop = control.should_save = True
                if state.is_world_process_zero:
                    log.error("training stops at step %d: %s", state.global_step, sentence)

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: Any, logs: Any = None, **_: Any
    ) -> None:
        if logs and TRUNCATED in logs:  # only the trainer knows which completions were cut
            self._history.setdefault("truncated_fraction", []).append(logs[TRUNCATED])

    def _rows(self) -> list[CompletionRow]:
        judged = zip(*(recorder.verdicts for recorder in self.recorders), strict=True)
        rows = []
        for sample, verdicts in zip(self.recorders[0].samples, judged, strict=True):
            notes = []
            reasons = []  # of rewards without a score
            deciding = 0
            for recorder, verdict in zip(self.recorders, verdicts, strict=True):
                if not recorder.decides:
                    continue
                deciding += 1
                if verdict.status.failed:
                    notes.append(verdict.note or verdict.status.value)
                if verdict.score is None:
                    reasons.append(recorder.reward.unscored([verdict]))
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
                )
            )
        return rows


def health(rows: Sequence[CompletionRow], group: int) -> dict[str, float]:
    """Returns a batch's numbers by their keys without "health/". group: completions per prompt,
    neighbours.
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
    if group > 1:
        groups = [rows[first : first + group] for first in range(0, len(rows), group)]
        numbers["zero_variance_groups"] = mean([flat(of_group) for of_group in groups])
    return numbers


def flat(group: Sequence[CompletionRow]) -> bool:
    """Whether every reward gives the same score to all of the group's completions that could be
    judged.
    """
    rows = [row.scores for row in group if row.failed is None]
    for scores_of_reward in zip(*rows, strict=True):
        scores = {score for score in scores_of_reward if score is not None}
        if len(scores) > 1:
            return False
    return True


def mean(values: Sequence[float]) -> float:
    """Returns the mean of the values that are not NaN; NaN without any."""
    defined = [value for value in values if not math.isnan(value)]
    return fmean(defined) if defined else math.nan


def problems(
    history: Mapping[str, Sequence[float]], limits: Limits, why: Mapping[str, str]
) -> dict[str, str]:
    """Returns {problem: a sentence}. why: the reason of the last batch's first "failed" and
    "unscored".
    """
    window = limits.window
    found = dict[str, str]()
    failed = history["failed_fraction"][-1]
    batches = len(history["failed_fraction"])
    if failed > limits.failed_fraction:
        found["failed"] = (
            f"{failed:.0%} of the batch's completions could not be judged (limit "
            f"{limits.failed_fraction:.0%}): look to the judge, whose first reason is: "
            f"{why['failed']}"
        )
    if history["unscored_fraction"][-1] == 1.0:
        found["unscored"] = (
            "no completion of the batch has a score, so there is nothing to learn: "
            f"{why['unscored']}; fill the column, or leave out the rows without it."
        )
    if batches >= window:
        found |= levels(means(history, slice(-window, None)), limits)
    if batches >= 2 * window:
        late = means(history, slice(-window, None))
        early = means(history, slice(-2 * window, -window))
        found |= growth(late, early, mean(history["length"][:window]), limits)
    return found


def means(history: Mapping[str, Sequence[float]], batches: slice) -> dict[str, float]:
    return {name: mean(values[batches]) for name, values in history.items()}


def levels(late: Mapping[str, float], limits: Limits) -> dict[str, str]:
    """Returns the problems of shares that are too high in the last window."""
    found: dict[str, str] = {}
    flat_groups = late.get("zero_variance_groups", 0)
    full = late["saturated_fraction"]
    padded = late["degenerate_fraction"]
    if flat_groups > limits.zero_variance:
        found["zero_variance"] = (
            f"in {flat_groups:.0%} of the groups all completions have the same reward, and teach "
            "nothing: raise the temperature or num_generations, or use harder prompts or dynamic "
            "sampling."
        )
    if full > limits.saturation:
        found["saturation"] = (
            f"{full:.0%} of the completions have all of the reward, which has no more to teach: "
            "use harder prompts or a stricter reward, or end the training here."
        )
    if padded > limits.degenerate:
        found["degenerate"] = (
            f"{padded:.0%} of the completions are padded with words or signs that say nothing: "
            "look at them (spans/*.html shows them first), and set soft_overlong_cache or a lower "
            "learning rate."
        )
    return found


def growth(
    late: Mapping[str, float], early: Mapping[str, float], first: float, limits: Limits
) -> dict[str, str]:
    """Returns the problems of lengths. late, early: the last window and that before. first: the
    first one's length.
    """
    found: dict[str, str] = {}
    length = late["length"]
    beside = late["length_ratio"]
    cut = late.get("truncated_fraction", 0)
    grown = ""
    ratio = length / first if first else math.inf
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
    if grown and not late["reward"] < early["reward"]:
        found["runaway"] = (
            f"{grown}, and the reward does not fall: it may pay for what it does not read. Read "
            "some completions, set soft_overlong_cache, lower the learning rate or go back to an "
            "earlier checkpoint."
        )
    if length and not 1 / limits.length_ratio <= ratio <= limits.length_ratio:
        found["length"] = (
            f"completions have {length:.0f} characters, and had {first:.0f} at the start: read "
            "some, and if they do not say what they should, lower the learning rate or punish "
            "length as such."
        )
    return found


def interval(audits: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Returns Wilson's interval (95 %) of the share of a cascade's audited questions on which both
    judges agree.

    audits: per batch, how many were audited, and on how many of them the two agree. None for fewer
    than LEAST.
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
    if now[1] >= max(first[0] - MARGIN, floor):
        return ""
    return (
        f"the teacher agrees with the cascade's student on {now[0]:.0%} to {now[1]:.0%} of the "
        f"audited questions (at the start {first[0]:.0%} to {first[1]:.0%}, limit {floor:.0%}): "
        "the policy may have found the student's weakness; go back to an earlier checkpoint, and "
        "raise sure, train the student again, or ask the teacher alone."
    )
