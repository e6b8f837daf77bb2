"""All rewards of a step are judged: those behind servers at the same time, in threads, and at the
same time as those here.

    judge_step(recorders, prompts, completions, log_metric, {"reference": references})
    recorders[0](prompts, completions)                     # its scores, as TRL wants them

Judges here are asked one after another, in the caller's thread: a GPU holds one at a time. For a
server this process only waits. Every number is that of asking one after another, for no two threads
change the same thing:

- Rewards that share a judge, also one inside a cache, a cascade or a jury, have one thread. A
  judge's counts, its open `with` and its one deadline for the step need no locks.
- So have rewards whose caches keep the answers of equal judges in one file: the second finds what
  the first has asked.
- So have rewards whose judges ask one server, if some want the log-probabilities of exact token ids
  and others those of the likeliest tokens: vLLM spoils the latter beside the former
  (docs/judges.md).
- Texts are parsed, and the files of pictures read, by one thread at a time (language/parse.py,
  rows/pictures.py).
- Rows are read before, and verdicts kept and logged after, by the caller's thread, in the order of
  the recorders.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread
from typing import Any

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.judges import Judge
from spanreward.rewards.judges.cache.cached_judge import CachedJudge
from spanreward.rewards.judges.judge import OuterJudge
from spanreward.rewards.judges.remote.remote_judge import RemoteJudge
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.posh.reward import PoshReward
from spanreward.rewards.reward.remote_reward import RemoteReward
from spanreward.rewards.reward.reward import LogMetric, Reward, judges_of
from spanreward.training.grpo.judge_metrics import total_usage
from spanreward.training.grpo.reasoning import Parts
from spanreward.training.grpo.recorder import Recorder, awake

# what `Recorder.ask` returns, by the recorder's number
Judged = dict[int, tuple[list[Sample], list[Verdict]]]


@dataclass(frozen=True, slots=True)
class Step:
    """What the threads of a step read, and none changes.

    Args:
        recorders: of the trainer.
        samples: of each recorder, this rank's rows.
        parts: of each completion what is judged; None where all of it is.
    """

    recorders: Sequence[Recorder]
    samples: Sequence[list[Sample]]
    parts: Sequence[Parts] | None


def judge_step(
    recorders: Sequence[Recorder],
    prompts: Sequence[Any],
    completions: Sequence[Any],
    log_metric: LogMetric,
    columns: Mapping[str, Sequence[Any]],
    parts: Sequence[Parts] | None = None,
) -> Usage:
    """Has all recorders judge these completions, and returns what that cost.

    After Ctrl-C, which alone leaves later, a thread ends by itself, at its judge's deadline at the
    latest.

    Args:
        recorders: their verdicts and samples are kept in them.
        prompts: of this rank's completions.
        completions: as TRL passes them, texts or lists of messages.
        log_metric: TRL's, for the numbers of each verdict.
        columns: of the rows, by name.
        parts: of each completion what is judged; None where all of it is.

    Raises:
        ValueError: as `Reward.__call__` does, before any judge is asked.
    """
    # read the rows, which may raise, before a thread runs
    rewards = []
    samples = []
    for recorder in recorders:
        rewards.append(recorder.reward)
        samples.append(recorder.read(prompts, completions, columns))
    step = Step(recorders, samples, parts)
    judges = judges_of(rewards)
    before = total_usage(judges)
    # start the threads first, so that servers answer while this thread asks the judges here
    by_threads = by_thread(rewards)
    under_way = [_start(step, numbers) for numbers in by_threads[1:]]
    judged = _ask(step, by_threads[0])
    for answers in under_way:
        judged.update(answers.result())  # waits
    # keep and log in the order of the recorders, whatever ended first
    for number, recorder in enumerate(recorders):
        samples_of_recorder, verdicts = judged[number]
        recorder.keep(samples_of_recorder, verdicts, log_metric)
    return total_usage(judges).since(before)


def by_thread(rewards: Sequence[Reward]) -> list[list[int]]:
    """Returns the numbers of the rewards that each thread asks, in order. The caller's is first.

    It asks those here. Without any it asks the first of those elsewhere, so that one alone needs no
    thread.
    """
    local: list[int] = []
    elsewhere: list[list[int]] = []
    for numbers in _sharing(rewards):
        if all(_is_elsewhere(rewards[number]) for number in numbers):
            elsewhere.append(numbers)
        else:
            local += numbers
    if local or not elsewhere:
        return [sorted(local), *elsewhere]
    return elsewhere


def _is_elsewhere(reward: Reward) -> bool:
    """Whether this process only waits for the reward's verdicts."""
    if isinstance(reward, RemoteReward):
        return True
    if not reward.judges:  # it computes its scores itself
        return False
    return all(judge.remote for judge in reward.judges)


