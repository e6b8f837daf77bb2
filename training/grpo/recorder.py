"""Recorder: a reward function for TRL that keeps samples and verdicts, so that callbacks can read
them.

    reward = Recorder(PoshReward(judge))
    # TRL calls the reward in each step, and the call judges the completions
    GRPOTrainer(reward_funcs=[reward], callbacks=[SpanTableCallback([reward])], ...)

With SpanGRPOTrainer, judge_step.py first judges the completions of a step for all recorders. TRL
calls the recorders afterwards, and each call returns the scores that were found.
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

# for each token of a completion: (start, end, advantage), with the token's characters [start, end)
TokenAdvantages = Sequence[tuple[int, int, float]]
# a completion's rewards: by the reward function's name, the reward and the function's weight
RewardsByFunction = Mapping[str, tuple[float | None, float]]
SLOW_SECONDS = 300.0  # after so many seconds of waiting for a reward, a warning is logged
WAITING_WARNING = "the reward %s has not answered for %g s, and the run waits for it."
# keys of a row that TRL does not pass as columns, but as arguments of their own
NOT_COLUMNS = ("prompt", "completion", "completion_ids")


class Recorder:
    """Reward function for TRL that keeps its samples and verdicts for callbacks.

    A call of the recorder judges the completions and returns their scores. If `judge` or `keep` ran
    since the last call, the call judges nothing and returns the scores of the kept verdicts.

    Args:
        reward: the metric that judges.
        tool_pictures: whether the judge also sees the pictures that tools return in a completion's
            messages.

    Attributes:
        samples: this rank's samples of the last batch.
        verdicts: the verdict of each sample.
        advantages: the scalar advantage of each completion of the batch, from SpanGRPOTrainer; None
            with TRL's own trainer.
        token_advantages: with span_coef, the advantage of each token, by the completion's index.
            Only completions that ended by themselves are present.
        paid: from SpanGRPOTrainer, for each completion the reward and the weight of every reward
            function; NaN for a missing reward.
        decides: False if the reward has weight 0; then a failure of its judges does not count.
        watchers: functions that are called after every batch with the recorder and TRL's
            `log_metric`, while no `with judge:` is open.
    """

    def __init__(self, reward: Reward, tool_pictures: bool = False) -> None:
        self.__name__ = reward.__name__
        self.reward = reward
        self.tool_pictures = tool_pictures
        self.samples: list[Sample] = []
        self.verdicts: list[Verdict] = []
        self.advantages: list[float] | None = None
        self.token_advantages: dict[int, TokenAdvantages] = {}
        self.paid: Sequence[RewardsByFunction] = []
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
        """Judges these completions, and keeps their samples and verdicts.

        Args:
            prompts: the prompt of each completion.
            completions: as TRL passes them, texts or lists of messages.
            asleep: the reason for which the judge could not be woken, from `awake_judges`; "" if
                the judge is awake. With a reason, every verdict has the status ERROR.
            log_metric: TRL's function that logs a number; gets the means of the verdicts' numbers.
            parts: for each completion the part that is judged; None if whole completions are
                judged. The kept samples and spans refer to the whole completions.
            columns: the values of each column of the rows.

        Raises:
            ValueError: for a row that the reward cannot read (see `Reward.__call__`), and for a
                part of a group if the reward needs whole groups.
        """
        samples = self.read(prompts, completions, columns)
        self.reward.check_groups(samples)
        samples, verdicts = self.ask(samples, asleep, parts)
        self.keep(samples, verdicts, log_metric)

    def read(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[Sample]:
        """Returns a sample for each completion. With `tool_pictures`, a sample also has the
        pictures that tools returned in the completion.

        prompts, completions: as TRL passes them. columns: the values of each column of the rows.
        Raises ValueError for a missing column or an unusable value (see `Reward.__call__`).
        """
        samples = self.reward.read_samples(prompts, completions, **columns)
        if not self.tool_pictures:
            return samples
        with_pictures = []
        for sample, completion in zip(samples, completions, strict=True):
            images = sample.images + tools_pictures(completion)  # the row's pictures come first
            with_pictures.append(replace(sample, images=images))
        return with_pictures

    def ask(
        self, samples: list[Sample], asleep: str, parts: Sequence[Parts] | None
    ) -> tuple[list[Sample], list[Verdict]]:
        """Judges the samples. Returns samples of the whole completions and their verdicts.

        Example: of the completion "<think>Red?</think>A cup.", the judge reads "A cup.", and the
        returned sample has the whole completion. The method changes nothing in the recorder, so
        that it can run in a thread. Pass the result to `keep`.

        asleep: the reason for which the judge could not be woken; then every verdict has the status
        ERROR. "" if the judge is awake. parts: for each completion the part that is judged, such as
        the answer after a reasoning; None if whole completions are judged. The returned spans are
        of the whole completions in any case.
        """
        # the judge reads only the answers; the returned samples have the whole completions
        answers = samples
        if parts is not None:
            sample_parts = list(zip(samples, parts, strict=True))
            answers = [replace(sample, completion=part.answer) for sample, part in sample_parts]
            samples = [replace(sample, completion=part.text) for sample, part in sample_parts]
        if asleep:
            verdicts = [Verdict(None, Status.ERROR, note=asleep)] * len(answers)
        else:
            with self._warning_if_slow():
                verdicts = self.reward.judge_samples(answers)
        if parts is not None:
            judged = zip(verdicts, parts, strict=True)
            verdicts = [on_completion(verdict, part) for verdict, part in judged]
        return samples, verdicts

    @contextmanager
    def _warning_if_slow(self) -> Iterator[None]:
        """Logs a warning if the `with` block takes more than SLOW_SECONDS, so that a user of a
        hanging run knows which reward the run waits for.
        """
        timer = Timer(SLOW_SECONDS, log.warning, (WAITING_WARNING, self.__name__, SLOW_SECONDS))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def keep(
        self, samples: list[Sample], verdicts: list[Verdict], log_metric: LogMetric | None = None
    ) -> None:
        """Keeps the samples and verdicts of a batch. The next call of the recorder then judges
        nothing and returns the scores of these verdicts.

        Also logs the means of the verdicts' numbers, such as "posh/f1", with `log_metric`. At
        the first failure of a run, a warning is logged; another one is logged at the first batch
        in which the judge did not read a large share of the texts.
        """
        self.samples = samples
        self.verdicts = verdicts
        # drop the values of the batch before; the trainer sets new values with `receive`
        self.advantages = None
        self.token_advantages = {}
        self.paid = []
        self._judged = True
        # each of these two methods logs at most one warning in a whole run
        self.reward.name_unread(samples, verdicts)
        self.reward.name_failure(verdicts)
        if log_metric is not None:
            for metric, value in summarise(verdicts, samples).items():
                log_metric(f"{self.__name__}/{metric}", value)

    def receive(
        self,
        advantages: list[float],
        token_advantages: dict[int, TokenAdvantages],
        paid: Sequence[RewardsByFunction],
    ) -> None:
        """Keeps the trainer's advantages and rewards for this batch, for callbacks.

        advantages: the scalar advantage of each completion. token_advantages: the advantage of each
        token, by the completion's index. paid: for each completion the reward and the weight of
        every reward function.
        """
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
        """Returns the score of each completion, None for a completion without a score.

        TRL calls this method with the dataset's columns as keywords. If SpanGRPOTrainer has judged
        the completions before, the method only returns the scores. With another trainer, the method
        judges the completions itself.

        completion_ids: not used. log_metric, log_extra: TRL's functions that log a number, and a
        column of texts for TRL's table of completions. columns: the values of each column of the
        rows. Raises ValueError for a missing column or an unusable value.
        """
        if not self._judged:  # TRL's own trainer: nothing has judged the completions yet
            with awake_judges(self.reward.judges_to_wake) as asleep:
                self.judge(prompts, completions, asleep, log_metric, **columns)
            # warns if most completions failed, because TRL's trainer does not stop then
            self.reward.name_many_failures(self.verdicts)
        self._judged = False
        if log_extra is not None:
            words = list(map(feedback, self.samples, self.verdicts))  # texts for TRL's table
            log_extra(f"{self.__name__}/spans", words)
        for watcher in self.watchers:
            watcher(self, log_metric)
        return [verdict.score for verdict in self.verdicts]


def in_recorders(reward_funcs: Any, tool_pictures: bool) -> list[Any]:
    """Returns a list of the reward functions, with each Reward put into a Recorder.

    reward_funcs: GRPOTrainer's argument: a function, a list of functions, or None. tool_pictures:
    see Recorder.
    """
    listed = reward_funcs if isinstance(reward_funcs, (list, tuple)) else [reward_funcs]
    functions: list[Any] = []
    for function in listed:
        if isinstance(function, Reward):
            functions.append(Recorder(function, tool_pictures))
        elif function is not None:
            functions.append(function)
    return functions


def advantages_by_token(
    advantages: torch.Tensor, offsets: Mapping[int, Sequence[tuple[int, int]]]
) -> dict[int, TokenAdvantages]:
    """Returns by row a list with (start, end, advantage) for each token of a completion.

    A callback colours the characters [start, end) by the advantage. Only the rows in `offsets` are
    returned. Example: {0: [(0, 1, .5), (1, 5, -.2)]} for the tokens "A" and " red" of row 0.

    advantages: (B, T). Without span credit `offsets` is empty, and the shape may be (B,). offsets:
    by row, the characters [start, end) of each token.
    """
    by_row: dict[int, TokenAdvantages] = {}
    for row, places in offsets.items():
        values = advantages[row].tolist()  # longer than `places`: padded to the longest completion
        triples = []
        for (start, end), value in zip(places, values, strict=False):
            triples.append((start, end, value))
        by_row[row] = triples
    return by_row


def rewards_by_function(
    rewards: torch.Tensor, weights: Mapping[str, float]
) -> list[RewardsByFunction]:
    """Returns for each completion the reward and the weight of each function, by the function's
    name.

    Example: [{"posh": (0.4, 1.0), "length": (-0.1, 0.5)}] for one completion and two functions.

    rewards: (B, R), NaN for a missing reward. weights: the weights of the R functions, by name, in
    the order of the columns of `rewards`.
    """
    rows: list[RewardsByFunction] = []
    for values in rewards.tolist():
        by_function = {}
        for (name, weight), value in zip(weights.items(), values, strict=True):
            by_function[name] = (value, weight)
        rows.append(by_function)
    return rows


def failed_rows(recorders: Sequence[Recorder], rows: int) -> list[bool]:
    """Returns for each of this rank's completions whether a judge of any reward failed on it.

    Rewards that do not decide, because their weight is 0, are skipped. recorders: the reward
    functions that wrap a Reward, with their verdicts. rows: the number of completions.
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
def awake_judges(judges: Iterable[Judge]) -> Iterator[str]:
    """Keeps all judges awake in the `with` block: their models are in the GPU's memory, and leave
    it at the end of the block. Yields "" if all judges could be woken, and otherwise the reason why
    a judge could not.

    Errors of waking and of going to sleep are logged, not raised. If this rank raised an error, the
    other ranks would wait for it in the next collective. Ctrl-C (KeyboardInterrupt) is raised.
    """
    failure = ""
    woken = []
    for judge in judges:
        try:
            judge.__enter__()  # wakes the judge
            woken.append(judge)
        except Exception as error:
            log.exception("a judge could not be woken, and is not asked in this step")
            failure = f"the judge could not be woken: {type(error).__name__}: {error}"
    try:
        yield failure
    finally:
        # put to sleep the judges that were woken, in reverse order
        for judge in reversed(woken):
            try:
                judge.__exit__(*sys.exc_info())  # puts the judge to sleep
            except Exception:
                log.exception("a judge could not be put to sleep")


def check_deadlines(rewards: Sequence[Reward], timeout: float) -> None:
    """Raises ValueError for a reward or judge whose deadline is not below `timeout`.

    A rank that judges longer than `timeout` seconds would make the other ranks end the run.

    timeout: how many seconds a rank waits for the other ranks in a collective.
    """
    for reward in rewards:
        _check_deadline(f"reward {reward.__name__}", reward.deadline, timeout)
        for judge in reward.judges:
            _check_deadline(f"judge of {reward.__name__}", judge.deadline, timeout)


def _check_deadline(what: str, deadline: float | None, timeout: float) -> None:
    """Raises ValueError if the deadline, in seconds, is not below `timeout`.

    what: the object with the deadline, for the message, such as "reward posh".
    """
    if deadline is not None and deadline >= timeout:
        raise ValueError(
            f"the {what} may take {deadline:g} s in a step (its deadline), and the other ranks "
            f"wait {timeout:g} s (ddp_timeout): give it less, or the trainer more."
        )
