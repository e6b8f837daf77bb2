"""What a metric will ask of its judges, reckoned before anything is loaded. Each states its own: `Reward.cost`."""

from dataclasses import dataclass

WORDS_PER_TOKEN = 0.75  # of English, roughly
CHARACTERS_PER_TOKEN = 4.0  # likewise, where numbers and signs are many


@dataclass(frozen=True, slots=True)
class Cost:
    """What one completion costs to which the metric applies.

    Attributes:
        questions: put to the judges.
        prompt_tokens: that they read in all of these, pictures not counted, and nothing taken off for beginnings that
            several questions share.
        written_tokens: that they write at most.
        exact: the number of questions is certain, and no mean.
        how: in a few words, where the numbers come from.
    """

    questions: float
    prompt_tokens: float
    written_tokens: float
    exact: bool
    how: str


def tokens_in(text: str) -> float:
    """Of an English text, roughly."""
    return len(text) / CHARACTERS_PER_TOKEN
