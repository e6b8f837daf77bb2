"""HarmonicEval rates a text by several criteria.

A criterion weighs the more, the surer the judge is of its rating.
"""

from spanreward.rewards.harmonic.reward import HarmonicReward
from spanreward.rewards.harmonic.scores import Aggregate, aggregate

__all__ = ["Aggregate", "HarmonicReward", "aggregate"]
