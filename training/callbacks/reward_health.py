"""Is the reward still worth following? Numbers in the log, a warning per problem, and an end where it makes no sense.

    reward = Recorder(PoshReward(judge))
    health = RewardHealthCallback([reward], referee=lambda sample: truth_of(sample.id, sample.completion))
    GRPOTrainer(reward_funcs=[reward], callbacks=[health], ...)

Logged per batch of training, over all ranks, and averaged between two lines of the log as TRL does with all it logs:

    health/failed_fraction         completions on which a judge failed, whatever the other rewards say
    health/zero_variance_groups    groups in which no reward tells two completions apart: they teach nothing
    health/saturated_fraction      completions to which every reward gives SATURATED or more
    health/reward                  the mean of its scores
    health/length                  characters of a completion, mean
    health/length_ratio            the same of a completion and its longest reference, mean over those that have one
    health/degenerate_fraction     completions of whose characters more than a tenth are filler (rewards/filler.py)
    health/repetition              of a completion's 4-grams of words, those that it has written before; mean
    health/truth, truth_gap, truth_correlation     the referee's mean score; the reward's mean less this; Pearson's r

With several rewards "the reward" is the mean of their scores, and a completion on which a judge failed has none. A
number that is not defined (no group, no variance) is NaN, which TRL leaves out. On SFTTrainer, which samples nothing,
the policy answers evaluation prompts instead, see EvaluationPrompts: there groups do not exist.
"""

import logging
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from accelerate.utils import gather_object
from transformers import TrainerControl, TrainerState, TrainingArguments

from rewards.filler import is_degenerate
from rewards.naming import unknown
from rewards.reward import LogMetric
from rewards.verdict import Sample
from training.callbacks.base import Watching, group_size
from training.callbacks.problems import PROBLEMS
from training.callbacks.sft_prompts import EvaluationPrompts
from training.grpo.recorder import Recorder

log = logging.getLogger(__name__)

Referee = Callable[[Sample], float | None]

SATURATED = 0.99
TRUNCATED = "completions/clipped_ratio"  # TRL's name for it
NGRAM = 4
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+|[^\w\s]")  # kana and CJK do not space their words


@dataclass(frozen=True, slots=True)
class Limits:
    """Past which a number is a problem. All but failed_fraction are means over `window` batches; the start that length
    and divergence are compared with is the first `window` batches of this run, resumed or not.

    failed_fraction: of one batch. zero_variance, saturation, repetition: of the means above. length_ratio: longer than
    this times the start, or shorter than the start divided by it. degenerate: of the mean above. runaway: longer
    than this times the longest reference (or the start, where there are none) and still growing while the reward does
    not fall. truncated: cut at the maximal length, and more than in the batches before, likewise a run-away.
    divergence: how far the reward may rise above the truth, as a change of `truth_gap` since the start.
    """

    failed_fraction: float = 0.5
    zero_variance: float = 0.8
    saturation: float = 0.9
    length_ratio: float = 2.0
    repetition: float = 0.3
    degenerate: float = 0.05
    runaway: float = 1.5
    truncated: float = 0.1
    divergence: float = 0.1
    window: int = 10


@dataclass(frozen=True, slots=True)
class CompletionRow:
    """What is known of one completion. scores: of each reward. failed: why it could not be judged, or None."""

    scores: tuple[float | None, ...]
    failed: str | None
    length: int
    reference_length: int
    repetition: float
    degenerate: bool
    truth: float | None

    @property
    def reward(self) -> float | None:
        """The mean of the scores that there are; None without any, or where a judge failed."""
        scores = [score for score in self.scores if score is not None]
        return fmean(scores) if scores and self.failed is None else None


