"""Rewards ready for commands that take a function by its name, as TRL's does: set up by the
environment.

    SPANREWARD_JUDGE=vllm:Qwen/Qwen3-8B trl grpo --reward_funcs spanreward.posh ...
    SPANREWARD_FILE=reward.yaml         trl grpo --reward_funcs spanreward.posh spanreward.lave ...

The file is YAML with any of: `judge` (a name, "match" without one), `judge_options` and `options`
(arguments of the judge's and the metric's class), `columns` ({reference: caption}: which of the
data's columns holds what the metric reads). A dataset without `reference` has it read from
`solution`, where TRL's own rewards look.
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
KEYS = ("judge", "judge_options", "options", "columns")


def __getattr__(name: str) -> Callable[..., list[float | None]]:
    """Makes `posh`, `harmonic`, `lave`, `pairwise`, `criteria` and `differences`.

    Raises ValueError for a file that cannot be used.
    """
    if name not in METRICS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    file = os.environ.get("SPANREWARD_FILE")
    settings: dict[str, Any] = {}
    if file:
        settings = read_yaml_file(Path(file)) or {}  # an empty file is None
    check_known(f"key in {file}:", settings, KEYS)
    judge_name = os.environ.get("SPANREWARD_JUDGE") or settings.get("judge", "match")
    judge_options = json.dumps(settings.get("judge_options", {}))
    judge = _judge(judge_name, judge_options)
    reward = build_reward(name, judge, settings.get("options", {}))
    columns: dict[str, str] = settings.get("columns", {})

    def call(
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] | None = None,
        **named: Any,
    ) -> list[float | None]:
        # `solution` stands for a missing `reference`, and the file's own columns for both
        values: dict[str, Any] = {}
        if "solution" in named:
            values["reference"] = named["solution"]
        values.update(named)
        for ours, theirs in columns.items():
            if theirs in named:
                values[ours] = named[theirs]
        return reward(prompts, completions, **values)

    call.__name__ = reward.__name__
    call.__doc__ = f"{inspect.getdoc(type(reward))}\n\n{SET_UP}"
    return call


@cache
def _judge(name: str, options: str) -> Judge:
    """Returns the judge, the same for all metrics of a process. options: as JSON."""
    return load_judge(name, **json.loads(options))
