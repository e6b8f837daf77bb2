"""PoSh as the reward of a verifiers task (read: 0.4.0, `verifiers.v1`).

Rows are JSONL: {"prompt": "Describe ...", "reference": ["..."]}. verifiers scores every rollout in a coroutine of its
own, and `BatchingReward` judges them in batches. A failed judge raises JudgeFailed. This marks the rollout as failed,
and the policy learns nothing from it.
"""

import json
from pathlib import Path

import verifiers.v1 as vf

from spanreward import BatchingReward, PoshReward, Sample, load_judge


class DescriptionData(vf.TaskData):
    reference: tuple[str, ...]


class DescriptionTask(vf.Task[DescriptionData]):
    posh = BatchingReward(PoshReward(load_judge("match")))  # or "server:http://127.0.0.1:8000#Qwen/Qwen3-14B"

    @vf.reward
    async def posh_f1(self, trace: vf.Trace) -> float:
        written = trace.last_reply or ""
        return await self.posh.score(Sample(self.data.prompt_text, written, references=self.data.reference))


class DescriptionConfig(vf.TasksetConfig):
    rows: Path = Path("rows.jsonl")


class DescriptionTaskset(vf.Taskset[DescriptionTask, DescriptionConfig]):
    def load(self) -> list[DescriptionTask]:
        lines = self.config.rows.read_text(encoding="utf-8").splitlines()
        rows = [DescriptionData(**json.loads(line)) for line in lines]
        return [DescriptionTask(row, self.config.task) for row in rows]


__all__ = ["DescriptionTaskset"]
