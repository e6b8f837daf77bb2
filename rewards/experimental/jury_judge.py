"""A judge of several: all rate each question, and the mean counts (PoLL, Verga et al. 2024, arXiv
2404.18796).

judge = JuryJudge(MatchJudge(), EncoderJudge("outputs/judges/people"))
# or load_judge("match+encoder:...")
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import chain
from statistics import fmean
from typing import Any

from spanreward.rewards.judges.judge import Failure, Judge, OuterJudge, Question, Rating, heard
from spanreward.rewards.judges.usage import Usage


class JuryJudge(OuterJudge):
    """A jury.

    A failure of one is the jury's, and the first one writes. Raises ValueError for a single judge.
    """

    def __init__(self, *judges: Judge) -> None:
        super().__init__(*judges)
        if len(judges) < 2:
            raise ValueError(f"a jury has two judges or more, got {len(judges)}: name another.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.judges

    @property
    def name(self) -> str:
        return f"jury of {' + '.join(judge.name for judge in self.judges)}"

    @property
    def usage(self) -> Usage:
        """The sum over the judges, but `questions` are the jury's."""
        total = reduce(Usage.plus, (judge.usage for judge in self.judges))
        return replace(total, questions=self.questions)

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        by_judge = []
        with self:
            for judge in self.judges:
                by_judge.append(heard(len(questions), partial(judge.rate, questions, scale)))
        return list(map(pooled, zip(*by_judge, strict=True)))

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        with self:
            return heard(len(questions), partial(self.judge.write, questions, max_tokens))


def pooled(answers: Sequence[Rating | Failure]) -> Rating | Failure:
    """Returns the mean distribution and mass and the longest cut of the ratings; the first Failure
    if there is one.
    """
    ratings = [answer for answer in answers if isinstance(answer, Rating)]
    if len(ratings) < len(answers):
        return next(answer for answer in answers if isinstance(answer, Failure))
    entries = dict.fromkeys(chain.from_iterable(rating.probabilities for rating in ratings))
    probabilities: dict[str, float] = {}
    for entry in entries:
        probabilities[entry] = fmean(rating.probabilities.get(entry, 0.0) for rating in ratings)
    mass = fmean(rating.mass for rating in ratings)
    return Rating(probabilities, mass, max(rating.cut for rating in ratings))
