"""Reward functions that environment variables set up, for commands such as TRL's that take a reward
function by its name.

    SPANREWARD_JUDGE=vllm:Qwen/Qwen3-8B trl grpo --reward_funcs spanreward.posh ...
    SPANREWARD_FILE=reward.yaml         trl grpo --reward_funcs spanreward.posh spanreward.lave ...

SPANREWARD_FILE is a YAML file. Each of its keys may be absent:

    judge: match                        # the judge's name, "match" by default
    judge_options: {}                   # keyword arguments of the judge's class
    options: {score: precision}         # keyword arguments of the metric's class
    columns: {reference: caption}       # the metric reads `reference` from the column `caption`

For a dataset without a column `reference`, the metric reads `solution` instead: the rewards of TRL
read that column.
"""

import inspect
import json
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from spanreward.rewards.base.checks import check_known
from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.judges.by_name import load_judge
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.metrics import METRICS, build_reward

SET_UP = (
    "This one is ready to use: its judge is that of SPANREWARD_JUDGE (match without one), and "
    "SPANREWARD_FILE names a YAML file with its options (spanreward.rewards.ready)."
)
METRIC_KEYS = ("judge", "judge_options", "options", "columns")


def __getattr__(name: str) -> Callable[..., list[float | None]]:
    """Makes the reward function `posh`, `harmonic`, `lave`, `pairwise`, `criteria` or
    `differences` when a command asks this module for its name.

    Raises ValueError if the file of SPANREWARD_FILE cannot be used, and AttributeError for another
    name.
    """
    if name not in METRICS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    settings = _settings_of_file()
    judge_name = os.environ.get("SPANREWARD_JUDGE") or settings.get("judge", "match")
    judge_options = json.dumps(settings.get("judge_options", {}))
    judge = _shared_judge(judge_name, judge_options)
    reward = build_reward(name, judge, settings.get("options", {}))
    columns: dict[str, str] = settings.get("columns", {})

    def call(
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] | None = None,
        **named: Any,
    ) -> list[float | None]:
        return reward(prompts, completions, **_with_our_columns(named, columns))

    call.__name__ = reward.__name__
    call.__doc__ = f"{inspect.getdoc(type(reward))}\n\n{SET_UP}"
    return call


def _settings_of_file() -> dict[str, Any]:
    """Returns the content of the YAML file that SPANREWARD_FILE names; {} without a file.

    Raises ValueError for an unknown key.
    """
    file = os.environ.get("SPANREWARD_FILE")
    settings: dict[str, Any] = {}
    if file:
        settings = read_yaml_file(Path(file)) or {}  # an empty file is None
    check_known(f"key in {file}:", settings, METRIC_KEYS)
    return settings


def _with_our_columns(named: dict[str, Any], columns: dict[str, str]) -> dict[str, Any]:
    """Returns the dataset's columns with our names for some of them: {"solution": ["A dog."]} gets
    the column `reference` with the same values.

    `reference` has the values of `solution`, unless the dataset has a column `reference`. The YAML
    file may name another column, which then comes before these two.

    named: the values of each column of the dataset. columns: the dataset's name for each of our
    names, from the YAML file.
    """
    values: dict[str, Any] = {}
    if "solution" in named:
        values["reference"] = named["solution"]
    values.update(named)
    for ours, theirs in columns.items():
        if theirs in named:
            values[ours] = named[theirs]
    return values


@cache
def _shared_judge(name: str, options: str) -> Judge:
    """Returns the judge, which all metrics of this process share. options: the keyword arguments of
    the judge's class, as JSON: `@cache` needs a text where a dict cannot be hashed.
    """
    return load_judge(name, **json.loads(options))
