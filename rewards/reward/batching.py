"""Judges completions together that a trainer asks about one at a time, from many coroutines.

    posh = BatchingReward(PoshReward(load_judge("server:http://127.0.0.1:8000#Qwen/Qwen3-14B")))
    verdict = await posh.verdict(sample)  # from as many coroutines as there are completions

A judge is faster on a batch, in which it asks equal questions once. A batch holds all samples that
arrive within WAIT seconds of its first one, unless that are too many. The next batch fills up while
one is judged.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.reward.reward import Reward

WAIT = 0.05  # seconds; a trainer starts the coroutines of a batch within a few milliseconds
LARGEST_BATCH = 256  # samples of a batch
BATCH_PICTURES = 64  # of a batch, but for a sample with more: all are in memory while it is judged


class JudgeFailed(RuntimeError):
    """There is no score, and the completion is not to blame. Do not train on it as if it were 0."""


class BatchingReward:
    """Batches the samples of one event loop for a reward, which runs in its own thread."""

    def __init__(self, reward: Reward) -> None:
        self.reward = reward
        self._waiting: list[tuple[Sample, asyncio.Future[Verdict]]] = []
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=reward.__name__)

    async def score(self, sample: Sample) -> float:
        """Returns the score in [0, 1]. Raises JudgeFailed where there is none."""
        verdict = await self.verdict(sample)
        if verdict.score is None:
            raise JudgeFailed(f"{self.reward.__name__}: {verdict.status.value}: {verdict.note}")
        return verdict.score

    async def verdict(self, sample: Sample) -> Verdict:
        """Returns the verdict of `Reward.judge_samples`. A judge that fails raises nothing."""
        # as of a message that only calls tools: it would fail the others
        if not isinstance(sample.completion, str):
            note = f"a completion is a text, got {sample.completion!r:.80}"
            return Verdict(None, Status.NOT_APPLICABLE, note=note)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Verdict] = loop.create_future()
        # the first sample of a batch starts its clock
        if not self._waiting:
            loop.call_later(WAIT, self._send, loop)
        self._waiting.append((sample, future))
        return await future

    async def verdicts(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns the verdicts of samples that come together; of a metric that compares rows,
        without others' rows.
        """
        if not self.reward.by_batch:
            return await asyncio.gather(*map(self.verdict, samples))
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self.reward.judge_samples, samples)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        """Judges the waiting samples, as many as fit into a batch, in the reward's thread."""
        size = batch_size([sample for sample, _ in self._waiting])
        batch = self._waiting[:size]
        self._waiting = self._waiting[size:]
        if self._waiting:  # they have waited long enough
            loop.call_soon(self._send, loop)
        samples = [sample for sample, _ in batch]
        judged = loop.run_in_executor(self._thread, self.reward.judge_samples, samples)

        def deliver(done: asyncio.Future[list[Verdict]]) -> None:
            # a rollout that was given up cancels its future
            for (_, future), verdict in zip(batch, done.result(), strict=True):
                if not future.cancelled():
                    future.set_result(verdict)

        judged.add_done_callback(deliver)


def batch_size(samples: Sequence[Sample]) -> int:
    """Returns how many of the samples are judged together, the first ones, at least one."""
    pictures = 0
    for number, sample in enumerate(samples[:LARGEST_BATCH]):
        pictures += len(sample.images)
        # a first sample with too many pictures is judged alone
        if number and pictures > BATCH_PICTURES:
            return number
    return min(len(samples), LARGEST_BATCH)
