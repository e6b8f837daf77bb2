"""A judge held against people (MLLM-as-a-Judge, section 3): asked as PairwiseReward asks, measured
as the paper does.

    found = read_judging(folder)
    votes = judge_pairs(judge, found.pairs)
    measure_pairs(found.pairs, votes)[0].without_ties

Pairs are asked in both orders and rankings from both ends, and measured both so and, as the paper
has it, in the file's order alone. The paper's averages are the row MEAN. Questions are put CHUNK
texts at a time, so that a judge that remembers its answers (CachedJudge) goes on where it died. Six
repetitions, of which the paper measures the consistency, are drawn from the distribution at the
token that decides, which is what sampling at temperature 1 draws from: no question more, and the
same draws for one seed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from experiments.agreement.analysis import after_analysis
from experiments.agreement.calibration import held_out, mean_error
from experiments.agreement.judging_measures import (
    class_agreement,
    consistency,
    longer_share,
    mean_absolute_deviation,
    ranking_distance,
)
from experiments.agreement.judging_sets import Judged, Ordered, Preferred, Rated
from experiments.agreement.measures import swap_consistency
from experiments.labels.pair_statistics import pair_accuracies
from experiments.labels.statistics import pearson
from spanreward.rewards.comparison.resampling import Interval, bootstrap, ratio_interval
from spanreward.rewards.judges.judge import Failure, Judge, Rating, answer_questions
from spanreward.rewards.pairwise.questions import ask_pair, ask_score, load_pairwise_prompts
from spanreward.rewards.pairwise.ranking import (
    RANKING_TOKENS,
    Rankings,
    ask_rankings,
    read_rankings,
)
from spanreward.rewards.pairwise.votes import PairVotes, cast_votes, first_slot_share

MEAN = "mean of sets"  # every set of the files counts the same
CHUNK = 64
REPETITIONS = 6
SEED = 0

T = TypeVar("T", bound=Judged)


def judge_pairs(
    judge: Judge, pairs: Sequence[Preferred], analyse: bool = False, wording: str | None = None
) -> list[PairVotes]:
    """Both orders' votes, the file's order first. wording: a file of prompts in place of ours."""
    prompts = load_pairwise_prompts(wording)
    votes: list[PairVotes] = []
    for chunk in chunks(pairs):
        questions = [
            ask_pair(prompts, pair.shown, pair.texts[one], pair.texts[1 - one])
            for pair in chunk
            for one in (0, 1)
        ]
        asked = after_analysis(judge, questions, prompts["answer"]) if analyse else questions
        votes += cast_votes(judge, asked)
    return votes


def judge_scores(
    judge: Judge, texts: Sequence[Rated], analyse: bool = False, wording: str | None = None
) -> list[Rating | Failure]:
    prompts = load_pairwise_prompts(wording)
    ratings: list[Rating | Failure] = []
    for chunk in chunks(texts):
        questions = [ask_score(prompts, one.shown, one.texts[0]) for one in chunk]
        asked = after_analysis(judge, questions, prompts["rating"]) if analyse else questions
        ratings += answer_questions(judge.rate, asked)
    return ratings


def judge_rankings(
    judge: Judge, groups: Sequence[Ordered], analyse: bool = False, wording: str | None = None
) -> list[Rankings]:
    """The rankings as given and from the end."""
    prompts = load_pairwise_prompts(wording)
    rankings: list[Rankings] = []
    for chunk in chunks(groups):
        questions = ask_rankings(prompts, [(group.shown, group.texts) for group in chunk])
        asked = after_analysis(judge, questions, prompts["ranking"]) if analyse else questions
        written = answer_questions(judge.write, asked, RANKING_TOKENS)
        rankings += read_rankings(written, [len(group.texts) for group in chunk])
    return rankings


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Shares in [0, 1], None where there is nothing to share. Both orders together unless it says
    otherwise.

    Attributes:
        with_ties, without_ties: as PairAccuracies has them, of `n` pairs with both votes read.
        interval: 95 % of with_ties, over requests.
        right, decided: counts behind without_ties.
        recall, f1: macro averages over win, tie and loss.
        one_order, one_order_without_ties: with_ties and without_ties in the file's order alone, as
            the paper has them.
        orders_agree: both orders chose the same.
        first_slot: decided votes for the text shown first.
        longer, longer_people: decided pairs that went to the longer text.
        average, majority: consistency of REPETITIONS draws in the file's order.
    """

    part: str
    n: int
    failed: int
    with_ties: float | None
    interval: Interval | None
    without_ties: float | None
    right: int
    decided: int
    recall: float | None
    f1: float | None
    one_order: float | None
    one_order_without_ties: float | None
    orders_agree: float | None
    first_slot: float | None
    longer: float | None
    longer_people: float | None
    average: float | None
    majority: float | None


