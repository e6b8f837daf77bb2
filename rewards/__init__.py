"""Scores completions, and says which of their words earned or cost the score. It imports no trainer."""

from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.criteria import CriteriaReward
from spanreward.rewards.differences import DifferencesReward
from spanreward.rewards.harmonic import HarmonicReward
from spanreward.rewards.judges import MatchJudge, load_judge
from spanreward.rewards.lave import LaveReward
from spanreward.rewards.metrics import build_reward
from spanreward.rewards.pairwise import PairwiseReward
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.reward.reward import Reward

__all__ = [
    "CriteriaReward",
    "DifferencesReward",
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
