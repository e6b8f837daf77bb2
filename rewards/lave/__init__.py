"""LAVE rates the answer to a visual question against people's answers."""

from spanreward.rewards.lave.reward import LaveReward

__all__ = ["LaveReward"]
