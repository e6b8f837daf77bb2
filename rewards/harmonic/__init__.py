"""HarmonicEval: a text rated by criteria, the surest weighing most."""

from rewards.harmonic.reward import HarmonicReward
from rewards.harmonic.scores import Aggregate, aggregate

__all__ = ["Aggregate", "HarmonicReward", "aggregate"]
