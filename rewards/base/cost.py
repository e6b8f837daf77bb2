"""What a metric asks of its judges, estimated before anything is loaded (`Reward.cost`)."""

from dataclasses import dataclass

WORDS_PER_TOKEN = 0.75  # roughly, in English
CHARACTERS_PER_TOKEN = 4.0  # roughly, in texts with many numbers and signs


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one completion.

    Attributes:
        questions: how many questions the judges get.
        prompt_tokens: tokens of all prompts, without pictures. Shared prefixes count in every
            prompt.
        written_tokens: the most tokens that the judges write.
        exact: whether the number of questions is exact. Otherwise it is an average.
        how: where the numbers come from.
        computed_tokens: those prompt tokens that a prefix cache does not have; None if not known.
    """

    questions: float
    prompt_tokens: float
    written_tokens: float
    exact: bool
    how: str
    computed_tokens: float | None = None


def tokens_in(text: str) -> float:
    """Returns roughly how many tokens an English text has."""
    return len(text) / CHARACTERS_PER_TOKEN
