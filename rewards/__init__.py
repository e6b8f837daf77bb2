"""Published vision-language judges as rewards: what a completion is worth, and which of its words made it so."""

from rewards.criteria import CriteriaReward
from rewards.harmonic import HarmonicReward
from rewards.judges import MatchJudge, load_judge
from rewards.lave import LaveReward
from rewards.metrics import build_reward
from rewards.pairwise import PairwiseReward
from rewards.posh import PoshReward
from rewards.reward import Reward
from rewards.verdict import Sample, Span, Status, Verdict

__all__ = [
    "CriteriaReward",
    "HarmonicReward",
    "LaveReward",
    "MatchJudge",
    "PairwiseReward",
    "PoshReward",
    "Reward",
    "Sample",
    "Span",
    "Status",
    "Verdict",
    "build_reward",
    "load_judge",
]
