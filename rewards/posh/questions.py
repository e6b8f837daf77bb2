"""What PoSh asks about one direction of a pair of texts: its components, and a question for each.
Pure functions.

    names_to_ask(sheet, parts=False)
    # passes 1 and 2: the possible names of each entity, the simplest first
    details(sheet, published=False)  # pass 3: what is said of the found ones, and denials
    text = question_text(interview, component, published=False)  # "Does the TEXT mention ...?"
    presence_question(interview, component, text, published=False)
    # with the target's text, as typed data too

conduct.py asks them. In default mode a name in a question has at most LONGEST_NAME characters.
"""

from dataclasses import dataclass
from typing import Literal

from spanreward.rewards.files.templates import fill
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.probe import Mention, PhraseProbe, PictureProbe, PresenceProbe
from spanreward.rewards.judges.question import SharedPrompt
from spanreward.rewards.language.scene_graph import CharacterSpan
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.candidates import Candidate, candidates
from spanreward.rewards.posh.interview import Interview, denied_thing
from spanreward.rewards.text.quoting import one_line

LONGEST_NAME = 100  # characters of each name in a question
PUBLISHED_TOP = 20  # the published code reads a rating from so many of the likeliest tokens


@dataclass(frozen=True, slots=True)
class Component:
    """What a question asks about.

    numbers: which one of its kind, see `AnswerSheet.details`. names: for the question's template.
    mention, words, other: the same as data, see PresenceProbe. spans: its words in the source.
    """

    kind: Literal["entity", "attribute", "relation", "denied"]
    numbers: tuple[int, ...]
    names: dict[str, str]
    mention: Mention
    spans: tuple[CharacterSpan, ...] = ()
    words: str = ""
    other: Mention | None = None


def names_to_ask(sheet: AnswerSheet, parts: bool) -> list[list[Candidate]]:
    """Returns the names of each entity that is part of another one (parts=True), or of each that is
    not. Entities with an answer are left out.
    """
    interview = sheet.interview
    names: list[list[Candidate]] = []
    for number, entity in enumerate(interview.source.entities):
        is_open = entity.fixed is None and number not in sheet.entities
        if is_open and bool(entity.parents) == parts:
            names.append(candidates(interview.source, number, sheet.entities, interview.wording))
    return names


def entity_named(interview: Interview, candidate: Candidate, identifier: str) -> Component:
    """Returns an entity by one of its names, which is worded as `identifier`."""
    mention = interview.mention(candidate.entity, candidate.mention)
    spans = interview.source.entities[candidate.entity].spans
    return Component(
        "entity", (candidate.entity,), {"entity_identifier": identifier}, mention, spans
    )


def details(sheet: AnswerSheet, published: bool) -> list[Component]:
    """Returns the attributes of present entities, the relations between present entities, and
    denied things, without those that have an answer.

    Relations are ordered by the first appearance of their entities in relations (2.5).
    """
    interview, answers = sheet.interview, sheet.entities
    present = {number for number, entity in answers.items() if entity.present}
    components = []
    for number in sorted(present):
        for place, attribute in enumerate(interview.source.entities[number].attributes):
            name, mention = interview.bearer(number, attribute.text, answers, published)
            names = {"entity_identifier": name, "attribute": attribute.text}
            components.append(
                Component(
                    "attribute", (number, place), names, mention, attribute.spans, attribute.text
                )
            )
    view = interview.source
    ends = dict.fromkeys(
        end for relation in view.relations for end in (relation.subject, relation.object)
    )
    for relation in dict.fromkeys(
        relation for end in ends for relation in view.entities[end].relations
    ):
        if {relation.subject, relation.object} <= present:
            (first, subject), (second, other) = interview.ends(relation, answers, published)
            names = {
                "entity1_identifier": first,
                "entity2_identifier": second,
                "relation": relation.text,
            }
            numbers, spans = (relation.number,), relation.spans
            components.append(
                Component("relation", numbers, names, subject, spans, relation.text, other)
            )
    for number, denial in enumerate(interview.denials):
        if interview.can_tell(denial):
            name, mention = denied_thing(denial)
            names, spans = {"entity_identifier": name}, tuple(denial.text_spans)
            components.append(Component("denied", (number,), names, mention, spans))
    return [
        component
        for component in components
        if (component.kind, *component.numbers) not in sheet.details
    ]


def question_text(interview: Interview, component: Component, published: bool) -> str:
    """Returns the question alone.

    Default mode shortens the names and removes their quotes. Otherwise a completion could overrun
    the judge's context with a name, or close its quotes and address the judge.
    """
    wording = interview.wording
    templates = {
        "entity": wording.ask_entity,
        "attribute": wording.ask_attribute,
        "relation": wording.ask_relation,
        "denied": wording.ask_denied or wording.ask_entity,
    }
    names = component.names
    if not published:
        lines = {key: one_line(name) for key, name in names.items()}
        names = {
            key: name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"
            for key, name in lines.items()
        }
    return fill(templates[component.kind], **names)


def presence_question(
    interview: Interview,
    component: Component,
    question: str,
    published: bool,
    shows_source: bool = False,
) -> Question:
    """Returns the prompt whether the target has the component. In default mode what prompts share
    comes first.

    shows_source: whether the judge gets the source text and the component's places in it as data.
    """
    if interview.pictures:
        return _picture_question(interview, component, question)
    beginning = interview.prefix
    rest = f"\n\n{question}"
    if published:
        rest += f"\n\n{interview.wording.instructions}"
    else:
        beginning = interview.beginning
    before = len(beginning) - len(interview.prefix)
    start, end = (before + place for place in interview.description)
    probe = PresenceProbe(
        interview.target_text,
        component.kind,
        component.mention,
        component.words,
        component.other,
        interview.target_graph,
        source=interview.source_text if shows_source else "",
        places=component.spans if shows_source else (),
    )
    return Question(
        SharedPrompt(beginning, rest),
        probe=probe,
        description=(start, end),
        top=PUBLISHED_TOP if published else 0,
    )


def _picture_question(interview: Interview, component: Component, question: str) -> Question:
    """Returns the prompt whether the picture shows the component. The completion's names are all
    that it shows of a text.
    """
    probe = PictureProbe(component.kind, component.mention, component.words, component.other)
    prompt = SharedPrompt(interview.beginning, f"\n\n{question}")
    return Question(prompt, interview.pictures, probe)


def rewrite_question(interview: Interview, candidate: Candidate) -> Question:
    """Returns the published question that words an entity's name (2.3)."""
    wording = interview.wording
    template = (
        wording.rewrite_attribute if candidate.kind == "attribute" else wording.rewrite_relation
    )
    prompt = fill(template, entity_identifier=candidate.phrase)
    return Question(
        [{"role": "user", "content": prompt}], probe=PhraseProbe(candidate.phrase, candidate.fluent)
    )