def _sharing(rewards: Sequence[Reward]) -> list[list[int]]:
    """Returns the numbers of the rewards in groups that share nothing that changes.

    Where A and B share one judge, and B and C another, all three are one group.
    """
    spoiled = _spoiled_urls(rewards)
    groups: list[tuple[set[Any], list[int]]] = []  # marks of what changes, numbers of rewards
    for number, reward in enumerate(rewards):
        marks = _changing(reward, spoiled)
        numbers = [number]
        # this reward joins the groups it shares something with into one
        apart = []
        for marks_of_group, numbers_of_group in groups:
            if marks.isdisjoint(marks_of_group):
                apart.append((marks_of_group, numbers_of_group))
            else:
                marks |= marks_of_group
                numbers += numbers_of_group
        groups = [*apart, (marks, numbers)]
    return sorted(sorted(numbers) for _, numbers in groups)


def _changing(reward: Reward, spoiled: Collection[str]) -> set[Any]:
    """Returns marks of what changes while the reward is judged.

    spoiled: the urls of the servers that rewards ask in ways which spoil each other.
    """
    marks: set[Any] = {id(reward)}
    for judge in _with_inner(reward.judges):
        marks.add(id(judge))
        # two objects with one repr find each other's answers in the file
        if isinstance(judge, CachedJudge):
            marks.add((judge.store.path.resolve(), repr(judge)))
        if isinstance(judge, RemoteJudge) and judge.endpoint.url in spoiled:
            marks.add(judge.endpoint.url)
    return marks


def _spoiled_urls(rewards: Iterable[Reward]) -> set[str]:
    """Returns the urls that two rewards ask in different ways: one wants exact token ids, the other
    the likeliest tokens.
    """
    exact = set()
    likeliest = set()
    for reward in rewards:
        # this mode reads the likeliest tokens, as its published code does
        published = isinstance(reward, PoshReward) and reward.mode == "published"
        for judge in _with_inner(reward.judges):
            if isinstance(judge, ServerJudge) and not published:
                exact.add(judge.endpoint.url)
            elif isinstance(judge, RemoteJudge):
                likeliest.add(judge.endpoint.url)
    return exact & likeliest


def _with_inner(judges: Iterable[Judge]) -> Iterator[Judge]:
    """Yields the judges, and those that they ask: a cache's, a cascade's, a jury's."""
    for judge in judges:
        yield judge
        if isinstance(judge, OuterJudge):
            yield from _with_inner(judge.judges)


def _start(step: Step, numbers: Sequence[int]) -> Future[Judged]:
    """Asks in a thread, and returns at once what its answers will be.

    A daemon: the thread of an executor would keep a process from its end after Ctrl-C, until the
    deadline of a server that hangs.
    """
    answers: Future[Judged] = Future()
    Thread(target=_settle, args=(answers, step, numbers), daemon=True).start()
    return answers


def _settle(answers: Future[Judged], step: Step, numbers: Sequence[int]) -> None:
    """Asks, and puts the verdicts, or what was raised, into `answers`."""
    try:
        answers.set_result(_ask(step, numbers))
    except BaseException as error:  # the caller waits for the answers, whatever ends this thread
        answers.set_exception(error)


def _ask(step: Step, numbers: Sequence[int]) -> Judged:
    """Asks the recorders of these numbers one after another.

    Each judge is woken once for all rewards that ask it, and sleeps before the next one wakes, so
    that a GPU holds at most the largest.
    """
    judged: Judged = {}
    for together in _by_judge(step, numbers):
        reward = step.recorders[together[0]].reward  # all of these wake the same judges
        with awake(reward.judges_to_wake) as asleep:
            for number in together:
                recorder = step.recorders[number]
                judged[number] = recorder.ask(step.samples[number], asleep, step.parts)
    return judged


def _by_judge(step: Step, numbers: Sequence[int]) -> list[list[int]]:
    """Returns the numbers in groups whose rewards wake the same judge, in order.

    A reward that wakes none is a group by itself.
    """
    groups: dict[int, list[int]] = {}
    for number in numbers:
        recorder = step.recorders[number]
        judges = recorder.reward.judges_to_wake
        owner = judges[0] if judges else recorder
        groups.setdefault(id(owner), []).append(number)
    return list(groups.values())
