"""Recorder: a Reward for TRL that keeps what its judges found.

    reward = Recorder(PoshReward(judge))  # for callbacks that look at what was judged
    # TRL calls the reward, and the call judges
    GRPOTrainer(reward_funcs=[reward], callbacks=[SpanTableCallback([reward])], ...)

SpanGRPOTrainer lets all recorders of a step judge together (judge_step.py), and TRL call
afterwards.
"""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Timer
from typing import Any

import torch

from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.judges import Judge
from spanreward.rewards.reward.reward import LogExtra, LogMetric, Reward, feedback, summarise
from spanreward.rewards.rows.messages import tools_pictures
from spanreward.training.grpo.reasoning import Parts, on_completion

log = logging.getLogger(__name__)

# per token of a completion: its characters [start, end), its advantage
Received = Sequence[tuple[int, int, float]]
# what each reward function gave a completion, and its weight
Paid = Mapping[str, tuple[float | None, float]]
LONG = 300.0  # seconds of waiting after which the log says so
WAITING = "the reward %s has not answered for %g s, and the run waits for it."
# keys of a row that TRL passes by themselves
NOT_COLUMNS = ("prompt", "completion", "completion_ids")


class Recorder:
    """Reward function for TRL that keeps what it judged, for callbacks that watch.

    A call judges. After `judge` or `keep`, the next call only returns the scores found there.

    Args:
        reward: the metric that is asked.
        tool_pictures: whether the judge also sees the pictures that tools return in a completion's
            messages.

    Attributes:
        samples: this rank's samples of the last batch.
        verdicts: their verdicts.
        advantages: one number per completion of the batch, from SpanGRPOTrainer; None with stock
            TRL.
        token_advantages: what each token received, by the index of a completion that ended by
            itself, with span_coef.
        paid: from SpanGRPOTrainer, by completion, what each of its reward functions gave, NaN for
            none, and its weight.
        decides: whether its failures count, which those of a reward of weight 0 do not.
        watchers: called after every batch, outside any `with judge:`, with the recorder and TRL's
            `log_metric`.
    """

    def __init__(self, reward: Reward, tool_pictures: bool = False) -> None:
        self.__name__ = reward.__name__
        self.reward = reward
        self.tool_pictures = tool_pictures
        self.samples: list[Sample] = []
        self.verdicts: list[Verdict] = []
        self.advantages: list[float] | None = None
        self.token_advantages: dict[int, Received] = {}
        self.paid: Sequence[Paid] = []
        self.decides = True
        self.watchers: list[Callable[[Recorder, LogMetric | None], None]] = []
        self._judged = False  # whether verdicts wait for a call to fetch their scores

    def judge(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        asleep: str,
        log_metric: LogMetric | None = None,
        parts: Sequence[Parts] | None = None,
        /,
        **columns: Any,
    ) -> None:
        """Judges these completions, and keeps samples and verdicts.

        Args:
            prompts: of the completions.
            completions: as TRL passes them, texts or lists of messages.
            asleep: "", or why the judge cannot be woken (`awake`). Then all verdicts are ERROR.
            log_metric: TRL's, for the numbers of the verdicts.
            parts: of completions that are more than an answer. The answers are judged; the samples
                and spans that are kept refer to the whole completions.
            columns: of the rows.

        Raises:
            ValueError: as `Reward.__call__` does.
        """
        samples = self.read(prompts, completions, columns)
        self.reward.check_groups(samples)
        samples, verdicts = self.ask(samples, asleep, parts)
        self.keep(samples, verdicts, log_metric)

    def read(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[Sample]:
        """Returns the samples to judge. Raises ValueError as `Reward.__call__` does."""
        samples = self.reward.read_samples(prompts, completions, **columns)
        if not self.tool_pictures:
            return samples
        with_pictures = []
        for sample, completion in zip(samples, completions, strict=True):
            images = sample.images + tools_pictures(completion)  # the row's own first
            with_pictures.append(replace(sample, images=images))
        return with_pictures

    def ask(
        self, samples: list[Sample], asleep: str, parts: Sequence[Parts] | None
    ) -> tuple[list[Sample], list[Verdict]]:
        """Returns the samples and their verdicts for `keep`. asleep, parts: see `judge`.

        It keeps nothing, so that a thread may ask.
        """
        # the judge reads the answers, and what is kept are the whole completions
        answers = samples
        if parts is not None:
            pairs = list(zip(samples, parts, strict=True))
            answers = [replace(sample, completion=part.answer) for sample, part in pairs]
            samples = [replace(sample, completion=part.text) for sample, part in pairs]
        # a run that hangs does not say where
        waiting = Timer(LONG, log.warning, (WAITING, self.__name__, LONG))
        waiting.daemon = True
        waiting.start()
        try:
            if asleep:
                verdicts = [Verdict(None, Status.ERROR, note=asleep)] * len(answers)
            else:
                verdicts = self.reward.judge_samples(answers)
        finally:
            waiting.cancel()
        if parts is not None:
            judged = zip(verdicts, parts, strict=True)
            verdicts = [on_completion(verdict, part) for verdict, part in judged]
        return samples, verdicts

    def keep(
        self, samples: list[Sample], verdicts: list[Verdict], log_metric: LogMetric | None = None
    ) -> None:
        """Takes these as the batch's, so that the next call returns their scores without judging.

        Logs the verdicts' numbers, each under the reward's name.
        """
        self.samples = samples
        self.verdicts = verdicts
        # of the batch before: the trainer fills them in again (`receive`)
        self.advantages = None
        self.token_advantages = {}
        self.paid = []
        self._judged = True
        self.reward.name_unread(samples, verdicts)
        self.reward.name_failure(verdicts)
        if log_metric is not None:
            for metric, value in summarise(verdicts, samples).items():
                log_metric(f"{self.__name__}/{metric}", value)

    def receive(
        self,
        advantages: list[float],
        token_advantages: dict[int, Received],
        paid: Sequence[Paid],
    ) -> None:
        """Keeps what the trainer made of this batch: see the attributes of these names."""
        self.advantages = advantages
        self.token_advantages = token_advantages
        self.paid = paid

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Any = None,
        log_metric: LogMetric | None = None,
        log_extra: LogExtra | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Returns the completions' scores, None for no score, as `Reward.__call__` does for TRL.

        Raises ValueError as that does.
        """
        if not self._judged:  # in a stock trainer, which has not judged them before
            with awake(self.reward.judges_to_wake) as asleep:
                self.judge(prompts, completions, asleep, log_metric, **columns)
            self.reward.name_many_failures(self.verdicts)
        self._judged = False
        if log_extra is not None:
            words = list(map(feedback, self.samples, self.verdicts))  # for people, in TRL's table
            log_extra(f"{self.__name__}/spans", words)
        for watcher in self.watchers:
            watcher(self, log_metric)
        return [verdict.score for verdict in self.verdicts]


def advantages_by_token(
    advantages: torch.Tensor, offsets: Mapping[int, Sequence[tuple[int, int]]]
) -> dict[int, Received]:
    """Returns what each token of the rows in `offsets` received.

    advantages: (B, T) where a row has offsets. offsets: by row, each token's characters.
    """
    received: dict[int, Received] = {}
    for row, places in offsets.items():
        values = advantages[row].tolist()  # as long as the longest completion
        triples = []
        for (start, end), value in zip(places, values, strict=False):
            triples.append((start, end, value))
        received[row] = triples
    return received


def rewards_by_function(rewards: torch.Tensor, weights: Mapping[str, float]) -> list[Paid]:
    """Returns for each completion what each reward function gave it, and the function's weight.

    rewards: (B, R), NaN for none. weights: of the R functions, by name.
    """
    paid: list[Paid] = []
    for values in rewards.tolist():
        by_function = {}
        for (name, weight), value in zip(weights.items(), values, strict=True):
            by_function[name] = (value, weight)
        paid.append(by_function)
    return paid


def failed_rows(recorders: Sequence[Recorder], rows: int) -> list[bool]:
    """Returns for each of this rank's completions whether a judge failed on it, for any reward that
    decides. rows: how many completions they are.
    """
    failed = [False] * rows
    for recorder in recorders:
        if not recorder.decides:
            continue
        for row in range(rows):
            if recorder.verdicts[row].status.failed:
                failed[row] = True
    return failed


@contextmanager
def awake(judges: Iterable[Judge]) -> Iterator[str]:
    """Holds `with judge:` open for all judges. Yields why one cannot be woken, "" when all are
    awake.

    An Exception does not leave, since the other ranks would wait for this one. Ctrl-C is no
    Exception and does.
    """
    asleep = ""
    woken = []
    for judge in judges:
        try:
            judge.__enter__()
            woken.append(judge)
        except Exception as error:
            log.exception("a judge could not be woken, and is not asked in this step")
            asleep = f"the judge could not be woken: {type(error).__name__}: {error}"
    try:
        yield asleep
    finally:
        # a judge that could not be woken is not put to sleep, and the last woken goes first
        for judge in reversed(woken):
            try:
                judge.__exit__(*sys.exc_info())
            except Exception:
                log.exception("a judge could not be put to sleep")


def check_deadlines(rewards: Sequence[Reward], timeout: float) -> None:
    """Raises ValueError for a judge that may keep its rank busy longer than the `timeout` seconds
    the others wait.
    """
    for reward in rewards:
        _check_deadline(f"reward {reward.__name__}", reward.deadline, timeout)
        for judge in reward.judges:
            _check_deadline(f"judge of {reward.__name__}", judge.deadline, timeout)


def _check_deadline(what: str, deadline: float | None, timeout: float) -> None:
    if deadline is not None and deadline >= timeout:
        raise ValueError(
            f"the {what} may take {deadline:g} s in a step (its deadline), and the other ranks "
            f"wait {timeout:g} s (ddp_timeout): give it less, or the trainer more."
        )
