"""What commands that take a metric with options have in common: `mode=published gamma=1 criteria=overall`.

add_metric_options(parser)
with open_metric("posh", parser.parse_intermixed_args()) as metric:
    metric.reward, metric.settings
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from training.commands.judge_options import add_judge_options, judge_of, read_option

if TYPE_CHECKING:
    from rewards.reward import Reward


@dataclass(frozen=True, slots=True)
class ChosenMetric:
    """A metric, and what decides its verdicts: its name, judge, options, prompts and what parses its texts."""

    reward: "Reward"
    settings: dict[str, Any]


def add_metric_options(parser: argparse.ArgumentParser) -> None:
    """`key=value` after the other words, and the judge's own options."""
    add_judge_options(parser)
    parser.add_argument(
        "options", nargs="*", metavar="key=value", help="options of the metric, such as mode=published or gamma=1"
    )


@contextmanager
def open_metric(
    name: str, arguments: argparse.Namespace, defaults: dict[str, Any] | None = None
) -> Iterator[ChosenMetric]:
    """The metric of this name with the judge of --judge, which is closed at the end.

    defaults: options where the command line gives none. Raises ValueError for names, options and values that do not
    fit.
    """
    from rewards.judges import closing
    from rewards.metrics import build_reward

    options = {**(defaults or {}), **dict(read_option(text) for text in arguments.options)}
    judge = judge_of(arguments)
    reward = build_reward(name, judge, options)
    settings = {"reward": name, "judge": judge.name, "options": options, "prompts": reward.wording}
    settings["parsed_by"] = reward.reader()
    with closing([judge]):
        yield ChosenMetric(reward, settings)
