"""HarmonicEval rates a text by several criteria.

The ratings that the judge is surest of weigh most.
"""

from spanreward.rewards.harmonic.reward import HarmonicReward
from spanreward.rewards.harmonic.scores import Aggregate, aggregate

__all__ = ["Aggregate", "HarmonicReward", "aggregate"]
