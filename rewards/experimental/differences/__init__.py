"""A reward from a judge's list of the differences between a text and its references."""

from spanreward.rewards.experimental.differences.reward import DifferencesReward

__all__ = ["DifferencesReward"]
