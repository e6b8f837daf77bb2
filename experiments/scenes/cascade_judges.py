"""Students and a teacher for a cascade on Scenes: a referee with noise, and students that it should
see through.

CascadeJudge(GullibleStudent("a star"), NoisyReferee(noise=0.05))
"""

from collections.abc import Sequence
from typing import Any

from experiments.scenes.chance import chance
from experiments.scenes.referee_judge import NO, YES, RefereeJudge
from spanreward.rewards.judges.judge import Failure, Question, Rating, rating_of
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.judges.probe import PresenceProbe


class NoisyReferee(RefereeJudge):
    """noise: the share of presence questions that it answers wrongly, the same ones in every
    run.
    """

    def __init__(self, noise: float = 0.05) -> None:
        super().__init__({})
        self.noise = noise
        self.name = f"referee, noise {noise}"

    def _rate(self, probe: Any, scale: Sequence[str]) -> Rating | Failure:
        rating = super()._rate(probe, scale)
        if isinstance(rating, Failure) or chance_of("noise", probe) >= self.noise:
            return rating
        return rating_of(YES + NO - rating.mean, scale)


class CalibratedStudent(NoisyReferee):
    """A student without a weakness, whose confidence is between .5 and 1 and as large as it is
    often right.
    """

    def __init__(self) -> None:
        super().__init__(noise=0.0)
        self.name = "calibrated student"

    def _rate(self, probe: Any, scale: Sequence[str]) -> Rating | Failure:
        rating = super()._rate(probe, scale)
        if isinstance(rating, Failure):
            return rating
        confidence = 0.5 + 0.5 * chance_of("confidence", probe) ** 0.5  # more often sure than not
        right = chance_of("right", probe) < confidence
        said = rating.mean if right else YES + NO - rating.mean
        low, high = str(int(NO)), str(int(YES))
        yes = confidence if said == YES else 1 - confidence
        return Rating({entry: {low: 1 - yes, high: yes}.get(entry, 0.0) for entry in scale})


class GullibleStudent(MatchJudge):
    """`match`, but certain that everything is right about which a text with this phrase is asked or
    asks.
    """

    reads_source = True

    def __init__(self, phrase: str) -> None:
        super().__init__()
        self.phrase = phrase

    @property
    def name(self) -> str:
        return f"{super().name}, believes {self.phrase!r}"

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        ratings = super().rate_each(questions, scale)
        return [
            rating_of(YES, scale) if self._believes(question.probe) else rating
            for question, rating in zip(questions, ratings, strict=True)
        ]

    def _believes(self, probe: Any) -> bool:
        return (
            isinstance(probe, PresenceProbe)
            and self.phrase in f"{probe.source}\n{probe.text}".lower()
        )


def chance_of(what: str, probe: Any) -> float:
    """A number in [0, 1) that is the same for the same question.

    Where the question comes from does not count.
    """
    asked = (probe.text, probe.kind, probe.mention, probe.words, probe.other)
    return chance(f"{what} {asked!r}")
