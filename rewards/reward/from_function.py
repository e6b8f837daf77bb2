"""Makes a reward from a function of one sample.

@reward(columns=("reference",))
def overlap(sample: Sample) -> float:
    return token_f1(sample.completion, sample.references)

GRPOTrainer(reward_funcs=[overlap], ...)        # in a recipe: metric: my_rewards.py:overlap
"""

import inspect
from collections.abc import Callable, Sequence

from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.reward.reward import Reward, checked_samples

Judged = float | Verdict | None


class FunctionReward(Reward):
    """Reward that calls a function for the score of each sample. The decorator `reward` makes one.

    The function returns a number in [0, 1], a Verdict with spans, or None for a row that cannot be
    scored. A pickle of the reward holds only the function's name. A spawned process imports the
    reward again by this name.

    Args:
        function: the function of one sample.
        columns: the dataset columns that the function needs.
        name: the reward's name in logs, by default the function's name.

    Raises:
        ValueError: a function that cannot be called with one sample.
    """

    def __init__(
        self,
        function: Callable[[Sample], Judged],
        columns: Sequence[str] | str = (),
        name: str = "",
    ) -> None:
        super().__init__(name or function.__name__)
        _check_signature(function)
        self.function = function
        self.columns = (columns,) if isinstance(columns, str) else tuple(columns)
        # pickle and help() see the module and docstring of the function
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__

    def __reduce__(self) -> str:
        """Returns the name under which pickle finds the reward in the function's module."""
        return self.function.__qualname__

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. A sample for which the function raises has
        status ERROR.
        """
        return [_verdict_of_function(self.function, sample) for sample in checked_samples(samples)]


def reward(
    columns: Sequence[str] | str = (), name: str = ""
) -> Callable[[Callable[[Sample], Judged]], FunctionReward]:
    """Decorator that makes a reward from a function of one `Sample`.

    Args:
        columns: the dataset columns that the function needs. A missing column is a ValueError at
            the first call.
        name: the reward's name in logs, by default the function's name.

    Raises ValueError for `@reward` without parentheses, and for a function that does not take
    exactly one sample.
    """
    if callable(columns):  # @reward without parentheses gets the function itself
        raise ValueError(
            f"write @reward() above def {columns.__name__}, with parentheses, or "
            "@reward(columns=...)."
        )

    def decorate(function: Callable[[Sample], Judged]) -> FunctionReward:
        return FunctionReward(function, columns, name)

    return decorate


def _check_signature(function: Callable[[Sample], Judged]) -> None:
    """Raises ValueError for a function that cannot be called with one sample."""
    try:
        inspect.signature(function).bind(Sample("", ""))
    except TypeError as error:
        raise ValueError(
            f"@reward calls {function.__name__} with one Sample ({error}): write def "
            f"{function.__name__}(sample), and take columns from sample.columns."
        ) from None


def _verdict_of_function(function: Callable[[Sample], Judged], sample: Sample) -> Verdict:
    """Returns the function's verdict on a sample.

    The verdict has status ERROR if the function raises or returns no valid score. The verdict has
    status NOT_APPLICABLE if the function returns None.
    """
    try:
        judged = function(sample)
        if judged is None:
            return Verdict(None, Status.NOT_APPLICABLE, note="the function returned None")
        if isinstance(judged, Verdict):
            return judged
        return Verdict(float(judged))
    except Exception as error:
        # a user's function may raise anything, and the other samples keep their scores
        return Verdict(None, Status.ERROR, note=f"{type(error).__name__}: {error}")