def measure_pairs(pairs: Sequence[Preferred], votes: Sequence[PairVotes]) -> list[PairAgreement]:
    """All pairs, and each part where there are several."""
    return in_parts(list(zip(pairs, votes, strict=True)), lambda both: both[0].part, pair_agreement)


def pair_agreement(part: str, judged: Sequence[tuple[Preferred, PairVotes]]) -> PairAgreement:
    people = [pair.people for pair, _ in judged]
    outcomes = [votes.outcome for _, votes in judged]
    lengths = [(len(pair.texts[0].split()), len(pair.texts[1].split())) for pair, _ in judged]
    both, alone = (
        pair_accuracies(outcomes, people),
        pair_accuracies([votes.choices[0] for _, votes in judged], people),
    )
    classes = class_agreement(outcomes, people)
    of_requests: dict[str, tuple[int, int]] = {}
    for (pair, _), outcome in zip(judged, outcomes, strict=True):
        if outcome is not None:
            same, read = of_requests.get(pair.id, (0, 0))
            of_requests[pair.id] = (same + (outcome == pair.people), read + 1)
    sums = list(of_requests.values())
    repeated = consistency(drawn([votes.one for _, votes in judged]))
    return PairAgreement(
        part=part,
        n=both.read,
        failed=len(judged) - both.read,
        with_ties=both.with_ties,
        interval=ratio_interval([same for same, _ in sums], [read for _, read in sums])
        if sums
        else None,
        without_ties=both.without_ties,
        right=both.right,
        decided=both.decided,
        recall=classes.recall if classes else None,
        f1=classes.f1 if classes else None,
        one_order=alone.with_ties,
        one_order_without_ties=alone.without_ties,
        orders_agree=swap_consistency([votes.choices for _, votes in judged]),
        first_slot=first_slot_share([slot for _, votes in judged for slot in votes.slots]),
        longer=longer_share(outcomes, lengths),
        longer_people=longer_share(people, lengths),
        average=repeated.average if repeated else None,
        majority=repeated.majority if repeated else None,
    )


def drawn(answers: Sequence[Rating | Failure]) -> list[list[str]]:
    """REPETITIONS entries of the scale from each distribution; none from a Failure."""
    generator = np.random.default_rng(SEED)
    return [
        []
        if isinstance(answer, Failure)
        else generator.choice(
            list(answer.probabilities),
            size=REPETITIONS,
            p=normalised(list(answer.probabilities.values())),
        ).tolist()
        for answer in answers
    ]


def normalised(shares: Sequence[float]) -> np.ndarray:
    return np.asarray(shares, dtype=np.float64) / sum(shares)


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """pearson: of the judge's mean ratings with people's; interval: 95 %, over requests. length:
    the correlation of the number of words with the judge's ratings, and with people's. deviation:
    the mean absolute deviation of the judge's ratings of one request, and of people's. error: the
    mean absolute difference from people, in points; the calibrated figures are of ratings mapped by
    isotonic regression on the labels of other requests (calibration.py).
    """

    part: str
    n: int
    failed: int
    pearson: float | None
    interval: Interval | None
    mean: float | None
    mean_people: float | None
    length: float | None
    length_people: float | None
    deviation: float | None
    deviation_people: float | None
    average: float | None
    majority: float | None
    error: float | None
    error_calibrated: float | None
    pearson_calibrated: float | None


def measure_scores(
    texts: Sequence[Rated], ratings: Sequence[Rating | Failure]
) -> list[ScoreAgreement]:
    return in_parts(
        list(zip(texts, ratings, strict=True)), lambda both: both[0].part, score_agreement
    )


