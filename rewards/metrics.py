"""The metrics by the names that recipes and command lines use.

reward = build_reward("posh", MatchJudge(), {"score": "precision"})
"""

import inspect
from typing import Any

import yaml

from rewards.criteria import CriteriaReward
from rewards.harmonic import HarmonicReward
from rewards.judges.judge import Judge
from rewards.lave import LaveReward
from rewards.naming import unknown
from rewards.own_class import is_own, own_class
from rewards.pairwise import PairwiseReward
from rewards.posh import PoshReward
from rewards.reward import Reward

METRICS: dict[str, type[Reward]] = {
    "criteria": CriteriaReward,
    "harmonic": HarmonicReward,
    "lave": LaveReward,
    "pairwise": PairwiseReward,
    "posh": PoshReward,
}


def build_reward(metric: str, judge: Judge, options: dict[str, Any]) -> Reward:
    """A metric with a judge and options of its class. `metric`: one of METRICS, or FILE.py:CLASS (see own_class.py),
    which is given the judge where it takes one.

    Raises ValueError for a name or option that does not exist, and for an option's value that cannot be used.
    """
    if is_own(metric):
        kind = own_class(metric, Reward)
    elif metric in METRICS:
        kind = METRICS[metric]
    else:
        raise ValueError(f"{unknown('metric', metric, METRICS)} A metric of your own is FILE.py:CLASS.")
    parameters = inspect.signature(kind).parameters
    valid = [name for name in parameters if name != "judge"]
    for option in options:
        if option not in valid:
            raise ValueError(unknown(f"option of {metric}", option, valid))
    given: dict[str, Any] = {"judge": judge} if "judge" in parameters else {}
    if "name" in parameters and parameters["name"].default is inspect.Parameter.empty:
        given["name"] = kind.__name__.removesuffix("Reward").lower()
    try:
        return kind(**{**given, **options})
    except (OSError, ImportError, TypeError, KeyError, yaml.YAMLError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{metric} cannot be made with {options}: {reason}") from error