class RewardHealthCallback(Watching):
    """Says whether the reward is still worth following: numbers in the log, and each problem once, in a sentence.

    Args:
        recorders: the rewards to watch.
        referee: a sample's true score in [0, 1], of which the rewards know nothing, or None where there is none.
        limits: past which a number is a problem.
        stop_on: the problems, of PROBLEMS, that end the training at the end of the step, on all ranks.
        prompts: for SFT.

    Attributes:
        stopped: the sentence that ended the training, or "".

    Raises:
        ValueError: for a problem that does not exist.
    """

    def __init__(
        self,
        recorders: Sequence[Recorder],
        referee: Referee | None = None,
        limits: Limits | None = None,
        stop_on: Collection[str] = ("failed",),
        prompts: EvaluationPrompts | None = None,
    ) -> None:
        super().__init__(recorders, prompts)
        for problem in stop_on:
            if problem not in PROBLEMS:
                raise ValueError(unknown("problem in stop_on", problem, PROBLEMS))
        self.referee = referee
        self.limits = limits or Limits()
        self.stop_on = frozenset(stop_on)
        self.stopped = ""
        self._group = 1
        self._history: dict[str, list[float]] = {}
        self._found: dict[str, str] = {}  # of the current step
        self._told: set[str] = set()

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._group = group_size(args)
        self._history = {}
        self._told = set()
        self.stopped = ""

    def observe(self, log_metric: LogMetric | None) -> None:
        rows: list[CompletionRow] = gather_object(self._rows())
        numbers = health(rows, self._group)
        for name, value in numbers.items():
            self._history.setdefault(name, []).append(value)
            if log_metric is not None:
                log_metric(f"health/{name}", value)
        self._found |= problems(self._history, self.limits, [row.failed for row in rows if row.failed is not None])

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        super().on_step_end(args, state, control, **kwargs)
        found, self._found = self._found, {}
        for problem, sentence in found.items():
            if problem not in self._told and state.is_world_process_zero:
                log.warning("step %d: %s", state.global_step, sentence)
            self._told.add(problem)
            if problem in self.stop_on and not self.stopped:
                self.stopped = sentence
                control.should_training_stop = True
                if state.is_world_process_zero:
                    log.error("training stops at step %d: %s", state.global_step, sentence)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        if logs and TRUNCATED in logs:  # only the trainer knows which completions were cut
            self._history.setdefault("truncated_fraction", []).append(logs[TRUNCATED])

    def _rows(self) -> list[CompletionRow]:
        judged = zip(*(recorder.verdicts for recorder in self.recorders), strict=True)
        rows = []
        for sample, verdicts in zip(self.recorders[0].samples, judged, strict=True):
            notes = [verdict.note or verdict.status.value for verdict in verdicts if verdict.status.failed]
            rows.append(
                CompletionRow(
                    scores=tuple(verdict.score for verdict in verdicts),
                    failed=notes[0] if notes else None,
                    length=len(sample.completion),
                    reference_length=max(map(len, sample.references), default=0),
                    repetition=repetition(sample.completion),
                    degenerate=is_degenerate(sample),
                    truth=self._truth(sample),
                )
            )
        return rows

    def _truth(self, sample: Sample) -> float | None:
        """The referee's score. One that raises must not leave the other ranks waiting."""
        if self.referee is None:
            return None
        try:
            return self.referee(sample)
        except Exception:
            if "referee" not in self._told:
                log.exception("the referee failed on a completion, which counts as one without a truth")
            self._told.add("referee")
            return None


def health(rows: Sequence[CompletionRow], group: int) -> dict[str, float]:
    """The numbers of a batch, by their names without "health/". group: completions per prompt, which are neighbours."""
    judged = [row for row in rows if row.reward is not None]
    pairs = np.array([(row.reward, row.truth) for row in judged if row.truth is not None], dtype=float)
    truths = [row.truth for row in rows if row.truth is not None]
    numbers = {
        "failed_fraction": mean([row.failed is not None for row in rows]),
        "saturated_fraction": mean([all(s is None or s >= SATURATED for s in row.scores) for row in judged]),
        "reward": mean([row.reward for row in judged if row.reward is not None]),
        "length": mean([row.length for row in rows]),
        "length_ratio": mean([row.length / row.reference_length for row in rows if row.reference_length]),
        "degenerate_fraction": mean([row.degenerate for row in rows]),
        "repetition": mean([row.repetition for row in rows]),
    }
    if group > 1:
        numbers["zero_variance_groups"] = mean([flat(rows[at : at + group]) for at in range(0, len(rows), group)])
    if truths:
        numbers["truth"] = mean(truths)
        numbers["truth_gap"] = mean([reward - truth for reward, truth in pairs])
        numbers["truth_correlation"] = correlation(pairs)
    return numbers


def flat(group: Sequence[CompletionRow]) -> bool:
    """Whether every reward gives all completions of the group that could be judged one score."""
    columns = zip(*(row.scores for row in group if row.failed is None), strict=True)
    return all(len({score for score in column if score is not None}) <= 1 for column in columns)


def correlation(pairs: np.ndarray) -> float:
    """Pearson's r of (rows, 2), NaN where one of the two does not vary."""
    if len(pairs) < 2 or not pairs.std(axis=0).all():
        return math.nan
    return float(np.corrcoef(pairs.T)[0, 1])


