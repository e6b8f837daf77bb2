"""A judge of Scenes that really sees: a small vision-language model answers what pictures show.

    PoshReward(SeeingJudge("outputs/seeing-judge"), evidence="both")

About a text it answers as `match` does. About a picture it asks the model a question of a few
words, `short_question`, for which the model was trained (picture_lessons.py): its million of
parameters reads no instructions. In a recipe:

    judge:
      name: experiments/scenes/seeing_judge.py:SeeingJudge
      options: {model: outputs/seeing-judge}
"""

from collections.abc import Sequence
from functools import partial

from experiments.scenes.picture_judge import rate_apart
from spanreward.rewards.judges.judge import Failure, OuterJudge, Question, Rating
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.judges.probe import Mention, PictureProbe

BATCH = 256  # questions of a forward pass: each has some ten tokens


class SeeingJudge(OuterJudge):
    """A judge of texts and of pictures. model: the folder of the model that sees."""

    def __init__(self, model: str) -> None:
        self.texts = MatchJudge()
        self.pictures = TransformersJudge(model, batch_size=BATCH)
        super().__init__(self.texts, self.pictures)

    @property
    def sees_pictures(self) -> bool:  # type: ignore[override]
        return True

    def reads_text_only(self) -> bool:
        return False

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        def look(of_pictures: Sequence[Question]) -> list[Rating | Failure]:
            return self.pictures.rate([shortened(question) for question in of_pictures], scale)

        with self:
            return rate_apart(questions, partial(self.texts.rate, scale=scale), look)


def shortened(question: Question) -> Question:
    messages = [{"role": "user", "content": short_question(question.probe)}]
    return Question(messages, question.images, question.probe)


def short_question(probe: PictureProbe) -> str:
    """Returns "red circle?", "circle: red?", or "circle sits in, top corner?"."""
    question = phrase(probe.mention)
    if probe.kind == "attribute":
        question += f": {probe.words}"
    elif probe.kind == "relation" and probe.other is not None:
        question += f" {probe.words}, {phrase(probe.other)}"
    return f"{question}?"


def phrase(mention: Mention) -> str:
    """Returns the thing with its attributes, and with the things that tell it from others."""
    words = " ".join((*mention.attributes, mention.head))
    for link in mention.links:
        other = " ".join((*link.other.attributes, link.other.head))
        if link.reverse:
            words += f" ({other} {link.relation})"
        else:
            words += f" ({link.relation} {other})"
    return words
