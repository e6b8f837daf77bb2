"""What LAVE pays for lists of answers, and the right answers that it gives nothing, by the judge's
reason.

    prices = measure_lists(Path("../shared/data"), LaveReward(MatchJudge()), count=500)
    # by how a list is joined
    zeros = false_zeros(Path("../shared/data"))  # by the reason of `match`

Lists are of A-OKVQA's four choices in random order, and of two of them. People's answers are
EVOUNA's.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from experiments.agreement.answer_sets import ChoiceQuestion, load_aokvqa, load_evouna
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges.match.rate_answer import rate_answer
from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.lave.answer import find_answer
from spanreward.rewards.lave.reward import CANDIDATE_CHARACTERS
from spanreward.rewards.reward.reward import Reward

Join = Callable[[Sequence[str]], str]
LISTS: dict[str, Join] = {
    "It is A, B, C, D.": lambda said: f"It is {', '.join(said)}.",
    "A, B, C, D": ", ".join,
    "A B C D": " ".join,
    "It is A B C D.": lambda said: f"It is {' '.join(said)}.",
    "It is A and B and C and D.": lambda said: f"It is {' and '.join(said)}.",
    "It is A or B or C or D.": lambda said: f"It is {' or '.join(said)}.",
    "It is A/B/C/D.": lambda said: f"It is {'/'.join(said)}.",
    "It is A (B) (C) (D).": lambda said: f"It is {said[0]} ({') ('.join(said[1:])}).",
    "lines": "\n".join,
    "It is A. It is B. It is C. It is D.": lambda said: " ".join(f"It is {one}." for one in said),
    "It could be A. It could be B. ...": lambda said: " ".join(
        f"It could be {one}." for one in said
    ),
    "Maybe A, maybe B, maybe C, maybe D.": lambda said: f"Maybe {', maybe '.join(said)}.",
    "1. A 2. B 3. C 4. D": lambda said: " ".join(
        f"{number}. {one}" for number, one in enumerate(said, 1)
    ),
    "A is B is C is D": " is ".join,
    "A with a B with a C with a D.": lambda said: f"A {' with a '.join(said)}.",
    "It is A, B, C, D, no doubt.": lambda said: f"It is {', '.join(said)}, no doubt.",
    "As far as I can tell from the picture it is A, B, C, D.": lambda said: (
        f"As far as I can tell from the picture it is {', '.join(said)}."
    ),
    "It is A on B with C by D.": lambda said: "It is {} on {} with {} by {}.".format(*said),
    "It is A, B.": lambda said: f"It is {', '.join(said[:2])}.",
    "It is A or B.": lambda said: f"It is {' or '.join(said[:2])}.",
    "What is shown there is A, B.": lambda said: f"What is shown there is {', '.join(said[:2])}.",
}


@dataclass(frozen=True, slots=True)
class ListPrice:
    """text: how the list is joined, or "the right choice" and "a random choice". score: LAVE's mean
    score.
    """

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class FalseZeros:
    """reason: the judge's, or "all". zeros: right answers with the lowest rating. right: all right
    answers.
    """

    reason: str
    zeros: int
    right: int


def measure_lists(folder: Path, reward: Reward, count: int) -> list[ListPrice]:
    rows, rng = load_aokvqa(folder)[:count], random.Random(0)

    def price(name: str, texts: Sequence[str]) -> ListPrice:
        samples = [
            Sample(row.question, text, question=row.question, answers=row.answers)
            for row, text in zip(rows, texts, strict=True)
        ]
        return ListPrice(
            name, fmean(verdict.score or 0.0 for verdict in reward.judge_samples(samples))
        )

    return [
        price("the right choice", [row.choices[row.right] for row in rows]),
        price("a random choice", [rng.choice(row.choices) for row in rows]),
        *(
            price(name, [join(rng.sample(row.choices, 4)) for row in rows])
            for name, join in LISTS.items()
        ),
        price(
            "the question, and A on B with C by D",
            [restated(row, rng.sample(row.choices, 4)) for row in rows],
        ),
    ]


def restated(row: ChoiceQuestion, said: Sequence[str]) -> str:
    return (
        f"{row.question.rstrip('?')} {LISTS['It is A on B with C by D.'](said).removeprefix('It ')}"
    )


def false_zeros(folder: Path) -> list[FalseZeros]:
    """Returns a row for all answers and one per reason, the most frequent first."""
    reasons: Counter[str] = Counter()
    right = 0
    for record in load_evouna(folder):
        for answer in (answer for _, answer, is_right in record.judged if is_right):
            start, end = find_answer(answer, record.answers)
            rating, why = rate_answer(
                AnswerProbe(
                    record.question,
                    answer[start : min(end, start + CANDIDATE_CHARACTERS)],
                    record.answers,
                )
            )
            right += 1
            reasons.update([re.sub(r"'.*'|\".*\"|\d+%", "…", why)] if rating == 1 else [])
    return [
        FalseZeros("all", reasons.total(), right),
        *(FalseZeros(*one, right) for one in reasons.most_common()),
    ]
