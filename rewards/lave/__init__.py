"""LAVE: a language model rates the answer to a visual question against people's answers."""

from rewards.lave.reward import LaveReward

__all__ = ["LaveReward"]
