"""PoSh as the reward of verl (read: 0.9.1, reward loop with its `naive` manager).

    python -m verl.trainer.main_ppo ... \\
        reward.custom_reward_function.path=verl_reward.py \\
        reward.custom_reward_function.name=compute_score \\
        +reward.custom_reward_function.reward_kwargs.judge=server:http://127.0.0.1:8000#Qwen/Qwen3-14B

The data's `reward_model.ground_truth` is the reference, or a list of them. verl asks about every completion in a
coroutine of its own, and `BatchingReward` judges them in batches. A failed judge raises JudgeFailed, which ends the
run: verl has no completion without a reward, and a 0 would teach. PoSh's parts go to verl's metrics.
"""

from functools import cache

from spanreward import BatchingReward, PoshReward, Sample, load_judge
from spanreward.rewards.batching import JudgeFailed


@cache
def posh(judge: str) -> BatchingReward:
    return BatchingReward(PoshReward(load_judge(judge)))


async def compute_score(data_source, solution_str, ground_truth, extra_info=None, *, judge="match", **_):
    references = (ground_truth,) if isinstance(ground_truth, str) else tuple(ground_truth)
    prompt = str((extra_info or {}).get("question", ""))
    verdict = await posh(judge).verdict(Sample(prompt, solution_str, references=references))
    if verdict.score is None:
        raise JudgeFailed(f"posh on {data_source}: {verdict.status.value}: {verdict.note}")
    return {"score": verdict.score, **{f"posh/{part}": verdict.parts.get(part, 0.0) for part in PoshReward.main_parts}}
