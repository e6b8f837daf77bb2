"""A served metric as the reward of slime (read, not run: THUDM/slime's rm_hub and Sample, October 2026).

    spanreward serve posh --judge vllm:Qwen/Qwen3-14B                                     # anywhere
    REWARD_URL=http://127.0.0.1:8400 python train.py ... --group-rm --custom-rm-path slime_reward.scores

slime gives a prompt's samples to this function together. `label` is the reference, or a list of them. slime knows no
missing reward, and a 0 would teach: a sample that could not be judged gets the mean of its group and is left out of the
loss (`remove_sample`). A group without any verdict ends the run.
"""

import asyncio
import os
from statistics import fmean

from spanreward import RemoteReward, Sample
from spanreward.rewards.reward.batching import JudgeFailed
from spanreward.rewards.rows.messages import prompt_text

REWARD = RemoteReward(os.environ.get("REWARD_URL", "http://127.0.0.1:8400"), name="posh")


async def scores(args, samples, **_):
    rows = [Sample(prompt_text(one.prompt), one.response, references=one.label) for one in samples]
    verdicts = await asyncio.to_thread(REWARD.judge_samples, rows)
    known = [verdict.score for verdict in verdicts if verdict.score is not None]
    if not known:
        raise JudgeFailed(f"{verdicts[0].status.value}: {verdicts[0].note}")
    for sample, verdict in zip(samples, verdicts, strict=True):
        sample.remove_sample = sample.remove_sample or verdict.score is None
        sample.metadata["posh"] = {**verdict.parts, "note": verdict.note}
    return [fmean(known) if verdict.score is None else verdict.score for verdict in verdicts]