def mean(values: Sequence[float]) -> float:
    """Of those that are no NaN; NaN of nothing."""
    defined = [value for value in values if not math.isnan(value)]
    return fmean(defined) if defined else math.nan


def repetition(text: str) -> float:
    """The fraction of the text's 4-grams of words (case and spaces aside) that stood in it before, in [0, 1)."""
    words = WORD.findall(text.casefold())
    grams = list(zip(*(words[i:] for i in range(NGRAM)), strict=False))
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def runaway(history: Mapping[str, Sequence[float]], limits: Limits) -> str:
    """What runs away, as a clause, or "": the lengths or the cut completions, against the window of batches before."""
    window = limits.window
    late = {name: mean(values[-window:]) for name, values in history.items()}
    early = {name: mean(values[-2 * window : -window]) for name, values in history.items()}
    first = mean(history["length"][:window])
    beside = late["length_ratio"] if not math.isnan(late["length_ratio"]) else late["length"] / first if first else 0.0
    if late["reward"] < early["reward"]:
        return ""
    if beside > limits.runaway and late["length"] > early["length"]:
        than = "the longest reference" if not math.isnan(late["length_ratio"]) else "at the start"
        return f"completions are {beside:.1f} times as long as {than} and growing ({late['length']:.0f} characters)"
    if late.get("truncated_fraction", 0) > max(limits.truncated, early.get("truncated_fraction", 0)):
        return f"{late['truncated_fraction']:.0%} of the completions are cut at the maximal length, and more and more"
    return ""


def problems(history: Mapping[str, Sequence[float]], limits: Limits, reasons: Sequence[str]) -> dict[str, str]:
    """{problem: a sentence for people}, of the numbers so far, the last batch's included. reasons: why it failed."""
    found: dict[str, str] = {}
    failed = history["failed_fraction"][-1]
    if failed > limits.failed_fraction:
        found["failed"] = (
            f"{failed:.0%} of the batch's completions could not be judged (limit {limits.failed_fraction:.0%}): look "
            f"to the judge, whose first reason is: {reasons[0]}"
        )
    recent = {name: mean(values[-limits.window :]) for name, values in history.items()}
    first = {name: mean(values[: limits.window]) for name, values in history.items()}
    batches = len(history["failed_fraction"])
    if batches < limits.window:
        return found
    if recent.get("zero_variance_groups", 0) > limits.zero_variance:
        found["zero_variance"] = (
            f"in {recent['zero_variance_groups']:.0%} of the groups all completions have the same reward, and teach "
            "nothing: raise the temperature or num_generations, or use harder prompts or dynamic sampling."
        )
    if recent["saturated_fraction"] > limits.saturation:
        found["saturation"] = (
            f"{recent['saturated_fraction']:.0%} of the completions have all of the reward, which has no more to "
            "teach: use harder prompts or a stricter reward, or end the training here."
        )
    if recent["repetition"] > limits.repetition:
        found["repetition"] = (
            f"{recent['repetition']:.0%} of the 4-grams in a completion are repeats: lower the learning rate, go back "
            "to an earlier checkpoint, or make the reward charge for saying things twice."
        )
    if recent["degenerate_fraction"] > limits.degenerate:
        found["degenerate"] = (
            f"{recent['degenerate_fraction']:.0%} of the completions are padded with words or signs that say nothing: "
            "look at them (spans/*.html shows them first), use the metric's default mode, which charges for them, and "
            "soft_overlong_cache, or a lower learning rate."
        )
    if batches < 2 * limits.window:
        return found
    away = runaway(history, limits)
    if away:
        found["runaway"] = (
            f"{away}, and the reward does not fall: it may pay for what it does not read. Read some completions, set "
            "soft_overlong_cache, lower the learning rate or go back to an earlier checkpoint."
        )
    ratio = recent["length"] / first["length"] if first["length"] else math.inf
    if recent["length"] and not 1 / limits.length_ratio <= ratio <= limits.length_ratio:
        found["length"] = (
            f"completions have {recent['length']:.0f} characters, and had {first['length']:.0f} at the start: read "
            "some, and if they do not say what they should, lower the learning rate or punish length as such."
        )
    widened = recent.get("truth_gap", math.nan) - first.get("truth_gap", math.nan)
    if widened > limits.divergence:
        found["divergence"] = (
            f"the reward has risen by {widened:.2f} against the truth since the start (truth {first['truth']:.2f}, now "
            f"{recent['truth']:.2f}): the policy learns to please the judge; go back to an earlier checkpoint, and use "
            "a stronger judge or a lower learning rate."
        )
    return found
