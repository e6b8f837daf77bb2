"""A judge of descriptions of Scenes that reads the truth, not quite: a stand-in for a good judge,
without a model.

    PairwiseReward(NoisyJudge(noise=0.1)), CriteriaReward(NoisyJudge(noise=0.1))

What is on the picture it reads, with the referee's grammar, from the row's context, which says it
in full. A text is worth its truth F1, by criteria of the row the mean of what it says of them, and
by planted mistake a normal number of deviation `noise` more or less, another one for every text in
every question; the same question gets the same answer. So it prefers the worse of two texts the
more often, the nearer they are. In a recipe:

    judge: {name: "experiments/scenes/noisy_judge.py:NoisyJudge", options: {noise: 0.1}}
"""

import hashlib
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

from experiments.from_scores import in_words, level, order, prefer
from experiments.scenes.referee import judge_description, read
from experiments.scenes.world import Scene, Thing
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import (
    Failure,
    Judge,
    Question,
    Rating,
    rating_of,
)
from spanreward.rewards.judges.probe import MeetsProbe, PairProbe, QualityProbe, RankingProbe

FACTS = ("shape", "color", "size", "row", "column")


class NoisyJudge(Judge):
    """noise: the standard deviation of its mistakes about a text's worth, which is in [0, 1]."""

    def __init__(self, noise: float = 0.1) -> None:
        self.noise = noise

    @property
    def name(self) -> str:
        return f"truth of Scenes, noise {self.noise}"

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        return [self._rate(question.probe, scale) for question in questions]

    def _rate(self, probe: Any, scale: Sequence[str]) -> Rating | Failure:
        if isinstance(probe, PairProbe):
            first, second = (
                self._worth(probe, text, probe.criteria) for text in (probe.first, probe.second)
            )
            return prefer(first, second, scale)
        if isinstance(probe, QualityProbe):
            return rating_of(level(self._worth(probe, probe.text)), scale)
        if isinstance(probe, MeetsProbe):
            return rating_of(level(self._worth(probe, probe.text, (probe.criterion,))), scale)
        return Failure(
            Status.UNPARSED,
            f"this judge rates and compares descriptions, got {type(probe).__name__}",
        )

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """The order of texts for a ranking."""
        return [self._write(question.probe) for question in questions]

    def _write(self, probe: Any) -> str | Failure:
        if isinstance(probe, RankingProbe):
            return in_words(order([self._worth(probe, text) for text in probe.texts]))
        return Failure(
            Status.UNPARSED, f"this judge writes rankings only, got {type(probe).__name__}"
        )

    def _worth(
        self,
        probe: PairProbe | QualityProbe | MeetsProbe | RankingProbe,
        text: str,
        criteria: tuple[str, ...] = (),
    ) -> float:
        """The text's worth as it is read in this question."""
        truths = [
            judge_description(text, scene_of(known)) for known in criteria or (probe.context,)
        ]
        worth = sum(truth.recall if criteria else truth.f1 for truth in truths) / len(truths)
        digest = hashlib.sha256(f"{probe!r} {text!r}".encode("utf-8", "surrogatepass")).digest()
        share = (int.from_bytes(digest[:6]) + 0.5) / 2**48
        return worth + self.noise * NormalDist().inv_cdf(share)


def scene_of(text: str) -> Scene:
    """What a description speaks of. Raises ValueError for one that leaves out a fact of a thing."""
    things = []
    for mention in read(text).mentions:
        values = {fact: mention.values(fact) for fact in FACTS}
        for fact, found in values.items():
            if len(found) != 1:
                raise ValueError(
                    f"{text!r} says no {fact}, or several, of a thing: the judge needs a full "
                    "description"
                )
        things.append(Thing(**{fact: found.pop() for fact, found in values.items()}))
    return Scene(tuple(things), seed="")
