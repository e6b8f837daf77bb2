"""MLLM-Bench's per-sample criteria as a reward."""

from spanreward.rewards.criteria.reward import CriteriaReward

__all__ = ["CriteriaReward"]
