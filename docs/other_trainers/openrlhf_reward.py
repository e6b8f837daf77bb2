"""A served metric as the reward of OpenRLHF (read, not run: 0.11.2, its SingleTurnAgentExecutor).

    spanreward serve posh --judge vllm:Qwen/Qwen3-14B                                     # anywhere
    REWARD_URL=http://127.0.0.1:8400 python -m openrlhf.cli.train_ppo_ray ... --reward.remote_url openrlhf_reward.py

OpenRLHF decodes prompt and response as one query, with control tokens, and calls this function in a thread for each.
The service judges them together. The label is the reference. JudgeFailed is logged by OpenRLHF, and the sample has no
reward then.
"""

import os
import re

import torch

from spanreward import RemoteReward
from spanreward.rewards.reward.batching import JudgeFailed

REWARD = RemoteReward(os.environ.get("REWARD_URL", "http://127.0.0.1:8400"), name="posh")
ENDS = re.compile(r"(?:\s*(?:<\|[^|<>]{1,30}\|>|</s>|<eos>|<end_of_turn>))+\s*\Z")


def response_of(query, prompt):
    _, found, response = query.partition(prompt)
    if not found:
        raise ValueError(
            "a query does not hold its prompt: the tokenizer does not decode what it encoded"
        )
    return ENDS.sub("", response)


def reward_func(queries, prompts, labels, **_):
    responses = [response_of(query, prompt) for query, prompt in zip(queries, prompts, strict=True)]
    _, verdicts = REWARD.judge_completions(prompts, responses, reference=list(labels))
    if failed := [verdict for verdict in verdicts if verdict.score is None]:
        raise JudgeFailed(f"{failed[0].status.value}: {failed[0].note}")
    scores = torch.tensor([verdict.score for verdict in verdicts])
    parts = {
        part: torch.tensor([verdict.parts[part] for verdict in verdicts])
        for part in verdicts[0].parts
    }
    return {"rewards": scores, "scores": scores, "extra_logs": parts}
