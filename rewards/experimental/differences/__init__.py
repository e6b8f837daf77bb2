"""A judge's list of differences between a text and its references as a reward."""

from spanreward.rewards.experimental.differences.reward import DifferencesReward

__all__ = ["DifferencesReward"]
