"""Asks the picture about what no reference supports: a detail that people left out and the picture shows is no mistake.

    look([Looked(pictures, precision_interviews)], judge, load_wording())
    interviews[0].entities[0].rating                    # the picture's, where it is better than every reference's

PoSh's paper asks the references alone. ClaimDiff-RL (arXiv 2605.20278) checks on the picture in what a text differs
from its reference. Here a component that every reference rates below UNSETTLED is asked again: entities first, and then
attributes and relations of those that a reference or the picture has.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards.judges.judge import Failure, Judge, Question
from spanreward.rewards.judges.probe import PresenceProbe
from spanreward.rewards.judges.shared.cached_judge import rate_once
from spanreward.rewards.posh.interview import ComponentRating, Interview
from spanreward.rewards.posh.questions import short_names
from spanreward.rewards.templates import fill, read_texts

UNSETTLED = 3.0  # the middle of the scale
WORDING = Path(__file__).with_name("picture.yaml")
NEEDED = {"entity": {"entity"}, "attribute": {"entity", "attribute"}, "relation": {"subject", "object", "relation"}}


@dataclass(frozen=True, slots=True)
class Looked:
    """A completion's pictures, and its interviews with each reference (precision). The first one gets the answers."""

    pictures: tuple[Image.Image, ...]
    interviews: Sequence[Interview]

    def unsettled(self, answers: Callable[[Interview], Mapping[Any, Any]], key: Any) -> bool:
        """Whether no reference rates the component at UNSETTLED or above."""
        found = [answers(one).get(key) for one in self.interviews]
        return all(answer is None or answer.rating < UNSETTLED for answer in found)

    def has(self, *entities: int) -> bool:
        """Whether a reference or the picture has each of these entities."""
        return all(any(one.entities[number].present for one in self.interviews) for number in entities)


def load_wording() -> dict[str, str]:
    return read_texts(WORDING, WORDING, ("instructions", *NEEDED), NEEDED)


def look(several: Sequence[Looked], judge: Judge, wording: Mapping[str, str]) -> None:
    """Asks about the unsettled components of all completions, in two calls, and keeps what raises a rating."""
    for questions_of in (entity_questions, detail_questions):
        asked = [(looked.interviews[0], *one) for looked in several for one in questions_of(looked, wording)]
        ratings = rate_once(judge, [question for *_, question in asked])
        for (interview, answers, key, question), rating in zip(asked, ratings, strict=True):
            if isinstance(rating, Failure):
                interview.failure = interview.failure or rating
                continue
            interview.prompts.append(question.messages[0]["content"])
            interview.questions.append(interview.prompts[-1].rpartition("\n\n")[2])
            old, number = answers.get(key), len(interview.questions) - 1
            if old is None:
                answers[key] = ComponentRating(rating.mean, number)
            elif rating.mean > old.rating:
                present = (
                    {"present": rating.mean >= interview.presence_threshold} if answers is interview.entities else {}
                )
                answers[key] = replace(old, rating=rating.mean, asked=number, **present)


Asked = tuple[dict[Any, Any], Any, Question]  # where the answer belongs, and the question


def entity_questions(looked: Looked, wording: Mapping[str, str]) -> list[Asked]:
    first = looked.interviews[0]
    return [
        (first.entities, number, ask(looked, wording, {"entity": found.identifier}, "entity", found.mention))
        for number, found in sorted(first.entities.items())
        if first.source.entities[number].fixed is None and looked.unsettled(lambda one: one.entities, number)
    ]


def detail_questions(looked: Looked, wording: Mapping[str, str]) -> list[Asked]:
    first = looked.interviews[0]
    asked: list[Asked] = []
    for number, entity in enumerate(first.source.entities):
        for place, attribute in enumerate(entity.attributes):
            if looked.has(number) and looked.unsettled(lambda one: one.attributes, (number, place)):
                name, mention = first.bearer(number, attribute.text, published=False)
                question = ask(looked, wording, {"entity": name, "attribute": attribute.text}, "attribute", mention)
                asked.append((first.attributes, (number, place), question))
    for number in sorted({number for entity in first.source.entities for number in entity.relations}):
        relation = first.source.relation(number)
        if looked.has(relation.subject, relation.object) and looked.unsettled(lambda one: one.relations, number):
            (subject, mention), (object_, other) = first.ends(relation, published=False)
            names = {"subject": subject, "object": object_, "relation": relation.text}
            asked.append((first.relations, number, ask(looked, wording, names, "relation", mention, other)))
    return asked


def ask(
    looked: Looked, wording: Mapping[str, str], names: dict[str, str], kind: Any, mention: Any, other: Any = None
) -> Question:
    """Returns the question whether the picture shows this, with the words of the last name that is no entity."""
    words = names.get("attribute") or names.get("relation") or ""
    content = f"{wording['instructions']}\n\n{fill(wording[kind], **short_names(names))}"
    probe = PresenceProbe("", kind, mention, words, other)
    return Question([{"role": "user", "content": content}], images=looked.pictures, probe=probe)
