"""A served metric as the reward file of EasyR1 (read, not run: hiyouga/EasyR1's FunctionRewardManager).

    spanreward serve posh --judge vllm:Qwen/Qwen3-14B                                     # anywhere
    python -m verl.trainer.main ... worker.reward.reward_function=easyr1_reward.py:compute_score \\
        worker.reward.reward_function_kwargs='{"url": "http://127.0.0.1:8400"}'      # and reward_type: batch

The data's answer column is the reference. EasyR1 has no missing reward, and a 0 would teach: a response that could not
be judged gets the mean of the batch's others, and `judge_failed` counts it. A batch without any verdict ends the run.
"""

from statistics import fmean

from spanreward import RemoteReward
from spanreward.rewards.reward.batching import JudgeFailed

REWARD_NAME, REWARD_TYPE = "posh", "batch"


def compute_score(reward_inputs, url="http://127.0.0.1:8400"):
    texts = [one["response"] for one in reward_inputs]
    references = [one["ground_truth"] for one in reward_inputs]
    _, verdicts = RemoteReward(url, name="posh").judge_completions(
        [""] * len(texts), texts, reference=references
    )
    known = [verdict.score for verdict in verdicts if verdict.score is not None]
    if not known:
        raise JudgeFailed(f"{verdicts[0].status.value}: {verdicts[0].note}")
    parts = sorted({part for verdict in verdicts for part in verdict.parts})
    return [
        {
            "overall": fmean(known) if verdict.score is None else verdict.score,
            "judge_failed": float(verdict.score is None),
            **{part: verdict.parts.get(part, 0.0) for part in parts},
        }
        for verdict in verdicts
    ]
