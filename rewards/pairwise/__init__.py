"""MLLM-as-a-Judge's pair comparison as a reward."""

from rewards.pairwise.reward import PairwiseReward

__all__ = ["PairwiseReward"]
