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
from typing import Any

from PIL import Image

from spanreward.rewards.files.templates import fill, read_texts
from spanreward.rewards.judges.judge import Failure, Judge, Question
from spanreward.rewards.judges.probe import PresenceProbe
from spanreward.rewards.judges.shared.cached_judge import rate_once
from spanreward.rewards.posh.interview import ComponentRating, Interview
from spanreward.rewards.posh.questions import Component, attributes_of, relation_of, short_names

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
        return [
            Component("entity", number, {"entity_identifier": found.identifier}, found.mention)
            for number, found in sorted(first.entities.items())
            if first.source.entities[number].fixed is None and self._unsettled("entity", number)
        ]

    def details(self) -> list[Component]:
        """Returns the unsettled attributes and relations of entities that a reference or the picture has."""
        first = self.interviews[0]
        view = first.source
        numbers = [number for number in range(len(view.entities)) if self._has(number)]
        components = [component for number in numbers for component in attributes_of(first, number, published=False)]
        for number in sorted({number for entity in view.entities for number in entity.relations}):
            relation = view.relation(number)
            if self._has(relation.subject) and self._has(relation.object):
                components.append(relation_of(first, number, published=False))
        return [component for component in components if self._unsettled(component.kind, component.key)]

    def _unsettled(self, kind: str, key: Any) -> bool:
        """Whether no reference rates the component at UNSETTLED or above."""
        found = [interview.answers(kind).get(key) for interview in self.interviews]
        return all(answer is None or answer.rating < UNSETTLED for answer in found)

    def _has(self, entity: int) -> bool:
        """Whether a reference or the picture has the entity."""
        return any(interview.entities[entity].present for interview in self.interviews)


def load_wording() -> dict[str, str]:
    return read_texts(None, WORDING)


def ask_pictures(checks: Sequence[PictureCheck], judge: Judge, wording: Mapping[str, str]) -> None:
    """Asks about the unsettled components of all completions, in two calls, and keeps what raises a rating."""
    for unsettled_in in (PictureCheck.entities, PictureCheck.details):
        asked = [(check, component) for check in checks for component in unsettled_in(check)]
        texts = [_question_text(component, wording) for _, component in asked]
        questions = [
            _picture_question(check.pictures, component, f"{wording['instructions']}\n\n{text}")
            for (check, component), text in zip(asked, texts, strict=True)
        ]
        for (check, component), text, rating in zip(asked, texts, rate_once(judge, questions), strict=True):
            interview = check.interviews[0]
            if isinstance(rating, Failure):
                interview.failure = interview.failure or rating
            else:
                _keep(interview, component, text, rating.mean)


def _question_text(component: Component, wording: Mapping[str, str]) -> str:
    names = {PLACEHOLDERS.get(key, key): name for key, name in short_names(component.names).items()}
    return fill(wording[component.kind], **names)


def _picture_question(pictures: tuple[Image.Image, ...], component: Component, prompt: str) -> Question:
    """Returns the question whether the pictures show the component."""
    probe = PresenceProbe("", component.kind, component.mention, component.words, component.other)
    return Question([{"role": "user", "content": prompt}], images=pictures, probe=probe)


def _keep(interview: Interview, component: Component, question: str, rating: float) -> None:
    """Adds the question to the interview, and the rating if it is the component's highest."""
    number = len(interview.questions)
    interview.questions.append(question)
    answers = interview.answers(component.kind)
    old = answers.get(component.key)
    if old is None:
        answers[component.key] = ComponentRating(rating, number)
    elif rating > old.rating:
        present = {"present": rating >= interview.presence_threshold} if component.kind == "entity" else {}
        answers[component.key] = replace(old, rating=rating, asked=number, **present)
