"""PoSh's spans in verl: an advantage estimator "spans" (verl 0.9.1, its trainer with trainer.use_v1=False).

    PYTHONPATH=docs/other_trainers VERL_USE_EXTERNAL_MODULES=verl_spans python -m verl.trainer.main_ppo ... \\
        trainer.use_v1=False algorithm.adv_estimator=spans +algorithm.span_coef=0.5 +algorithm.span_tokenizer=POLICY \\
        reward.custom_reward_function.path=verl_reward.py reward.custom_reward_function.name=compute_score \\
        +reward.custom_reward_function.reward_kwargs.spans=True

verl_reward.py gives each verdict's spans, which verl carries in `non_tensor_batch`. The estimator takes GRPO's
advantages, and adds the spans' credit as SpanGRPOTrainer does in a batch of one group. verl hands `non_tensor_batch` to
its own estimator "gdpo" alone, so `compute_advantage` is wrapped, and hands it to "spans" too. verl's V1 trainer keeps
it from every estimator: there "spans" raises.
"""

import json
from functools import cache

import torch
from transformers import AutoTokenizer
from verl.trainer.ppo import core_algos, ray_trainer

from spanreward import Span, Status, Verdict
from spanreward.training.grpo.by_group import group_advantages

NAME, KEY = "spans", "verdict"
tokenizer_of = cache(AutoTokenizer.from_pretrained)


@core_algos.register_adv_est(NAME)
def estimate(
    token_level_rewards, response_mask, index, config, non_tensor_batch=None, batch=None, **_
):
    """Returns advantages and returns, which are equal, (rows, T). index: the group of each row."""
    if non_tensor_batch is None or KEY not in non_tensor_batch:
        raise ValueError(
            "adv_estimator=spans needs trainer.use_v1=False and verl_reward.py with "
            "reward_kwargs.spans=True"
        )
    scalars, _ = core_algos.compute_grpo_outcome_advantage(
        token_level_rewards,
        response_mask,
        index,
        norm_adv_by_std_in_grpo=config.get("norm_adv_by_std_in_grpo", True),
    )
    tokenizer, coefficient = tokenizer_of(config["span_tokenizer"]), config.get("span_coef", 0.5)
    told = [json.loads(one) for one in non_tensor_batch[KEY]]
    ids = [
        row[mask.bool()].tolist()
        for row, mask in zip(batch["responses"], response_mask, strict=True)
    ]
    advantages = scalars.clone()
    for group in dict.fromkeys(index):
        rows = [row for row, its in enumerate(index) if its == group]
        found = group_advantages(
            [verdict_of(told[row]) for row in rows],
            [told[row]["text"] for row in rows],
            [ids[row] for row in rows],
            [ids[row][-1:] == [tokenizer.eos_token_id] for row in rows],
            tokenizer.backend_tokenizer,
            [float(scalars[row, 0]) for row in rows],
            coefficient,
        )
        for row, values in zip(rows, found, strict=True):
            advantages[row, response_mask[row].bool()] = torch.tensor(values)
    return advantages, advantages


def verdict_of(told):
    status, spans = Status(told["status"]), tuple(Span(**span) for span in told["spans"])
    return Verdict(0.0 if status in (Status.OK, Status.EMPTY) else None, status, spans=spans)


def wrapped(compute_advantage):
    def compute(data, adv_estimator, *given, config=None, **named):
        if adv_estimator != NAME:
            return compute_advantage(data, adv_estimator, *given, config=config, **named)
        rewards, mask = data.batch["token_level_rewards"], data.batch["response_mask"]
        held = {
            "index": data.non_tensor_batch["uid"],
            "non_tensor_batch": data.non_tensor_batch,
            "batch": data.batch,
        }
        data.batch["advantages"], data.batch["returns"] = estimate(
            rewards, mask, config=config, **held
        )
        return data

    return compute


ray_trainer.compute_advantage = wrapped(ray_trainer.compute_advantage)
