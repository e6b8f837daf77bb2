"""MLLM-Bench's criteria of the row as a reward."""

from rewards.criteria.reward import CriteriaReward

__all__ = ["CriteriaReward"]
