"""A judge of several: all rate each question, and the mean counts (PoLL, Verga et al. 2024, arXiv
2404.18796).

judge = JuryJudge(MatchJudge(), EncoderJudge("outputs/judges/people"))
# or load_judge("match+encoder:...")
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from spanreward.rewards.judges.judge import Failure, Judge, OuterJudge, Question, Rating, heard
from spanreward.rewards.judges.usage import Usage


class JuryJudge(OuterJudge):
    """A jury. A failure of one is the jury's, and the first one writes.

    Args:
        judges: two judges or more.

    Raises:
        ValueError: fewer judges.
    """

    def __init__(self, *judges: Judge) -> None:
        super().__init__(*judges)
        if len(judges) < 2:
            raise ValueError(f"a jury has two judges or more, got {len(judges)}: name another.")

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what pickle needs to make the jury again."""
        return type(self), self.judges

    @property
    def name(self) -> str:
        """The names of all judges, as in "jury of match + encoder:..."."""
        names = [judge.name for judge in self.judges]
        return f"jury of {' + '.join(names)}"

    @property
    def usage(self) -> Usage:
        """The sum over the judges, but `questions` are the jury's."""
        total = self.judges[0].usage
        for judge in self.judges[1:]:
            total = total.plus(judge.usage)
        return replace(total, questions=self.questions)

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns each question's pooled rating, in order."""
        answers_by_judge = []
        with self:
            for judge in self.judges:
                answers = heard(len(questions), partial(judge.rate, questions, scale))
                answers_by_judge.append(answers)
        answers_by_question = zip(*answers_by_judge, strict=True)
        return [pooled(answers) for answers in answers_by_question]

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns the first judge's texts: texts have no mean."""
        with self:
            return heard(len(questions), partial(self.judge.write, questions, max_tokens))


def pooled(answers: Sequence[Rating | Failure]) -> Rating | Failure:
    """Returns the mean distribution and mass and the longest cut of the ratings; the first Failure
    if there is one.
    """
    ratings: list[Rating] = []
    for answer in answers:
        if isinstance(answer, Failure):
            return answer
        ratings.append(answer)
    # all entries of all ratings, in the order in which they first come
    entries: dict[str, None] = {}
    for rating in ratings:
        entries.update(dict.fromkeys(rating.probabilities))
    probabilities: dict[str, float] = {}
    for entry in entries:
        shares = [rating.probabilities.get(entry, 0.0) for rating in ratings]
        probabilities[entry] = fmean(shares)
    mass = fmean(rating.mass for rating in ratings)
    cut = max(rating.cut for rating in ratings)
    return Rating(probabilities, mass, cut)
