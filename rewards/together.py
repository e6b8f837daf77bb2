"""For trainers that ask about one completion at a time, many at once: those that come together are judged together.

    posh = Together(PoshReward(load_judge("server:http://127.0.0.1:8000#Qwen/Qwen3-14B")))
    verdict = await posh.verdict(sample)                  # from as many coroutines as there are completions

A judge is fast because equal questions are asked once and those with a shared beginning beside each other, which takes
a batch. All verdicts that are awaited within WAIT seconds of the first are one; while a batch is judged the next one
gathers.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from rewards.reward import Reward
from rewards.verdict import Sample, Verdict

WAIT = 0.05  # seconds; a trainer starts the coroutines of a batch within a few milliseconds


class JudgeFailed(RuntimeError):
    """There is no score, and no fault of the completion: nothing to learn from, and no 0."""


class Together:
    """reward: judged in a thread of its own, one batch at a time. Belongs to one event loop."""

    def __init__(self, reward: Reward) -> None:
        self.reward = reward
        self._waiting: list[tuple[Sample, asyncio.Future[Verdict]]] = []
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=reward.__name__)

    async def score(self, sample: Sample) -> float:
        """The score in [0, 1]. Raises JudgeFailed where there is none."""
        verdict = await self.verdict(sample)
        if verdict.score is None:
            raise JudgeFailed(f"{self.reward.__name__}: {verdict.status.value}: {verdict.note}")
        return verdict.score

    async def verdict(self, sample: Sample) -> Verdict:
        """As `Reward.judge_samples` gives it; nothing is raised for a judge that fails."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Verdict] = loop.create_future()
        if not self._waiting:
            loop.call_later(WAIT, self._send, loop)
        self._waiting.append((sample, future))
        return await future

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have all that wait judged."""
        batch, self._waiting = self._waiting, []
        samples = [sample for sample, _ in batch]
        judged = loop.run_in_executor(self._thread, self.reward.judge_samples, samples)

        def deliver(done: asyncio.Future[list[Verdict]]) -> None:
            for (_, future), verdict in zip(batch, done.result(), strict=True):
                if not future.cancelled():
                    future.set_result(verdict)

        judged.add_done_callback(deliver)
