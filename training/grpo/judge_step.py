"""Judges the completions of a step for all rewards, and asks servers in parallel.

    judge_step(recorders, prompts, completions, log_metric, {"reference": references})
    recorders[0](prompts, completions)                     # returns the scores to TRL

A judge is local if it runs in this process, or remote if it is a server. The caller's thread asks
the local judges one after another, because a GPU holds one judge at a time. For a server this
process only waits. So other threads ask the servers, at the same time as the local judges.

The results are the same as without threads, because no two threads change the same object:

- Rewards that share a judge share a thread. A judge inside a cache, a cascade or a jury counts too.
  So a judge's counts, its open `with` and its deadline for the step need no locks.
- Rewards share a thread if their caches keep the answers of equal judges in one file. Then the
  second reward finds the answers to the questions of the first reward.
- Two rewards share a thread if their judges ask one server in two ways: for log-probabilities of
  exact token ids, and for log-probabilities of the likeliest tokens. If both kinds of requests ran
  at the same time, vLLM would spoil the answers to the second kind (docs/judges.md).
- Only one thread at a time parses texts or reads the files of pictures (language/parse.py,
  rows/pictures.py).
- The caller's thread reads the rows before the threads start. After the threads have ended, the
  caller's thread keeps and logs the verdicts, in the order of the recorders.
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
from spanreward.training.grpo.recorder import Recorder, awake_judges

# the samples and verdicts that `Recorder.ask` returns, by the recorder's number
JudgedSamples = dict[int, tuple[list[Sample], list[Verdict]]]


@dataclass(frozen=True, slots=True)
class Step:
    """The data of a step that all threads read and no thread changes.

    Args:
        recorders: the trainer's recorders.
        samples: for each recorder, the samples of this rank's completions.
        parts: for each completion the part that is judged; None if whole completions are judged.
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
    """Judges these completions for all recorders, and returns the counts of the judges' work.

    Errors of judges become verdicts. Only Ctrl-C (KeyboardInterrupt) can end the function while
    judges are asked. Then each thread ends by itself, at the latest at the deadline of its judge.

    Args:
        recorders: the reward functions that wrap a Reward. Each keeps its samples and verdicts.
        prompts: the prompt of each of this rank's completions.
        completions: as TRL passes them, texts or lists of messages.
        log_metric: TRL's function that logs a number; gets the means of the verdicts' numbers.
        columns: the values of each column of the rows, by the column's name.
        parts: for each completion the part that is judged; None if whole completions are judged.

    Raises:
        ValueError: for a row that a reward cannot read (see `Reward.__call__`), before any judge is
            asked.
    """
    # read the rows before a thread runs, because reading may raise ValueError
    rewards = []
    samples = []
    for recorder in recorders:
        rewards.append(recorder.reward)
        samples.append(recorder.read(prompts, completions, columns))
    step = Step(recorders, samples, parts)
    judges = judges_of(rewards)
    before = total_usage(judges)
    # start the threads first, so that servers answer while this thread asks the local judges
    by_threads = by_thread(rewards)
    futures = [_start_thread(step, numbers) for numbers in by_threads[1:]]
    judged = _ask_recorders(step, by_threads[0])
    for future in futures:
        judged.update(future.result())  # waits for the thread
    # keep and log in the order of the recorders, not in the order in which the threads ended
    for number, recorder in enumerate(recorders):
        samples_of_recorder, verdicts = judged[number]
        recorder.keep(samples_of_recorder, verdicts, log_metric)
    return total_usage(judges).since(before)


def by_thread(rewards: Sequence[Reward]) -> list[list[int]]:
    """Returns a list for each thread: the numbers of the rewards that the thread asks, in order.

    The first list is for the caller's thread, which asks the rewards with local judges. If all
    judges are remote, the caller's thread asks the first group of remote rewards. So a single
    remote reward needs no further thread.

    Example: if only reward 1 of three has a local judge, and no two share a judge, the result is
    [[1], [0], [2]].
    """
    local: list[int] = []
    remote_groups: list[list[int]] = []
    for numbers in _groups_sharing_objects(rewards):
        if all(_is_computed_on_servers(rewards[number]) for number in numbers):
            remote_groups.append(numbers)
        else:
            local += numbers
    # without local rewards the first list is the first remote group; without rewards it is empty
    if local or not remote_groups:
        return [sorted(local), *remote_groups]
    return remote_groups


def _is_computed_on_servers(reward: Reward) -> bool:
    """Returns whether the reward is computed on servers, so that this process only waits."""
    if isinstance(reward, RemoteReward):
        return True
    if not reward.judges:  # the reward computes its scores in this process
        return False
    return all(judge.remote for judge in reward.judges)


def _groups_sharing_objects(rewards: Sequence[Reward]) -> list[list[int]]:
    """Returns the numbers of the rewards in groups, so that rewards of two groups share no object
    that changes.

    A thread can then ask each group without locks. Example: if the rewards 0 and 1 share a judge,
    1 and 2 share another judge, and 3 shares nothing, the groups are [[0, 1, 2], [3]].
    """
    # the servers that must not get the requests of two rewards at the same time
    exclusive_urls = _spoiled_urls(rewards)
    # for each group: the keys of its changing objects, and the numbers of its rewards
    groups: list[tuple[set[Any], list[int]]] = []
    for number, reward in enumerate(rewards):
        keys = _keys_of_changing_objects(reward, exclusive_urls)
        numbers = [number]
        # merge this reward with every earlier group that has a key in common with it
        other_groups = []
        for keys_of_group, numbers_of_group in groups:
            if keys.isdisjoint(keys_of_group):
                other_groups.append((keys_of_group, numbers_of_group))
            else:
                keys |= keys_of_group
                numbers += numbers_of_group
        groups = [*other_groups, (keys, numbers)]
    return sorted(sorted(numbers) for _, numbers in groups)


