"""MLLM-as-a-Judge's pair comparison, batch ranking and scoring as a reward."""

from spanreward.rewards.pairwise.reward import PairwiseReward

__all__ = ["PairwiseReward"]
