"""Pair comparison, batch ranking and scoring of MLLM-as-a-Judge as a reward."""

from spanreward.rewards.pairwise.reward import PairwiseReward

__all__ = ["PairwiseReward"]