def _keys_of_changing_objects(reward: Reward, exclusive_urls: Collection[str]) -> set[Any]:
    """Returns a key for each object that changes while the reward is judged.

    Two rewards with a key in common must not be judged at the same time. A key is the id of a
    reward or judge, a cache's file with the judge's repr, or the url of a server.

    exclusive_urls: the urls of servers that two rewards must not ask at the same time
    (`_spoiled_urls`).
    """
    keys: set[Any] = {id(reward)}
    for judge in _with_inner(reward.judges):
        keys.add(id(judge))
        # two cached judges with one file and one repr share their answers
        if isinstance(judge, CachedJudge):
            keys.add((judge.store.path.resolve(), repr(judge)))
        if isinstance(judge, RemoteJudge) and judge.endpoint.url in exclusive_urls:
            keys.add(judge.endpoint.url)
    return keys


def _spoiled_urls(rewards: Iterable[Reward]) -> set[str]:
    """Returns the urls of servers that get two kinds of requests, which must not run in parallel.

    One kind asks for log-probabilities of exact token ids, the other kind for log-probabilities of
    the likeliest tokens. If both kinds ran at the same time, vLLM would spoil the answers to the
    second kind (docs/judges.md).
    """
    exact: set[str] = set()
    likeliest: set[str] = set()
    for reward in rewards:
        # PoSh's mode "published" reads the likeliest tokens, like the published code of PoSh
        is_published_posh = isinstance(reward, PoshReward) and reward.mode == "published"
        for judge in _with_inner(reward.judges):
            if not isinstance(judge, RemoteJudge):  # the judge asks no server
                continue
            # of the remote judges, only a ServerJudge can ask for exact token ids
            asks_for_exact = isinstance(judge, ServerJudge) and not is_published_posh
            urls = exact if asks_for_exact else likeliest
            urls.add(judge.endpoint.url)
    return exact & likeliest


def _with_inner(judges: Iterable[Judge]) -> Iterator[Judge]:
    """Yields each judge, and after a cache, a cascade or a jury also the judges inside it.

    Example: for a cache around a cascade, the function yields the cache, the cascade, and the two
    judges of the cascade.
    """
    for judge in judges:
        yield judge
        if isinstance(judge, OuterJudge):
            yield from _with_inner(judge.judges)


def _start_thread(step: Step, numbers: Sequence[int]) -> Future[JudgedSamples]:
    """Starts a thread that judges with the recorders of these numbers (`_ask_recorders`). Returns
    the future of the results.

    The thread is a daemon. After Ctrl-C, a thread of an executor would keep the process alive until
    the deadline of a server that hangs.
    """
    future: Future[JudgedSamples] = Future()
    Thread(target=_ask_into, args=(future, step, numbers), daemon=True).start()
    return future


def _ask_into(future: Future[JudgedSamples], step: Step, numbers: Sequence[int]) -> None:
    """Puts the result of `_ask_recorders`, or the error that it raised, into `future`. A thread of
    `_start_thread` runs this function.
    """
    try:
        future.set_result(_ask_recorders(step, numbers))
    except BaseException as error:  # without a result or an error, the caller would wait for ever
        future.set_exception(error)


def _ask_recorders(step: Step, numbers: Sequence[int]) -> JudgedSamples:
    """Judges the completions with the recorders of these numbers, one after another. Returns by
    number the samples and verdicts of each recorder.

    A judge is woken once for all rewards that ask the judge, which means that its model is put onto
    the GPU. The judge sleeps again before the next judge is woken, so that a GPU holds one judge at
    a time.

    step: the data of all recorders. numbers: indices in `step.recorders`, each of a reward function
    that wraps a Reward.
    """
    judged: JudgedSamples = {}
    for same_judge in _by_judge(step, numbers):
        first_reward = step.recorders[same_judge[0]].reward
        # `asleep` is the reason why the judge could not be woken, or ""
        with awake_judges(first_reward.judges_to_wake) as asleep:
            for number in same_judge:
                recorder = step.recorders[number]
                judged[number] = recorder.ask(step.samples[number], asleep, step.parts)
    return judged


def _by_judge(step: Step, numbers: Sequence[int]) -> list[list[int]]:
    """Returns the numbers of the recorders in groups, so that the rewards of a group ask the same
    judge.

    A judge that runs on a GPU is then loaded ("woken") once for its whole group. Example: if the
    recorders 0 and 2 ask one judge, and 1 another judge, the numbers [0, 1, 2] give [[0, 2], [1]].
    A reward without a judge to wake is a group by itself.

    step: its `recorders` are TRL's reward functions; each wraps one Reward. numbers: the indices in
    `step.recorders`. Groups keep the order of their first number.
    """
    # the key is the id of a judge, or the id of a recorder whose reward wakes no judge
    groups: dict[int, list[int]] = {}
    for number in numbers:
        recorder = step.recorders[number]
        judges = recorder.reward.judges_to_wake  # one judge at most
        shared_object = judges[0] if judges else recorder
        groups.setdefault(id(shared_object), []).append(number)
    return list(groups.values())
