"""A reward that is broken on purpose: the longer, the better. For seeing whether a comparison finds
out.

    spanreward train recipes/quickstart/scenes-dapo.yaml \
        --set rewards.0.metric=experiments/hacking/broken_reward.py:LengthReward

`spanreward compare` with that policy beside its start must show, in the truth and in every referee
that is not this reward, that it got worse.
"""

from collections.abc import Sequence

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.reward.reward import Reward

ENOUGH = 60  # words that earn everything


class LengthReward(Reward):
    """The share of ENOUGH words that a completion has."""

    main_parts = ("words",)

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        counts = [len(sample.completion.split()) for sample in samples]
        return [
            Verdict(min(count / ENOUGH, 1.0), parts={"words": float(count)}) for count in counts
        ]
