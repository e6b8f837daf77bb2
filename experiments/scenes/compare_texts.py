"""How WordJudge compares texts, by their words alone. Not a published metric.

    WordJudge().rate([Question(messages, probe=PairProbe("Describe.", "A red circle.", "A star.", "A red circle."))])

The value of a text is the mean of its correctness and its completeness against the context
(rate_criteria.py). Where a row has its own criteria, it is the mean of how far the text says what
each of them says. The text with the higher value is better, and equal values are a tie. Without a
context there is no answer, because it sees no pictures.
"""

from collections.abc import Callable, Sequence

from experiments.from_scores import in_words, level, order, prefer
from experiments.scenes.rate_criteria import LOOKED_UP, SEES_NOTHING
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Rating, rating_of
from spanreward.rewards.judges.probe import (
    CriterionProbe,
    MeetsProbe,
    PairProbe,
    QualityProbe,
    RankingProbe,
)

Comparison = PairProbe | QualityProbe | MeetsProbe | RankingProbe
RateCriteria = Callable[[Sequence[CriterionProbe]], Sequence[Rating | Failure]]


def texts_in(probe: Comparison) -> tuple[str, ...]:
    """Returns the texts that the probe asks about, in the order in which the question shows
    them.
    """
    if isinstance(probe, RankingProbe):
        return probe.texts
    return (probe.first, probe.second) if isinstance(probe, PairProbe) else (probe.text,)


def criteria_of(probe: Comparison, text: str) -> list[CriterionProbe]:
    """Returns the criteria whose mean is the value of a text."""
    if isinstance(probe, MeetsProbe):
        return [CriterionProbe("completeness", text, probe.criterion)]
    if isinstance(probe, PairProbe) and probe.criteria:
        return [CriterionProbe("completeness", text, criterion) for criterion in probe.criteria]
    return [CriterionProbe(name, text, probe.context) for name in LOOKED_UP]


def values_of(probes: Sequence[Comparison], rate: RateCriteria) -> list[list[float] | Failure]:
    """Returns per probe the value of each of its texts, in [0, 1], or a Failure where it has no
    context.
    """
    asked = [[criteria_of(probe, text) for text in texts_in(probe)] for probe in probes]
    distinct = list(
        dict.fromkeys(one for of_probe in asked for of_text in of_probe for one in of_text)
    )
    rated = zip(distinct, rate(distinct), strict=True)
    means = {one: rating.mean for one, rating in rated if isinstance(rating, Rating)}
    return [
        [(sum(means[one] for one in of_text) / len(of_text) - 1) / 4 for of_text in of_probe]
        if all(one in means for of_text in of_probe for one in of_text)
        else Failure(Status.UNPARSED, SEES_NOTHING)
        for of_probe in asked
    ]


def compare(
    probe: Comparison, values: list[float] | Failure, scale: Sequence[str]
) -> Rating | Failure:
    """Returns the rating of a comparison, from the values of its texts."""
    if isinstance(values, Failure):
        return values
    if isinstance(probe, PairProbe):
        return prefer(values[0], values[1], scale)
    if isinstance(probe, RankingProbe):
        return Failure(Status.UNPARSED, "a ranking is written, and not rated")
    return rating_of(level(values[0]), scale)


def ranking(values: list[float] | Failure) -> str | Failure:
    """Returns the numbers of the texts, the best first."""
    return values if isinstance(values, Failure) else in_words(order(values))
