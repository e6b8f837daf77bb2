"""Collects samples from many coroutines into batches for a reward.

    posh = BatchingReward(PoshReward(load_judge("server:http://127.0.0.1:8000#Qwen/Qwen3-14B")))
    verdict = await posh.verdict(sample)  # from as many coroutines as there are completions

Some trainers ask about one completion at a time. A judge is faster on a batch, and answers equal
questions of a batch once. A batch has all samples that arrive within BATCH_SECONDS seconds of the
batch's first sample, up to a largest size. While one batch is judged, the next batch fills up.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.reward.reward import Reward

# seconds; a trainer starts the coroutines of a batch within a few milliseconds
BATCH_SECONDS = 0.05
LARGEST_BATCH = 256  # samples of a batch, at most
# the most pictures of a batch of several samples: all pictures of a batch are in memory at once
BATCH_PICTURES = 64


class JudgeFailed(RuntimeError):
    """Raised if there is no score and the completion is not to blame. Do not train as if the score
    were 0.
    """


class BatchingReward:
    """Judges the samples of one event loop in batches. The reward runs in its own thread."""

    def __init__(self, reward: Reward) -> None:
        self.reward = reward
        self._waiting: list[tuple[Sample, asyncio.Future[Verdict]]] = []
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=reward.__name__)

    async def score(self, sample: Sample) -> float:
        """Returns the sample's score in [0, 1]. Raises JudgeFailed for a verdict without a
        score.
        """
        verdict = await self.verdict(sample)
        if verdict.score is None:
            raise JudgeFailed(f"{self.reward.__name__}: {verdict.status.value}: {verdict.note}")
        return verdict.score

    async def verdict(self, sample: Sample) -> Verdict:
        """Returns the sample's verdict. A failure of the judge is a verdict too, and raises
        nothing.
        """
        # A message that only calls tools has no text as its content. Such a sample would fail its
        # whole batch.
        if not isinstance(sample.completion, str):
            note = f"a completion is a text, got {sample.completion!r:.80}"
            return Verdict(None, Status.NOT_APPLICABLE, note=note)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Verdict] = loop.create_future()
        # the first sample of a batch starts its clock
        if not self._waiting:
            loop.call_later(BATCH_SECONDS, self._send, loop)
        self._waiting.append((sample, future))
        return await future

    async def verdicts(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns the verdicts of samples that belong together, such as a group.

        A metric that compares rows judges these samples alone, without samples of other callers.
        """
        if not self.reward.by_batch:
            return await asyncio.gather(*map(self.verdict, samples))
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self.reward.judge_samples, samples)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        """Judges one batch of the waiting samples in the reward's thread."""
        size = batch_size([sample for sample, _ in self._waiting])
        batch = self._waiting[:size]
        self._waiting = self._waiting[size:]
        if self._waiting:  # samples beyond this batch do not wait again
            loop.call_soon(self._send, loop)
        samples = [sample for sample, _ in batch]
        judged = loop.run_in_executor(self._thread, self.reward.judge_samples, samples)

        def deliver(done: asyncio.Future[list[Verdict]]) -> None:
            # the future of a rollout that the trainer gave up is cancelled
            for (_, future), verdict in zip(batch, done.result(), strict=True):
                if not future.cancelled():
                    future.set_result(verdict)

        judged.add_done_callback(deliver)


def batch_size(samples: Sequence[Sample]) -> int:
    """Returns how many samples, counted from the first, make the next batch. At least one, and at
    most LARGEST_BATCH: samples with 60, 4 and 1 pictures give 2, because a batch has at most
    BATCH_PICTURES pictures.
    """
    pictures = 0
    for number, sample in enumerate(samples[:LARGEST_BATCH]):
        pictures += len(sample.images)
        # a first sample with too many pictures makes a batch alone
        if number and pictures > BATCH_PICTURES:
            return number
    return min(len(samples), LARGEST_BATCH)
