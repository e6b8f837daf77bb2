"""Asks the picture about what no reference supports: a detail that people left out and the picture shows is no mistake.

    ask_pictures([PictureCheck(pictures, precision_interviews)], judge, load_wording())
    interviews[0].entities[0].rating                    # the picture's, where it is better than every reference's

PoSh's paper asks the references alone. ClaimDiff-RL (arXiv 2605.20278) checks on the picture in what a text differs
from its reference. Here a component that every reference rates below UNSETTLED is asked again: entities first, and then
attributes and relations of those that a reference or the picture has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PIL import Image

from spanreward.rewards.files.templates import fill, read_texts
from spanreward.rewards.judges.judge import Failure, Judge, Question
from spanreward.rewards.judges.probe import PresenceProbe
from spanreward.rewards.judges.shared.cached_judge import rate_once
from spanreward.rewards.posh.interview import ComponentRating, Interview
from spanreward.rewards.posh.questions import Component, said_of, short_names

UNSETTLED = 3.0  # the middle of the scale
WORDING = Path(__file__).with_name("picture.yaml")
PLACEHOLDERS = {"entity_identifier": "entity", "entity1_identifier": "subject", "entity2_identifier": "object"}


@dataclass(frozen=True, slots=True)
class PictureCheck:
    """A completion's pictures, and its interviews with each reference (precision). The first one gets the answers."""

    pictures: tuple[Image.Image, ...]
    interviews: Sequence[Interview]

    def entities(self) -> list[Component]:
        """Returns the unsettled entities."""
        first = self.interviews[0]
        named = [
            Component("entity", number, {"entity_identifier": found.identifier}, found.mention)
            for number, found in sorted(first.entities.items())
            if first.source.entities[number].fixed is None
        ]
        return self._unsettled(named)

    def details(self) -> list[Component]:
        """Returns the unsettled attributes and relations of entities that a reference or the picture has."""
        numbers = range(len(self.interviews[0].source.entities))
        there = {number for number in numbers if any(one.entities[number].present for one in self.interviews)}
        return self._unsettled(said_of(self.interviews[0], there))

    def _unsettled(self, components: Sequence[Component]) -> list[Component]:
        """Returns the components that no reference rates at UNSETTLED or above."""

        def settled(component: Component, interview: Interview) -> bool:
            answer = interview.answers(component.kind).get(component.key)
            return answer is not None and answer.rating >= UNSETTLED

        return [one for one in components if not any(settled(one, interview) for interview in self.interviews)]


def load_wording() -> dict[str, str]:
    return read_texts(None, WORDING)


def ask_pictures(checks: Sequence[PictureCheck], judge: Judge, wording: Mapping[str, str]) -> None:
    """Asks about the unsettled components of all completions, in two calls, and keeps what raises a rating."""
    for unsettled_in in (PictureCheck.entities, PictureCheck.details):
        asked = [(check, component) for check in checks for component in unsettled_in(check)]
        texts = [_question_text(component, wording) for _, component in asked]
        questions = [
            Question(
                [{"role": "user", "content": f"{wording['instructions']}\n\n{text}"}],
                images=check.pictures,
                probe=PresenceProbe("", component.kind, component.mention, component.words, component.other),
            )
            for (check, component), text in zip(asked, texts, strict=True)
        ]
        for (check, component), text, rating in zip(asked, texts, rate_once(judge, questions), strict=True):
            if isinstance(rating, Failure):
                check.interviews[0].fail(rating)
            else:
                _keep(check.interviews[0], component, ComponentRating(rating.mean, text))


def _question_text(component: Component, wording: Mapping[str, str]) -> str:
    names = {PLACEHOLDERS.get(key, key): name for key, name in short_names(component.names).items()}
    return fill(wording[component.kind], **names)


def _keep(interview: Interview, component: Component, answer: ComponentRating) -> None:
    """Keeps the answer if it is the component's highest."""
    answers = interview.answers(component.kind)
    old = answers.get(component.key)
    if old is None:
        answers[component.key] = answer
    elif answer.rating > old.rating:
        present = {"present": answer.rating >= interview.presence_threshold} if component.kind == "entity" else {}
        answers[component.key] = replace(old, rating=answer.rating, question=answer.question, **present)
