"""Can TRL call a reward function of one's own? Asked of its signature, before the first step.

    check_function(lengths, ["prompt", "image", "label"])

TRL calls it by keywords: with the prompts, completions and their ids, every column of the dataset,
and what it can log with.
"""

import inspect
from collections.abc import Callable, Collection
from inspect import Parameter
from typing import Any

from trl.trainer.utils import get_callable_name

POSITIONAL_ONLY = Parameter.POSITIONAL_ONLY
BY_KEYWORD = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
VAR_KEYWORD = Parameter.VAR_KEYWORD
# the keywords of TRL's call, beside the columns
GIVEN = ("prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric")
NOT_GIVEN = ("prompt", "completion", "completion_ids")  # columns that TRL keeps to itself


def check_function(function: Callable[..., Any], columns: Collection[str] | None) -> None:
    """Raises ValueError for a function that TRL's call would not reach.

    columns: of the training dataset, None where they are not known. Then a parameter without a
    default may be one of them.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, it has none
        return
    name = get_callable_name(function)
    keywords = [*GIVEN]
    if columns is not None:
        keywords += [column for column in columns if column not in NOT_GIVEN]
    # with `**kwargs` it takes whatever TRL gives it
    open_ended = any(parameter.kind is VAR_KEYWORD for parameter in parameters)
    accepted = {parameter.name for parameter in parameters if parameter.kind in BY_KEYWORD}
    refused = [keyword for keyword in keywords if keyword not in accepted]
    if refused and not open_ended:
        raise ValueError(
            f"the reward function {name} does not take what TRL gives it, such as "
            f"{refused[0]!r}: write def {name}(completions, **kwargs)."
        )
    # what the function needs, TRL must give
    for parameter in parameters:
        needed = parameter.default is parameter.empty
        if needed and parameter.kind is POSITIONAL_ONLY:
            raise ValueError(
                f"the reward function {name} has {parameter.name!r} before a /, and TRL calls by "
                "keywords: leave out the /."
            )
        by_name = needed and parameter.kind in BY_KEYWORD
        if by_name and columns is not None and parameter.name not in keywords:
            raise ValueError(
                f"the reward function {name} needs {parameter.name!r}, and neither does TRL give "
                f"it nor has train_dataset a column of that name, only {sorted(columns)}."
            )
