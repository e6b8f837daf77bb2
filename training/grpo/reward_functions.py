"""Checks before the first step that TRL can call a user's reward function, and names functions
apart.

    check_function(lengths, ["prompt", "image", "label"])

The check reads the function's signature. TRL passes keyword arguments only: the prompts, the
completions, the completions' ids, every column of the dataset, the trainer's state, and two
functions for logging.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from inspect import Parameter
from typing import Any

from trl.trainer.utils import get_callable_name

POSITIONAL_ONLY = Parameter.POSITIONAL_ONLY
BY_KEYWORD = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
VAR_KEYWORD = Parameter.VAR_KEYWORD
# the keywords that TRL passes in addition to the columns
TRL_KEYWORDS = (
    "prompts",
    "completions",
    "completion_ids",
    "trainer_state",
    "log_extra",
    "log_metric",
)
NOT_GIVEN = ("prompt", "completion", "completion_ids")  # columns that TRL does not pass


def check_function(function: Callable[..., Any], columns: Collection[str] | None) -> None:
    """Raises ValueError if TRL's call of the function would raise TypeError.

    columns: the names of the training dataset's columns; None if the columns are not known. With
    None, any required parameter may be the name of a column, and so passes.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function written in C may have no signature
        return
    name = get_callable_name(function)
    keywords = [*TRL_KEYWORDS]
    if columns is not None:
        keywords += [column for column in columns if column not in NOT_GIVEN]
    refused = _refused_keywords(parameters, keywords)
    if refused:
        raise ValueError(
            f"the reward function {name} does not take what TRL gives it, such as "
            f"{refused[0]!r}: write def {name}(completions, **kwargs)."
        )
    # check that TRL passes every parameter that has no default
    for parameter in parameters:
        if parameter.default is not parameter.empty:
            continue
        if parameter.kind is POSITIONAL_ONLY:
            raise ValueError(
                f"the reward function {name} has {parameter.name!r} before a /, and TRL calls by "
                "keywords: leave out the /."
            )
        is_passed = columns is None or parameter.name in keywords
        if parameter.kind in BY_KEYWORD and not is_passed:
            raise ValueError(
                f"the reward function {name} needs {parameter.name!r}, and neither does TRL give "
                f"it nor has train_dataset a column of that name, only {sorted(columns or ())}."
            )


def _refused_keywords(parameters: Iterable[Parameter], keywords: Sequence[str]) -> list[str]:
    """Returns the keywords that a function with these parameters does not take.

    Example: of the keywords "prompts" and "completions", `def length(completions)` refuses
    "prompts", and `def length(completions, **kwargs)` refuses none.
    """
    accepted = set()
    for parameter in parameters:
        if parameter.kind is VAR_KEYWORD:  # `**kwargs` takes any keyword
            return []
        if parameter.kind in BY_KEYWORD:
            accepted.add(parameter.name)
    return [keyword for keyword in keywords if keyword not in accepted]


def distinct_names(names: Sequence[str]) -> list[str]:
    """Returns the names, with the index added to a name that came before: ["a", "a"] gives
    ["a", "a_1"].

    TRL keeps the rewards by the function's name, so two functions must not share a name.
    """
    distinct = []
    for index, name in enumerate(names):
        if name in names[:index]:
            distinct.append(f"{name}_{index}")
        else:
            distinct.append(name)
    return distinct
