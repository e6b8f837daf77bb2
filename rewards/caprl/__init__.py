"""CapRL scores a description by the questions about the picture that it answers."""

from spanreward.rewards.caprl.reward import CaprlReward

__all__ = ["CaprlReward"]
