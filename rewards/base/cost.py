"""The number of questions and tokens that a metric needs for a completion. `Reward.cost` estimates
the number before any model is loaded.
"""

from dataclasses import dataclass

WORDS_PER_TOKEN = 0.75  # roughly, in English
CHARACTERS_PER_TOKEN = 4.0  # roughly, in texts with many numbers and signs


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of judging one completion.

    Attributes:
        questions: the number of questions to the judges.
        prompt_tokens: the number of tokens of all prompts, without pictures. A prefix that several
            prompts share counts in every prompt.
        written_tokens: the largest number of tokens that the judges may write.
        exact: whether `questions` is exact. Otherwise `questions` is an average.
        how: a note on the source of the numbers.
        computed_tokens: the number of prompt tokens left to compute when the judge has a prefix
            cache; None if unknown.
    """

    questions: float
    prompt_tokens: float
    written_tokens: float
    exact: bool
    how: str
    computed_tokens: float | None = None


def tokens_in(text: str) -> float:
    """Returns a rough number of tokens of an English text: a quarter of its characters."""
    return len(text) / CHARACTERS_PER_TOKEN
