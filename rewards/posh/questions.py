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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from spanreward.rewards.files.templates import fill
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.probe import Mention, PhraseProbe, PictureProbe, PresenceProbe
from spanreward.rewards.judges.question import SharedPrompt
from spanreward.rewards.language.scene_graph import CharacterSpan
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.candidates import Candidate, candidates
from spanreward.rewards.posh.graph_view import RelationView
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
    view = interview.source
    names: list[list[Candidate]] = []
    for number, entity in enumerate(view.entities):
        is_open = entity.fixed is None and number not in sheet.entities
        # pass 1 asks about the wholes, pass 2 about their parts
        is_part = bool(entity.parents)
        if is_open and is_part == parts:
            names.append(candidates(view, number, sheet.entities, interview.wording))
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
    components = [
        *_attributes_to_ask(sheet, published),
        *_relations_to_ask(sheet, published),
        *_denials_to_ask(sheet.interview),
    ]
    # a picture's sheet begins with what references plainly have
    unanswered = []
    for component in components:
        if (component.kind, *component.numbers) not in sheet.details:
            unanswered.append(component)
    return unanswered


def _present(sheet: AnswerSheet) -> set[int]:
    """Returns the numbers of the entities that the target has."""
    return {number for number, answer in sheet.entities.items() if answer.present}


def _attributes_to_ask(sheet: AnswerSheet, published: bool) -> Iterator[Component]:
    """Yields the attributes of present entities, in the order of the graph."""
    interview = sheet.interview
    for number in sorted(_present(sheet)):
        entity = interview.source.entities[number]
        for place, attribute in enumerate(entity.attributes):
            name, mention = interview.bearer(number, attribute.text, sheet.entities, published)
            yield Component(
                kind="attribute",
                numbers=(number, place),
                names={"entity_identifier": name, "attribute": attribute.text},
                mention=mention,
                spans=attribute.spans,
                words=attribute.text,
            )


def _relations_to_ask(sheet: AnswerSheet, published: bool) -> Iterator[Component]:
    """Yields the relations between present entities, in the published order (2.5)."""
    interview = sheet.interview
    view = interview.source
    present = _present(sheet)
    # the entities by their first appearance, and the relations of each; `dict.fromkeys` drops what
    # comes again
    ends: list[int] = []
    for relation in view.relations:
        ends += [relation.subject, relation.object]
    relations: list[RelationView] = []
    for end in dict.fromkeys(ends):
        relations += view.entities[end].relations
    for relation in dict.fromkeys(relations):
        if relation.subject not in present or relation.object not in present:
            continue
        subject, target = interview.ends(relation, sheet.entities, published)
        subject_name, subject_mention = subject
        target_name, target_mention = target
        yield Component(
            kind="relation",
            numbers=(relation.number,),
            names={
                "entity1_identifier": subject_name,
                "entity2_identifier": target_name,
                "relation": relation.text,
            },
            mention=subject_mention,
            spans=relation.spans,
            words=relation.text,
            other=target_mention,
        )


def _denials_to_ask(interview: Interview) -> Iterator[Component]:
    """Yields the denied things that the target may have all the same."""
    for number, denial in enumerate(interview.denials):
        if not interview.can_tell(denial):
            continue
        name, mention = denied_thing(denial)
        yield Component(
            kind="denied",
            numbers=(number,),
            names={"entity_identifier": name},
            mention=mention,
            spans=tuple(denial.text_spans),
        )


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
    template = templates[component.kind]
    if published:
        return fill(template, **component.names)
    # a name stays on its line of the prompt, and within its quotes
    names = {}
    for key, written_name in component.names.items():
        name = one_line(written_name)
        if len(name) > LONGEST_NAME:
            name = name[:LONGEST_NAME] + "…"
        names[key] = name
    return fill(template, **names)


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
    # what many questions share, and what is this one's
    beginning = interview.prefix
    rest = f"\n\n{question}"
    # the instructions stand last as published, and first where prompts share their beginning
    if published:
        rest += f"\n\n{interview.wording.instructions}"
    else:
        beginning = interview.beginning
    # the description's characters count from the prefix, those of the prompt from its beginning
    before = len(beginning) - len(interview.prefix)
    start, end = interview.description
    description = (before + start, before + end)
    # the same question as data, for judges that read no prose (`match`)
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
        description=description,
        top=PUBLISHED_TOP if published else 0,
    )


def _picture_question(interview: Interview, component: Component, question: str) -> Question:
    """Returns the prompt whether the picture shows the component. The completion's names are all
    that it shows of a text.
    """
    probe = PictureProbe(
        component.kind,
        component.mention,
        component.words,
        component.other,
    )
    prompt = SharedPrompt(interview.beginning, f"\n\n{question}")
    return Question(prompt, interview.pictures, probe)


def rewrite_question(interview: Interview, candidate: Candidate) -> Question:
    """Returns the published question that words an entity's name (2.3)."""
    template = interview.wording.rewrite_relation
    if candidate.kind == "attribute":
        template = interview.wording.rewrite_attribute
    prompt = fill(template, entity_identifier=candidate.phrase)
    probe = PhraseProbe(candidate.phrase, candidate.fluent)
    return Question([{"role": "user", "content": prompt}], probe=probe)
