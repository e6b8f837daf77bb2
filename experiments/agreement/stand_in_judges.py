"""Judges that read nothing: what agreement with people is worth must be seen beside theirs.

FirstJudge().rate(questions)      # always the text shown first
LongerJudge().rate(questions)     # always the longer one, in words
"""

from collections.abc import Sequence
from typing import Any

from experiments.from_scores import in_words, level, order, prefer
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import (
    Failure,
    Judge,
    Question,
    Rating,
    rating_of,
)
from spanreward.rewards.judges.probe import PairProbe, QualityProbe, RankingProbe

LONG = 300  # words that LongerJudge rates with a 5


class FirstJudge(Judge):
    """Prefers the text shown first, ranks texts as they are shown, and finds all of them
    average.
    """

    name = "always the first"

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        return [self._rate(question.probe, scale) for question in questions]

    def _rate(self, probe: Any, scale: Sequence[str]) -> Rating | Failure:
        if isinstance(probe, PairProbe):
            first, second = self.worth((probe.first, probe.second))
            return prefer(first, second, scale)
        if isinstance(probe, QualityProbe):
            (value,) = self.worth((probe.text,))
            return rating_of(level(value), scale)
        return Failure(
            Status.UNPARSED, f"{self.name}: compares and rates texts, got {type(probe).__name__}"
        )

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        return [
            in_words(order(self.worth(question.probe.texts)))
            if isinstance(question.probe, RankingProbe)
            else "No analysis."
            for question in questions
        ]

    def worth(self, texts: Sequence[str]) -> list[float]:
        """Of each text, in the order shown; 1 is a rating of 5."""
        return [0.5 - place / 1000 for place in range(len(texts))]


class LongerJudge(FirstJudge):
    """Prefers the text of more words; of equal ones neither."""

    name = "always the longer"

    def worth(self, texts: Sequence[str]) -> list[float]:
        return [len(text.split()) / LONG for text in texts]
