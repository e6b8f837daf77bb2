"""A seeing judge as a user writes one in a file (`seers.py:Seer`), without a model."""

from collections.abc import Sequence

from spanreward.rewards.judges import MatchJudge
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating, rating_of
from spanreward.rewards.judges.probe import PictureProbe

IN_EVERY_PICTURE = ("kite", "dog")


class Seer(Judge):
    """Reads texts as `match` does, and sees a kite and a dog in every picture."""

    name = "seer"
    sees_pictures = True

    def __init__(self) -> None:
        self.reader = MatchJudge()

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        ratings: list[Rating | Failure] = []
        for question in questions:
            if isinstance(question.probe, PictureProbe):
                is_there = question.probe.mention.head in IN_EVERY_PICTURE
                ratings.append(rating_of(5.0 if is_there else 1.0, scale))
            else:
                ratings += self.reader.rate([question], scale)
        return ratings
