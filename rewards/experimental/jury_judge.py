"""A judge of several judges: all judges rate each question, and the mean rating counts (PoLL, Verga
et al. 2024, arXiv 2404.18796).

judge = JuryJudge(MatchJudge(), EncoderJudge("outputs/judges/people"))
# or load_judge("match+encoder:...")
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from spanreward.rewards.judges.judge import (
    Failure,
    Judge,
    OuterJudge,
    Question,
    Rating,
    answers_or_failures,
)
from spanreward.rewards.judges.usage import Usage


class JuryJudge(OuterJudge):
    """A jury of several judges. If one judge fails at a question, the jury fails at this question.
    Only the first judge writes texts.

    Args:
        judges: two or more judges.

    Raises:
        ValueError: for fewer than two judges.
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
        """The sum of the judges' usage. `questions` counts the jury's questions."""
        total = self.judges[0].usage
        for judge in self.judges[1:]:
            total = total.plus(judge.usage)
        return replace(total, questions=self.questions)

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns the mean rating of each question, in order."""
        answers_by_judge = []
        with self:
            for judge in self.judges:
                answers = answers_or_failures(len(questions), partial(judge.rate, questions, scale))
                answers_by_judge.append(answers)
        answers_by_question = zip(*answers_by_judge, strict=True)
        return [mean_rating(answers) for answers in answers_by_question]

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns the first judge's texts, because texts have no mean."""
        with self:
            return answers_or_failures(
                len(questions), partial(self.judge.write, questions, max_tokens)
            )


def mean_rating(answers: Sequence[Rating | Failure]) -> Rating | Failure:
    """Returns the mean of several judges' ratings of one question, or the first Failure if there is
    one.

    Probabilities and mass are means. The cut is the longest.
    """
    ratings: list[Rating] = []
    for answer in answers:
        if isinstance(answer, Failure):
            return answer
        ratings.append(answer)
    # All entries of the ratings, in the order of their first occurrence.
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