def score_agreement(part: str, judged: Sequence[tuple[Rated, Rating | Failure]]) -> ScoreAgreement:
    read = [(text, rating.mean) for text, rating in judged if isinstance(rating, Rating)]
    means, people = [mean for _, mean in read], [text.people for text, _ in read]
    words = [float(len(text.texts[0].split())) for text, _ in read]
    requests: dict[str, list[tuple[float, float]]] = {}
    for text, mean in read:
        requests.setdefault(text.id, []).append((mean, text.people))

    def of_requests(chosen: Sequence[list[tuple[float, float]]]) -> float:
        both = [pair for request in chosen for pair in request]
        return pearson([one for one, _ in both], [other for _, other in both])

    bounds = bootstrap(list(requests.values()), of_requests) if len(requests) > 1 else None
    repeated = consistency(drawn([rating for _, rating in judged]))
    mapped = held_out(means, people, [text.id for text, _ in read])
    return ScoreAgreement(
        part=part,
        n=len(read),
        failed=len(judged) - len(read),
        pearson=defined(pearson(means, people)),
        interval=bounds if bounds and bounds.low == bounds.low else None,
        mean=sum(means) / len(read) if read else None,
        mean_people=sum(people) / len(read) if read else None,
        length=defined(pearson(words, means)),
        length_people=defined(pearson(words, people)),
        deviation=mean_absolute_deviation(
            [[mean for mean, _ in request] for request in requests.values()]
        ),
        deviation_people=mean_absolute_deviation(
            [[given for _, given in request] for request in requests.values()]
        ),
        average=repeated.average if repeated else None,
        majority=repeated.majority if repeated else None,
        error=mean_error(means, people),
        error_calibrated=mean_error(mapped, people) if mapped else None,
        pearson_calibrated=defined(pearson(mapped, people)) if mapped else None,
    )


def defined(value: float) -> float | None:
    """None for nan, the correlation of what never varies."""
    return value if value == value else None


@dataclass(frozen=True, slots=True)
class RankingAgreement:
    """distance: from people's ranking, the mean over both ways of showing; interval: 95 %, over
    requests. one_order: the distance in the file's order alone. orders_agree: the share of groups
    that were ranked the same both ways; as_shown: of rankings that repeat the order shown.
    """

    part: str
    n: int
    failed: int
    distance: float | None
    interval: Interval | None
    one_order: float | None
    orders_agree: float | None
    as_shown: float | None


def measure_rankings(
    groups: Sequence[Ordered], rankings: Sequence[Rankings]
) -> list[RankingAgreement]:
    return in_parts(
        list(zip(groups, rankings, strict=True)), lambda both: both[0].part, ranking_agreement
    )


def ranking_agreement(part: str, judged: Sequence[tuple[Ordered, Rankings]]) -> RankingAgreement:
    both = [
        (group, forward, backward)
        for group, (forward, backward) in judged
        if not isinstance(forward, Failure) and not isinstance(backward, Failure)
    ]
    distances = [
        sum(ranking_distance(way, group.people) for way in (forward, backward)) / 2
        for group, forward, backward in both
    ]
    shown = [list(range(len(group.texts))) for group, *_ in both]
    repeats = [
        (forward == places) + (backward == places[::-1])
        for places, (_, forward, backward) in zip(shown, both, strict=True)
    ]
    return RankingAgreement(
        part=part,
        n=len(both),
        failed=len(judged) - len(both),
        distance=sum(distances) / len(both) if both else None,
        interval=ratio_interval(distances) if both else None,
        one_order=mean_known(
            [ranking_distance(forward, group.people) for group, forward, _ in both]
        ),
        orders_agree=sum(forward == backward for _, forward, backward in both) / len(both)
        if both
        else None,
        as_shown=sum(repeats) / (2 * len(both)) if both else None,
    )


def in_parts(
    judged: list[Any], part: Callable[[Any], str], measure: Callable[[str, Any], Any]
) -> list[Any]:
    """The measure of all; where there are several parts, that of each and the mean of those with a
    name.
    """
    if not judged:
        return []
    names = sorted(set(map(part, judged)))
    parts = [
        measure(name, [one for one in judged if part(one) == name])
        for name in names
        if len(names) > 1
    ]
    named = [row for row in parts if row.part]
    return [measure("all", judged), *parts, *([mean_row(named)] if named else [])]


def mean_row(rows: Sequence[Any]) -> Any:
    """The sums of the rows' counts and the means of their shares, without weights; None where no
    row has one.
    """

    def of_all(values: Sequence[Any]) -> Any:
        if all(isinstance(value, int) for value in values):
            return sum(values)
        return None if any(isinstance(value, Interval) for value in values) else mean_known(values)

    found = {
        field.name: of_all([getattr(row, field.name) for row in rows])
        for field in fields(rows[0])[1:]
    }
    return type(rows[0])(part=MEAN, **found)


def mean_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
