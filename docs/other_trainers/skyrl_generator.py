"""A served metric's credit as SkyRL's rewards of tokens (skyrl 0.4.0, which needs Python 3.12).

    spanreward serve posh --judge vllm:Qwen/Qwen3-14B                                     # anywhere
    # in an entry point like examples/train/*/main_*.py: SpanGenerator in place of SkyRLGymGenerator, and
    # trainer.algorithm.advantage_estimator=reinforce++, which reads each token's reward; grpo and rloo read their sum

A token's reward is what it adds to the verdict's score, and the last token gets the rest, so that a response's rewards
sum to its score. A response without a verdict has no token in the loss. Its reward is the mean of the batch's others,
since SkyRL takes baselines from all responses, and a 0 would move them.
"""

import asyncio
import os
from statistics import fmean

from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator

from spanreward import RemoteReward, Sample, token_credit

REWARD = RemoteReward(os.environ.get("REWARD_URL", "http://127.0.0.1:8400"), name="posh")


class SpanGenerator(SkyRLGymGenerator):
    async def generate(self, input_batch, *given, **named):
        output = await super().generate(input_batch, *given, **named)
        references = [extras["reference"] for extras in input_batch["env_extras"]]
        return await asyncio.to_thread(with_token_rewards, output, references, self.tokenizer)


def with_token_rewards(output, references, tokenizer):
    texts = [tokenizer.decode(ids, skip_special_tokens=True) for ids in output["response_ids"]]
    samples = [
        Sample("", text, references=given) for text, given in zip(texts, references, strict=True)
    ]
    verdicts = REWARD.judge_samples(samples)
    mean = fmean([verdict.score for verdict in verdicts if verdict.score is not None] or [0.0])
    rewards, masks = [], []
    for verdict, ids, mask in zip(
        verdicts, output["response_ids"], output["loss_masks"], strict=True
    ):
        judged = verdict.score is not None and len(ids) > 0
        credit = token_credit(verdict, ids, tokenizer) if judged else [0.0] * len(ids)
        if credit:
            credit[-1] += (verdict.score if judged else mean) - sum(credit)
        rewards.append(credit)
        masks.append(mask if judged else [0] * len(mask))
    return {**output, "rewards": rewards, "loss_masks": masks}
