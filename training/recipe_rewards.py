"""The rewards and judges that a recipe names, made. It needs no package of the extra `train`.

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
from spanreward.rewards.reward.viewers import unseeing
from spanreward.rewards.rows.columns import READ
from spanreward.training.recipe import (
    DataPart,
    JudgePart,
    MetricPart,
    Recipe,
    RecipeError,
    WinRatePart,
)


def build_rewards(parts: Sequence[MetricPart]) -> list[Reward]:
    """Returns the recipe's rewards. Equal judges that need memory here are made once.

    Those behind servers are made for each reward, so that a step asks them at the same time.
    Raises RecipeError for unknown names and options.
    """
    judges: dict[str, Judge] = {}  # by all that the recipe says of them
    rewards = []
    with refusals():
        for part in parts:
            key = json.dumps(part.judge.model_dump(), sort_keys=True, default=str)
            # a server's are made anew: rewards that share a judge are asked one after another
            if key not in judges or judges[key].remote:
                judges[key] = build_judge(part.judge)
            rewards.append(build_reward(part.metric, judges[key], part.options))
    return rewards


def unseeing_rewards(
    recipe: Recipe, rewards: Sequence[Reward]
) -> Iterator[tuple[Reward, DataPart]]:
    """Yields the rewards that show pictures to a judge that is known to read text only, each with
    the data whose rows it judges. rewards: those of `judged_parts`.
    """
    for part, reward in zip(judged_parts(recipe), rewards, strict=True):
        if not unseeing(reward):
            continue
        data = recipe.data
        if isinstance(part, WinRatePart):
            data = recipe.validation_data or recipe.data  # its rows are held out, of the same kind
        yield reward, data


def judged_parts(recipe: Recipe) -> list[MetricPart]:
    """Returns the metrics that a run asks: SFT's rewards are for a comparison."""
    if recipe.algorithm == "sft":
        return [*recipe.watching]
    return [*recipe.rewards, *recipe.watching]


def columns_asked_by(rewards: Sequence[Reward]) -> set[str]:
    """Returns the columns of the data that the rewards read under their own names: those that are
    no columns of a Sample.
    """
    extra_columns: set[str] = set()
    for reward in rewards:
        extra_columns.update(reward.columns, reward.one_of)
    return extra_columns - READ


def build_judge(part: JudgePart) -> Judge:
    """Returns a recipe's judge, of a cascade with its student and teacher.

    Raises as `load_judge` does.
    """
    options = part.options
    if part.cascade is not None:
        # judges in the places of their parts
        options = part.cascade.model_dump()
        options["student"] = build_judge(part.cascade.student)
        options["teacher"] = build_judge(part.cascade.teacher)
    return load_judge(part.name, part.cache, **options)


def readers(rewards: Sequence[Reward]) -> dict[str, str]:
    """Returns {reward's name: what parses its texts}. Raises RecipeError where that is missing."""
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
def refusals() -> Iterator[None]:
    """Turns a ValueError into a RecipeError of one line."""
    try:
        yield
    except ValueError as error:
        raise RecipeError(one_line(str(error))) from error


def one_line(text: str) -> str:
    """Returns the text with a space in place of each run of spaces and line breaks."""
    return " ".join(text.split())
