"""Builds a metric by the name that recipes and command lines use.

reward = build_reward("posh", MatchJudge(), {"score": "precision"})
"""

import inspect
from typing import Any

import yaml

from spanreward.rewards.base.checks import check_known
from spanreward.rewards.criteria import CriteriaReward
from spanreward.rewards.experimental.differences import DifferencesReward
from spanreward.rewards.files.custom_file import custom_part, is_custom
from spanreward.rewards.harmonic import HarmonicReward
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.lave import LaveReward
from spanreward.rewards.metric_names import check_metric
from spanreward.rewards.pairwise import PairwiseReward
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.reward.remote_reward import RemoteReward
from spanreward.rewards.reward.reward import Reward

METRICS: dict[str, type[Reward]] = {
    "criteria": CriteriaReward,
    "differences": DifferencesReward,
    "harmonic": HarmonicReward,
    "lave": LaveReward,
    "pairwise": PairwiseReward,
    "posh": PoshReward,
}


def build_reward(metric: str, judge: Judge | None, options: dict[str, Any]) -> Reward:
    """Returns the reward of this metric, with this judge and these options.

    metric: a key of METRICS, `remote`, or FILE.py:NAME (custom_file.py). NAME is a subclass of
    Reward, or a reward made by `@reward`, which takes no options. judge: None for a metric that
    asks no judge. A class without a parameter `judge` does not get the judge. options: keyword
    arguments of the metric's class.

    Raises ValueError for an unknown metric or option, for an invalid value, and if a metric needs a
    judge and `judge` is None.
    """
    check_metric(metric)
    # find the class of the metric
    kind: Any
    if is_custom(metric):
        kind = custom_part(metric, Reward, options)
    elif metric == "remote":  # `spanreward serve` runs the metric on another machine
        kind = RemoteReward
    else:
        kind = METRICS[metric]
    if isinstance(kind, Reward):  # a reward that `@reward` made
        return kind
    # check the options, and collect the arguments of the class
    parameters = inspect.signature(kind).parameters
    valid = [name for name in parameters if name != "judge"]
    check_known(f"option of {metric}", options, valid)
    arguments: dict[str, Any] = {}
    if "judge" in parameters:
        if judge is None:
            raise ValueError(
                f"{metric} asks a judge, and none is named: --judge match needs no model "
                "(docs/judges.md)."
            )
        arguments["judge"] = judge
    # A user's class may have a required parameter `name`, as Reward itself does. Its value is made
    # from the class's name: "colour" for ColourReward.
    if "name" in parameters and parameters["name"].default is inspect.Parameter.empty:
        arguments["name"] = kind.__name__.removesuffix("Reward").lower()
    arguments.update(options)
    # make the metric
    try:
        reward: Reward = kind(**arguments)
        return reward
    except (OSError, ImportError, TypeError, KeyError, yaml.YAMLError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{metric} cannot be made with {options}: {reason}") from error
