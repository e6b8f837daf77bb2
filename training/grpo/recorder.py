"""A step's judges: awake one after another, unable to end the run, and what they found.

    reward = Recorder(PoshReward(judge))                   # for callbacks that look at what was judged
    GRPOTrainer(reward_funcs=[reward], callbacks=[SpanTableCallback([reward])], ...)        # a call judges

SpanGRPOTrainer wakes each judge once in a step, whatever rewards share it, and lets TRL call afterwards:

    judge_step(recorders, prompts, completions, log_metric, {"reference": references})
    recorders[0](prompts, completions)                     # its scores, as TRL wants them

No collective of the training may stand where judges are `awake`: those that all ranks share speak to the other ranks
until they are left (see Rank0Judge).
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any

from rewards.judges import Judge
from rewards.judges.usage import Usage
from rewards.reward import LogMetric, Reward, summarise
from rewards.verdict import Sample, Status, Verdict
from training.grpo.judge_metrics import total_usage
from training.grpo.reasoning import Parts, on_completion

log = logging.getLogger(__name__)

NOT_COLUMNS = ("prompt", "completion", "completion_ids")  # of a row, for TRL's reward functions


class Recorder:
    """A Reward for TRL that keeps what it judged, for callbacks that watch.

    A call judges, unless `judge` has done so already: then it gives the scores of that.

    Attributes:
        samples: of its last batch, this rank's.
        verdicts: likewise.
        advantages: the batch's, one number per completion, where a trainer tells; stock TRL does not.
        watchers: called after every batch, outside any `with judge:`, with the recorder and TRL's `log_metric`.
    """

    def __init__(self, reward: Reward) -> None:
        self.__name__ = reward.__name__
        self.reward = reward
        self.samples: list[Sample] = []
        self.verdicts: list[Verdict] = []
        self.advantages: list[float] | None = None
        self.watchers: list[Watcher] = []
        self._judged = False  # by `judge`, and not yet fetched by a call

    def judge(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        asleep: Mapping[int, str],
        log_metric: LogMetric | None = None,
        parts: Sequence[Parts] | None = None,
        /,
        **columns: Any,
    ) -> None:
        """Keep the samples and verdicts of these completions, all ERROR when a judge of the reward is `asleep`.

        parts: of completions that begin with reasoning: their answers are judged, and what is kept is on the whole
        completions. Raises ValueError as `Reward.__call__` does.
        """
        samples = self.reward.read_samples(prompts, completions, **columns)
        if parts is None:
            verdicts = self._verdicts(samples, asleep)
        else:
            pairs = list(zip(samples, parts, strict=True))
            verdicts = self._verdicts([replace(sample, completion=part.answer) for sample, part in pairs], asleep)
            verdicts = [on_completion(verdict, part) for verdict, part in zip(verdicts, parts, strict=True)]
            samples = [replace(sample, completion=part.reasoning + part.answer) for sample, part in pairs]
        self.keep(samples, verdicts, log_metric)

    def keep(self, samples: list[Sample], verdicts: list[Verdict], log_metric: LogMetric | None = None) -> None:
        """Take these as a step's: a call then gives their scores. What was judged before is not judged again."""
        self.samples, self.verdicts, self.advantages = samples, verdicts, None
        self._judged = True
        if log_metric is not None:
            for metric, value in summarise(verdicts).items():
                log_metric(f"{self.__name__}/{metric}", value)

    def _verdicts(self, samples: Sequence[Sample], asleep: Mapping[int, str]) -> list[Verdict]:
        reasons = [asleep[id(judge)] for judge in self.reward.judges if id(judge) in asleep]
        if reasons:
            return [Verdict(None, Status.ERROR, note=reasons[0]) for _ in samples]
        return self.reward.judge_samples(samples)

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Any = None,
        log_metric: LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """TRL's contract, as `Reward.__call__`."""
        if not self._judged:
            with awake(self.reward.held) as asleep:
                self.judge(prompts, completions, asleep, log_metric, **columns)
        self._judged = False
        for watcher in self.watchers:
            watcher(self, log_metric)
        return [verdict.score for verdict in self.verdicts]


Watcher = Callable[[Recorder, LogMetric | None], None]


def judge_step(
    recorders: Sequence[Recorder],
    prompts: Sequence[Any],
    completions: Sequence[Any],
    log_metric: LogMetric,
    columns: Mapping[str, Sequence[Any]],
    parts: Sequence[Parts] | None = None,
) -> Usage:
    """Have them all judge these completions while their judges are awake; what that cost. Raises as `Recorder.judge`.

    A judge is woken once, for all rewards that ask it, and sleeps before the next one wakes: a GPU need hold no more
    than the largest. It may run in a thread where all judges are elsewhere (`Reward.remote`).
    """
    judges = judges_of(recorder.reward for recorder in recorders)
    before = total_usage(judges)
    for together in by_judge(recorders):
        with awake(together[0].reward.held) as asleep:
            for recorder in together:
                recorder.judge(prompts, completions, asleep, log_metric, parts, **columns)
    return total_usage(judges).since(before)


def by_judge(recorders: Sequence[Recorder]) -> list[list[Recorder]]:
    """The recorders in groups that hold the same judge, in order; one that holds none, or several in turn, is alone."""
    groups: dict[int, list[Recorder]] = {}
    for recorder in recorders:
        held = recorder.reward.held
        groups.setdefault(id(held[0]) if held else id(recorder), []).append(recorder)
    return list(groups.values())


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The columns of a batch of rows as TRL gives them to reward functions."""
    return {name: [row[name] for row in rows] for name in rows[0] if name not in NOT_COLUMNS}


def judges_of(rewards: Iterable[Reward]) -> list[Judge]:
    """The rewards' judges, one that several share once."""
    return list({id(judge): judge for reward in rewards for judge in reward.judges}.values())


def failed_rows(recorders: Sequence[Recorder], rows: int) -> list[bool]:
    """The completions on which a judge failed, whatever the other rewards say."""
    return [any(recorder.verdicts[row].status.failed for recorder in recorders) for row in range(rows)]


@contextmanager
def awake(judges: Iterable[Judge]) -> Iterator[dict[int, str]]:
    """Hold `with judge:` open for all of them. A judge that raises there is left out, and why is kept by its id.

    An exception on one rank would leave the others waiting. Ctrl-C is no Exception, and passes.
    """
    asleep: dict[int, str] = {}
    with ExitStack() as stack:
        for judge in judges:
            try:
                judge.__enter__()
            except Exception as error:
                log.exception("a judge could not be woken, and is not asked in this step")
                asleep[id(judge)] = f"the judge could not be woken: {type(error).__name__}: {error}"
            else:
                stack.push(_leave(judge))
        yield asleep


def _leave(judge: Judge) -> Any:
    """The judge's `__exit__`, which raises nothing."""

    def leave(kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            judge.__exit__(kind, error, trace)
        except Exception:
            log.exception("a judge could not be put to sleep")

    return leave


def check_deadlines(rewards: Sequence[Reward], timeout: float) -> None:
    """Raises ValueError for a judge that may keep its rank longer than the `timeout` seconds that the others wait."""
    for reward in rewards:
        for judge in reward.judges:
            if judge.deadline is not None and judge.deadline >= timeout:
                raise ValueError(
                    f"the judge of {reward.__name__} may take {judge.deadline:g} s in a step (its deadline), and the "
                    f"other ranks wait {timeout:g} s (ddp_timeout): give the judge less, or the trainer more."
                )
