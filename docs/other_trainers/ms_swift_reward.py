"""PoSh as a reward of ms-swift (read: 4.6.0).

    swift rlhf --rlhf_type grpo --external_plugins ms_swift_reward.py ... \\
        --reward_funcs posh posh_precision posh_recall --reward_weights 1 0 0

The dataset has a column `reference`, a text or a list of texts. ms-swift takes None for "no reward", and then sums
rewards by `nansum`: a failed judge would become a 0, the worst score. So a completion without a verdict gets the mean
score of its group's others here, which neither praises nor blames it. ms-swift logs a number for each reward function,
so that each part of the verdict is one. It reads the verdicts that `posh`, before it, found for the same completions.
"""

import os
from collections import defaultdict
from statistics import fmean

from swift.rewards import ORM, orms

from spanreward import PoshReward, load_judge

JUDGE = os.environ.get("POSH_JUDGE", "match")


class Posh(ORM):
    verdicts = ()  # of the last call

    def __init__(self, args=None, **kwargs):
        super().__init__(args, **kwargs)
        self.reward = PoshReward(load_judge(JUDGE))

    def __call__(self, completions, reference, prompt_id, **columns):
        prompts = [""] * len(completions)  # PoSh reads references, not the prompt
        _, Posh.verdicts = self.reward.judge_completions(
            prompts, completions, reference=list(reference)
        )
        return neutral([verdict.score for verdict in Posh.verdicts], prompt_id)


def part(name):
    def __call__(self, completions, **columns):
        return [verdict.parts.get(name) for verdict in Posh.verdicts]

    return type(f"Posh{name.title()}", (ORM,), {"__call__": __call__})


def neutral(scores, groups):
    """The scores, the mean of the group's others for those that have none, and of all where no other has one."""
    known = [score for score in scores if score is not None]
    of_group = defaultdict(list)
    for score, group in zip(scores, groups, strict=True):
        if score is not None:
            of_group[group].append(score)
    everywhere = fmean(known) if known else 0.0
    return [
        score if score is not None else fmean(of_group[group]) if of_group[group] else everywhere
        for score, group in zip(scores, groups, strict=True)
    ]


orms["posh"] = Posh
for name in ("precision", "recall"):
    orms[f"posh_{name}"] = part(name)
