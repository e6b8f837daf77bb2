"""Makes the rewards and judges that a recipe names. This module needs no package of the extra
`train`.

rewards = build_rewards(recipe.rewards)       # equal judges on this machine are made once
with closing(judges_of(rewards)):
    rewards[0].assess(samples)
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from spanreward.rewards.judges import Judge, load_judge
from spanreward.rewards.metrics import build_reward
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.viewers import unseeing_sentence
from spanreward.rewards.rows.columns import COLUMNS_READ
from spanreward.training.recipe import (
    DataPart,
    JudgePart,
    MetricPart,
    Recipe,
    RecipeError,
    WinRatePart,
)


def build_rewards(parts: Sequence[MetricPart]) -> list[Reward]:
    """Returns the rewards of a recipe's blocks, one per block.

    Rewards with equal judges share the judge if its model is loaded on this machine, to save
    memory. A judge behind a server is made for each reward, so that a step can ask for all rewards
    at the same time. Raises RecipeError for unknown names and options.
    """
    judges: dict[str, Judge] = {}  # by the judge's block of the recipe as JSON
    rewards = []
    with refusing_in_one_line():
        for part in parts:
            key = json.dumps(part.judge.model_dump(), sort_keys=True, default=str)
            # A judge behind a server is made again: rewards that share a judge are asked one after
            # another.
            if key not in judges or judges[key].remote:
                judges[key] = build_judge(part.judge)
            rewards.append(build_reward(part.metric, judges[key], part.options))
    return rewards


def unseeing_rewards(
    recipe: Recipe, rewards: Sequence[Reward]
) -> Iterator[tuple[Reward, DataPart]]:
    """Yields each reward that would show pictures to a text-only judge, with the data block of the
    rows that the reward judges. rewards: the rewards of the blocks of `judged_parts`, in order.
    """
    for part, reward in zip(judged_parts(recipe), rewards, strict=True):
        if not unseeing_sentence(reward):
            continue
        data = recipe.data
        if isinstance(part, WinRatePart):
            data = recipe.validation_data or recipe.data  # the win rate judges held-out rows
        yield reward, data


def judged_parts(recipe: Recipe) -> list[MetricPart]:
    """Returns the blocks of the metrics that a training asks, with the win rate last. Rewards of an
    SFT recipe are only for a comparison, so an SFT training does not ask them.
    """
    if recipe.algorithm == "sft":
        return [*recipe.watching]
    return [*recipe.rewards, *recipe.watching]


def columns_asked_by(rewards: Sequence[Reward]) -> set[str]:
    """Returns the names of the columns that the rewards read in addition to the columns of a
    Sample. Example: {"place"} for a metric of the user that reads the column `place`.
    """
    extra_columns: set[str] = set()
    for reward in rewards:
        extra_columns.update(reward.columns, reward.one_of)
    return extra_columns - COLUMNS_READ


def build_judge(part: JudgePart) -> Judge:
    """Returns the judge of a recipe's block; for a cascade, also makes its student and teacher.

    Raises ValueError for unknown names and options, and the other errors of `load_judge`.
    """
    options = part.options
    if part.cascade is not None:
        # replace the blocks of the student and the teacher by judges
        options = part.cascade.model_dump()
        options["student"] = build_judge(part.cascade.student)
        options["teacher"] = build_judge(part.cascade.teacher)
    return load_judge(part.name, part.cache, **options)


def parsers_of_rewards(rewards: Sequence[Reward]) -> dict[str, str]:
    """Returns {reward's name: its parser}, such as {"posh": "en_core_web_sm 3.8.0, coref rules"}.
    Rewards without a parser are left out. Raises RecipeError if a parser is not installed.
    """
    reader_of = {}
    for reward in rewards:
        try:
            reader = reward.reader()
            if reader:
                reader_of[reward.__name__] = reader
        except ImportError as error:
            raise RecipeError(f"the reward {reward.__name__} cannot read texts: {error}") from error
    return reader_of


@contextmanager
def refusing_in_one_line() -> Iterator[None]:
    """Turns a ValueError inside of the `with` into a RecipeError of one line."""
    try:
        yield
    except ValueError as error:
        raise RecipeError(one_line(str(error))) from error


def one_line(text: str) -> str:
    """Returns the text with a space in place of each run of spaces and line breaks."""
    return " ".join(text.split())
