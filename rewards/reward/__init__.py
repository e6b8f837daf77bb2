"""The base class of the metrics, with tools around a metric: rewards from functions, batches, and a
cache of answers.
"""

from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.sample import read_sample

__all__ = ["Reward", "read_sample"]
