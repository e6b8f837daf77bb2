"""How MatchJudge compares texts, with words alone. Not a published metric.

    MatchJudge().rate([Question(messages, probe=PairProbe("Describe.", "A red circle.", "A star.", "A red circle."))])

A text is worth the mean of its correctness and its completeness against the context (rate_criteria.py); by criteria of
the row the mean of how far it says what each of them says. The better of two is worth more; equal is a tie. Without a
context there is nothing to look up: `match` sees no pictures.
"""

from collections.abc import Callable, Sequence

from rewards.judges.by_value import in_words, level, order, prefer
from rewards.judges.judge import Failure, Rating
from rewards.judges.match.rate_criteria import LOOKED_UP, SEES_NOTHING
from rewards.judges.probe import CriterionProbe, MeetsProbe, PairProbe, QualityProbe, RankingProbe
from rewards.verdict import Status

Comparison = PairProbe | QualityProbe | MeetsProbe | RankingProbe
RateCriteria = Callable[[Sequence[CriterionProbe]], Sequence[Rating | Failure]]


def texts_in(probe: Comparison) -> tuple[str, ...]:
    """The texts that the probe asks about, in the order in which they are shown."""
    if isinstance(probe, RankingProbe):
        return probe.texts
    return (probe.first, probe.second) if isinstance(probe, PairProbe) else (probe.text,)


def criteria_of(probe: Comparison, text: str) -> list[CriterionProbe]:
    """What a text's worth is made of."""
    if isinstance(probe, MeetsProbe):
        return [CriterionProbe("completeness", text, probe.criterion)]
    if isinstance(probe, PairProbe) and probe.criteria:
        return [CriterionProbe("completeness", text, criterion) for criterion in probe.criteria]
    return [CriterionProbe(name, text, probe.context) for name in LOOKED_UP]


def worths(probes: Sequence[Comparison], rate: RateCriteria) -> list[list[float] | Failure]:
    """Per probe the worth of each of its texts, in [0, 1]; a Failure where there is nothing to look them up in."""
    asked = [[criteria_of(probe, text) for text in texts_in(probe)] for probe in probes]
    distinct = list(dict.fromkeys(one for of_probe in asked for of_text in of_probe for one in of_text))
    rated = dict(zip(distinct, rate(distinct), strict=True))
    found: list[list[float] | Failure] = []
    for of_probe in asked:
        ratings = [[rated[one] for one in of_text] for of_text in of_probe]
        means = [[rating.mean for rating in of_text if isinstance(rating, Rating)] for of_text in ratings]
        if all(len(read) == len(of_text) for read, of_text in zip(means, ratings, strict=True)):
            found.append([(sum(read) / len(read) - 1) / 4 for read in means])
        else:
            found.append(Failure(Status.UNPARSED, SEES_NOTHING))
    return found


def compare(probe: Comparison, worth: list[float] | Failure, scale: Sequence[str]) -> Rating | Failure:
    """The answer as a single token."""
    if isinstance(worth, Failure):
        return worth
    if isinstance(probe, PairProbe):
        return prefer(worth[0], worth[1], scale)
    if isinstance(probe, RankingProbe):
        return Failure(Status.UNPARSED, "a ranking is written, and not rated")
    value = level(worth[0])
    return Rating({entry: max(0.0, 1 - abs(float(entry) - value)) for entry in scale})


def ranking(worth: list[float] | Failure) -> str | Failure:
    """The texts' numbers, best first."""
    return worth if isinstance(worth, Failure) else in_words(order(worth))
