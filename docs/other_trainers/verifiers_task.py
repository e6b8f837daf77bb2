"""PoSh as the reward of a verifiers task (run with 0.4.0, `verifiers.v1`).

    pip install verifiers spanreward
    PYTHONPATH=docs/other_trainers vf-eval verifiers_task --model MODEL --client.base-url URL/v1 --push false \\
        --env.taskset.rows rows.jsonl --env.agent.harness.id null --env.agent.runtime.type subprocess

Rows are JSONL: {"prompt": "Describe ...", "reference": ["..."]}. verifiers scores every rollout in a coroutine of its
own, and `BatchingReward` judges them in batches. A failed judge raises JudgeFailed. This marks the rollout as failed,
and the policy learns nothing from it. The verdict's spans travel in the trace, so that the trainer can write advantages
of tokens where verifiers keeps them: `token_advantages(traces, tokenizer, 0.5)`, once for each group, after scoring.
"""

import json
from dataclasses import asdict
from pathlib import Path
from statistics import fmean

import verifiers.v1 as vf

from spanreward import BatchingReward, PoshReward, Sample, Span, Status, Verdict, load_judge
from spanreward.rewards.reward.batching import JudgeFailed
from spanreward.training.grpo.by_group import group_advantages


class DescriptionData(vf.TaskData):
    reference: tuple[str, ...]


class DescriptionTask(vf.Task[DescriptionData]):
    posh = BatchingReward(
        PoshReward(load_judge("match"))
    )  # or "server:http://127.0.0.1:8000#Qwen/Qwen3-14B"

    @vf.reward
    async def posh_f1(self, trace: vf.Trace) -> float:
        written = trace.last_reply or ""
        verdict = await self.posh.verdict(
            Sample(self.data.prompt_text, written, references=self.data.reference)
        )
        if verdict.score is None:
            raise JudgeFailed(f"posh: {verdict.status.value}: {verdict.note}")
        trace.info["posh"] = {
            "score": verdict.score,
            "text": written,
            "spans": [asdict(one) for one in verdict.spans],
        }
        return verdict.score


def token_advantages(traces, tokenizer, span_coef):
    """Writes into each trace's last message an advantage for each sampled token: its reward less the group's mean, and
    the spans' credit. traces: of one prompt. tokenizer: the policy's, a fast one.
    """
    judged = [trace for trace in traces if "posh" in trace.info]
    if not judged:
        return
    told, nodes = [trace.info["posh"] for trace in judged], [trace.nodes[-1] for trace in judged]
    mean = fmean(one["score"] for one in told)
    verdicts = [
        Verdict(one["score"], Status.OK, spans=tuple(Span(**span) for span in one["spans"]))
        for one in told
    ]
    ids = [
        [token for token, own in zip(node.token_ids, node.mask, strict=True) if own]
        for node in nodes
    ]
    ended = [row[-1:] == [tokenizer.eos_token_id] for row in ids]
    scalars, texts = [one["score"] - mean for one in told], [one["text"] for one in told]
    found = group_advantages(
        verdicts, texts, ids, ended, tokenizer.backend_tokenizer, scalars, span_coef
    )
    for node, advantages in zip(nodes, found, strict=True):
        node.advantages = advantages


class DescriptionConfig(vf.TasksetConfig):
    rows: Path = Path("rows.jsonl")


class DescriptionTaskset(vf.Taskset[DescriptionTask, DescriptionConfig]):
    def load(self) -> list[DescriptionTask]:
        lines = self.config.rows.read_text(encoding="utf-8").splitlines()
        rows = [DescriptionData(**json.loads(line)) for line in lines]
        return [DescriptionTask(row, self.config.task) for row in rows]


__all__ = ["DescriptionTaskset"]
