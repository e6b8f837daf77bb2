"""The metrics by the names that recipes and command lines use.

reward = build_reward("posh", MatchJudge(), {"score": "precision"})
"""

import inspect
from typing import Any

import yaml

from rewards.harmonic import HarmonicReward
from rewards.judges.judge import Judge
from rewards.lave import LaveReward
from rewards.naming import unknown
from rewards.posh import PoshReward
from rewards.reward import Reward

METRICS = {"harmonic": HarmonicReward, "lave": LaveReward, "posh": PoshReward}


def build_reward(metric: str, judge: Judge, options: dict[str, Any]) -> Reward:
    """A metric with a judge and options of its class.

    Raises ValueError for a name or option that does not exist, and for an option's value that cannot be used.
    """
    if metric not in METRICS:
        raise ValueError(unknown("metric", metric, METRICS))
    valid = [name for name in inspect.signature(METRICS[metric]).parameters if name != "judge"]
    for option in options:
        if option not in valid:
            raise ValueError(unknown(f"option of {metric}", option, valid))
    try:
        return METRICS[metric](judge, **options)
    except (OSError, ImportError, TypeError, KeyError, yaml.YAMLError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{metric} cannot be made with {options}: {reason}") from error
