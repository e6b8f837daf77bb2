"""PoSh as the reward of verl (read: 0.9.1, reward loop with its `naive` manager).

    python -m verl.trainer.main_ppo ... \\
        reward.custom_reward_function.path=verl_reward.py \\
        reward.custom_reward_function.name=compute_score \\
        +reward.custom_reward_function.reward_kwargs.judge=server:http://127.0.0.1:8000#Qwen/Qwen3-14B

Or verl starts the judge itself, on the policy's GPUs, where it sleeps while the policy trains: leave `judge` out, set
reward.reward_model.enable=True and reward.reward_model.model_path=Qwen/Qwen3-14B, and give that name as
reward_kwargs.model. verl then passes the address of its router. Pictures, the files that the data's `extra_info.images`
names, are for reward_kwargs.metric=harmonic with a judge that sees.

The data's `reward_model.ground_truth` is the reference, or a list of them. verl asks about every completion in a
coroutine of its own, and `BatchingReward` judges them in batches. verl has no completion without a reward, and a 0
would teach: a completion that could not be judged gets the mean of the last LAST scores, until more than TOLERATED of
them failed. Then JudgeFailed ends the run. The metric's parts go to verl's metrics, with `judge_failed`.

reward_kwargs.url=http://127.0.0.1:8400 asks `spanreward serve` instead of a judge. reward_kwargs.spans=True adds the
spans, for verl_spans.py.
"""

import json
from collections import deque
from dataclasses import asdict
from functools import cache
from statistics import fmean

from PIL import Image

from spanreward import BatchingReward, RemoteReward, Sample, build_reward, load_judge
from spanreward.rewards.reward.batching import JudgeFailed

LAST, TOLERATED, FIRST = (
    512,
    0.05,
    20,
)  # completions, their share, and how many of them may fail before it counts


class Scorer:
    def __init__(self, metric, judge, url=None):
        self.metric = (
            build_reward(metric, load_judge(judge), {})
            if url is None
            else RemoteReward(url, name=metric)
        )
        self.batching = BatchingReward(self.metric)
        self.scores = deque(maxlen=LAST)  # None where the judge failed

    async def score(self, sample, spans):
        verdict = await self.batching.verdict(sample)
        self.scores.append(verdict.score)
        failed = self.scores.count(None)
        known = [score for score in self.scores if score is not None]
        if verdict.score is None and (
            not known or failed > max(FIRST, TOLERATED * len(self.scores))
        ):
            raise JudgeFailed(
                f"{failed} of {len(self.scores)}: {verdict.status.value}: {verdict.note}"
            )
        score = fmean(known) if verdict.score is None else verdict.score
        parts = {
            f"{self.metric.__name__}/{part}": verdict.parts.get(part, 0.0)
            for part in self.metric.main_parts
        }
        found = {"score": score, "judge_failed": float(verdict.score is None), **parts}
        told = {
            "status": verdict.status,
            "text": sample.completion,
            "spans": [asdict(span) for span in verdict.spans],
        }
        return {**found, "verdict": json.dumps(told)} if spans else found


scorer = cache(Scorer)


async def compute_score(
    data_source, solution_str, ground_truth, extra_info=None, *,
    judge="match", metric="posh", model=None, url=None, spans=False, reward_router_address=None, **_,
):  # fmt: skip
    if reward_router_address is not None:
        judge = f"server:http://{reward_router_address}#{model}"
    extra = extra_info or {}
    references = (ground_truth,) if isinstance(ground_truth, str) else tuple(ground_truth or ())
    pictures = tuple(Image.open(path) for path in extra.get("images", ()))
    sample = Sample(
        str(extra.get("question", "")), solution_str, images=pictures, references=references
    )
    return await scorer(metric, judge, url).score(sample, spans)
