"""How right a judge is about Scenes, and whether its probabilities mean what they say.

    answers = put(judge, lessons)  # a Rating or Failure each, on the scale of its question
    measured(lessons, answers)["entity"].accuracy       # by kind of question

A question's value is in [0, 1]: of a rating (mean - 1) / (levels - 1), of a pair the share of the
text shown first, a tie for one half. A judge is right where its value lies on the truth's side of
one half, and of a pair where the likeliest letter is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from experiments.judging.lessons import Lesson
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Judge, Rating
from spanreward.rewards.lave.reward import RATING_ENTRIES as LAVE_SCALE
from spanreward.rewards.pairwise.votes import VOTE_SCALE as PAIR_SCALE

BINS = 10
SCALES = {"lave": LAVE_SCALE, "pair": PAIR_SCALE}


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers whose values lie in one tenth of [0, 1]: how many, their mean value, and the mean
    that was right.
    """

    count: int
    said: float
    right: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of one kind of question.

    accuracy: share of right answers; of_yes and of_no: of the questions whose truth is at the
    scale's upper and lower end (of pairs: whose first and whose second text is better), None where
    there is none. calibration_error: the mean of |said - right| over the bins, each as often as it
    was said (expected calibration error), against the soft truth that is taught. failed: answers
    that are no rating, which are in none of the other numbers.
    """

    questions: int
    accuracy: float | None
    of_yes: float | None
    of_no: float | None
    calibration_error: float | None
    bins: tuple[Bin, ...]
    failed: int


def put(judge: Judge, lessons: Sequence[Lesson]) -> list[Rating | Failure]:
    """The judge's answers, in order, one call for each scale."""
    answers: dict[int, Rating | Failure] = {}
    for scale in (RATING_SCALE, LAVE_SCALE, PAIR_SCALE):
        numbers = [
            n for n, lesson in enumerate(lessons) if SCALES.get(lesson.kind, RATING_SCALE) == scale
        ]
        asked = [lessons[number].question for number in numbers]
        answers |= zip(numbers, judge.rate(asked, scale) if asked else [], strict=True)
    return [answers[number] for number in range(len(lessons))]


def measured(
    lessons: Sequence[Lesson], answers: Sequence[Rating | Failure]
) -> dict[str, Agreement]:
    """By kind of question, in the order in which they first come."""
    kinds = dict.fromkeys(lesson.kind for lesson in lessons)
    return {
        kind: agreement(
            [pair for pair in zip(lessons, answers, strict=True) if pair[0].kind == kind]
        )
        for kind in kinds
    }


def agreement(pairs: Sequence[tuple[Lesson, Rating | Failure]]) -> Agreement:
    """Of questions of one kind."""
    read = [(lesson, answer) for lesson, answer in pairs if isinstance(answer, Rating)]
    if not read:
        return Agreement(len(pairs), None, None, None, None, (), failed=len(pairs))
    right = [(lesson.right, is_right(lesson, answer)) for lesson, answer in read]
    scale = list(read[0][0].target)
    low, high = ("B", "A") if read[0][0].kind == "pair" else (scale[0], scale[-1])
    bins = calibration(
        [(value(answer.probabilities), value(lesson.target)) for lesson, answer in read]
    )
    return Agreement(
        questions=len(pairs),
        accuracy=fmean(found for _, found in right),
        of_yes=fmean(found for truth, found in right if truth == high)
        if high in dict(right)
        else None,
        of_no=fmean(found for truth, found in right if truth == low)
        if low in dict(right)
        else None,
        calibration_error=sum(one.count * abs(one.said - one.right) for one in bins) / len(read),
        bins=bins,
        failed=len(pairs) - len(read),
    )


def is_right(lesson: Lesson, answer: Rating) -> bool:
    if lesson.kind == "pair":
        return (
            max(answer.probabilities, key=lambda entry: answer.probabilities[entry]) == lesson.right
        )
    return (value(answer.probabilities) > 0.5) == (value(lesson.target) > 0.5)


def value(shares: Mapping[str, float]) -> float:
    """In [0, 1], see above."""
    if "A" in shares:
        return shares["A"] + shares["C"] / 2
    return sum((float(entry) - 1) * share for entry, share in shares.items()) / (len(shares) - 1)


def calibration(values: Sequence[tuple[float, float]]) -> tuple[Bin, ...]:
    """values: what was said and what is right, of each answer.

    The bins that something fell into, the lowest first.
    """
    sorted_in: dict[int, list[tuple[float, float]]] = {}
    for said, right in values:
        sorted_in.setdefault(min(int(said * BINS), BINS - 1), []).append((said, right))
    return tuple(
        Bin(len(several), fmean(said for said, _ in several), fmean(right for _, right in several))
        for _, several in sorted(sorted_in.items())
    )
