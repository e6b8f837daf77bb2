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
    kind = _class_of_metric(metric, options)
    if isinstance(kind, Reward):  # a reward that `@reward` made
        return kind
    arguments = _arguments_of_class(kind, metric, judge, options)
    try:
        reward: Reward = kind(**arguments)
        return reward
    except (OSError, ImportError, TypeError, KeyError, yaml.YAMLError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{metric} cannot be made with {options}: {reason}") from error


def _class_of_metric(metric: str, options: dict[str, Any]) -> Any:
    """Returns the class of a metric, such as PoshReward for "posh"; for FILE.py:NAME the class or
    the finished reward of this name.

    options: must be empty for a finished reward, otherwise ValueError is raised.
    """
    if is_custom(metric):
        return custom_part(metric, Reward, options)
    if metric == "remote":  # `spanreward serve` runs the metric on another machine
        return RemoteReward
    return METRICS[metric]


def _arguments_of_class(
    kind: Any,
    metric: str,
    judge: Judge | None,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Returns the keyword arguments for a metric's class: the options, the judge if the class takes
    one, and a name if the class needs one.

    Raises ValueError for an unknown option, and if the class takes a judge and `judge` is None.
    """
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
    return arguments
