"""The components and questions of one direction (precision or recall) of a pair of texts, as pure
functions.

    names_to_ask(sheet, parts=False)
    # passes 1 and 2: the possible names of each entity, the simplest first
    components_of_pass_3(sheet, published=False)  # attributes, relations and denied things
    text = question_text(interview, component, published=False)  # "Does the TEXT mention ...?"
    presence_question(interview, component, text, published=False)
    # the whole prompt with the target's text, and the same question as data

conduct.py asks the questions. In default mode a name in a question has at most LONGEST_NAME
characters.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from spanreward.rewards.files.templates import fill_template
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.probe import Mention, PhraseProbe, PictureProbe, PresenceProbe
from spanreward.rewards.judges.question import SharedPrompt
from spanreward.rewards.language.scene_graph import CharacterSpan
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.candidates import Candidate, candidate_names
from spanreward.rewards.posh.graph_view import GraphView, RelationView
from spanreward.rewards.posh.interview import Interview, denied_thing
from spanreward.rewards.text.quoting import one_line

LONGEST_NAME = 100  # characters of each name in a question, at most
PUBLISHED_TOP = 20  # the published code reads a rating from this many of the likeliest tokens


@dataclass(frozen=True, slots=True)
class Component:
    """An entity, attribute, relation or denied thing that a question asks about.

    Attributes:
        kind: what the component is.
        numbers: the component's key among components of its kind, see `AnswerSheet.details`.
        names: the values for the placeholders of the question's template.
        mention, words, other: the component as typed data, see PresenceProbe.
        spans: the component's words in the source, one pair (start, end) per token.
    """

    kind: Literal["entity", "attribute", "relation", "denied"]
    numbers: tuple[int, ...]
    names: dict[str, str]
    mention: Mention
    spans: tuple[CharacterSpan, ...] = ()
    words: str = ""
    other: Mention | None = None


def names_to_ask(sheet: AnswerSheet, parts: bool) -> list[list[Candidate]]:
    """Returns the possible names of each entity without an answer, the simplest name first.

    parts: True for the entities that are part of another entity, False for all other entities.
    """
    interview = sheet.interview
    view = interview.source
    names: list[list[Candidate]] = []
    for number, entity in enumerate(view.entities):
        is_open = entity.fixed is None and number not in sheet.entities
        # pass 1 asks about entities that are not parts, pass 2 about parts
        is_part = bool(entity.parents)
        if is_open and is_part == parts:
            names.append(candidate_names(view, number, sheet.entities, interview.wording))
    return names


def component_of_candidate(
    interview: Interview, candidate: Candidate, identifier: str
) -> Component:
    """Returns the entity of a candidate as a component, for the question whether the target has the
    entity.

    identifier: the candidate's name as the question words it.
    """
    mention = interview.described_mention(candidate.entity, candidate.mention)
    spans = interview.source.entities[candidate.entity].spans
    return Component(
        "entity", (candidate.entity,), {"entity_identifier": identifier}, mention, spans
    )


def components_of_pass_3(sheet: AnswerSheet, published: bool) -> list[Component]:
    """Returns the components that PoSh's third pass asks about: attributes of present entities,
    relations between present entities, and denied things. Components with an answer are left out.

    The first two passes have asked which entities are present. The relations are in the order of
    the published code (PoSh, section 2.5).

    published: whether the names in the questions are worded as in published mode.
    """
    components = [
        *_attributes_to_ask(sheet, published),
        *_relations_to_ask(sheet, published),
        *_denials_to_ask(sheet.interview),
    ]
    # the sheet of a picture may already have answers from references
    unanswered = []
    for component in components:
        if (component.kind, *component.numbers) not in sheet.details:
            unanswered.append(component)
    return unanswered


def _present_entities(sheet: AnswerSheet) -> set[int]:
    """Returns the numbers of the entities that the target has."""
    return {number for number, answer in sheet.entities.items() if answer.present}


def _attributes_to_ask(sheet: AnswerSheet, published: bool) -> Iterator[Component]:
    """Yields the attributes of present entities, in the order of the graph.

    published: whether the names in the questions are worded as in published mode.
    """
    interview = sheet.interview
    for number in sorted(_present_entities(sheet)):
        entity = interview.source.entities[number]
        for place, attribute in enumerate(entity.attributes):
            name, mention = interview.name_for_attribute(
                number, attribute.text, sheet.entities, published
            )
            yield Component(
                kind="attribute",
                numbers=(number, place),
                names={"entity_identifier": name, "attribute": attribute.text},
                mention=mention,
                spans=attribute.spans,
                words=attribute.text,
            )


def _relations_to_ask(sheet: AnswerSheet, published: bool) -> Iterator[Component]:
    """Yields the relations between present entities, in the published order (PoSh, section 2.5).

    published: whether the names in the questions are worded as in published mode.
    """
    interview = sheet.interview
    present = _present_entities(sheet)
    for relation in _relations_in_published_order(interview.source):
        if relation.subject not in present or relation.object not in present:
            continue
        subject, target = interview.names_for_relation(relation, sheet.entities, published)
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


def _relations_in_published_order(view: GraphView) -> list[RelationView]:
    """Returns each relation once, in the order of the published code: first all relations of the
    entity that appears first in a relation, then all relations of the next entity.
    """
    entities: list[int] = []
    for relation in view.relations:
        entities += [relation.subject, relation.object]
    relations: list[RelationView] = []
    # `dict.fromkeys` drops repetitions, and keeps the order
    for number in dict.fromkeys(entities):
        relations += view.entities[number].relations
    return list(dict.fromkeys(relations))


def _denials_to_ask(interview: Interview) -> Iterator[Component]:
    """Yields the denied things about which the judge can be asked. A thing that the target denies
    too needs no question.
    """
    for number, denial in enumerate(interview.denials):
        if not interview.can_ask_about(denial):
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
    """Returns the question without the text that the question is about, such as 'Does the TEXT
    speak of "red circle"?'.

    Default mode shortens the names and removes quotation marks from the names. A completion could
    otherwise exceed the judge's context with a long name. A quotation mark in a name could end the
    quoted name, and the rest would address the judge.
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
        return fill_template(template, **component.names)
    # keep each name on one line, within its quotation marks, and short
    names = {}
    for key, written_name in component.names.items():
        name = one_line(written_name)
        if len(name) > LONGEST_NAME:
            name = name[:LONGEST_NAME] + "…"
        names[key] = name
    return fill_template(template, **names)


def presence_question(
    interview: Interview,
    component: Component,
    question: str,
    published: bool,
    shows_source: bool = False,
) -> Question:
    """Returns the prompt that asks whether the target has the component.

    In default mode the part that many prompts share comes first.

    Args:
        interview: the texts.
        component: the component in question.
        question: the text from `question_text`.
        published: whether in published mode.
        shows_source: whether the question's form for judges that read no prompt includes the source
            text and the component's characters in the source.
    """
    if interview.pictures:
        return _picture_question(interview, component, question)
    # The published prompt ends with the instructions. The default prompt begins with the
    # instructions, so that prompts share a longer beginning.
    if published:
        beginning = interview.prefix
        rest = f"\n\n{question}\n\n{interview.wording.instructions}"
    else:
        beginning = interview.beginning
        rest = f"\n\n{question}"
    return Question(
        SharedPrompt(beginning, rest),
        probe=_presence_probe(interview, component, shows_source),
        description=_description_in(beginning, interview),
        top=PUBLISHED_TOP if published else 0,
    )


def _description_in(beginning: str, interview: Interview) -> tuple[int, int]:
    """Returns the characters [start, end) that the judge may cut from the beginning of a prompt
    that is too long. No other characters of the prompt are cut.

    These are the characters of the longer text in the prompt: (9, 15) for the text "A dog." in the
    beginning "Rate. T: A dog.".

    beginning: the text of the prompt before the question, which ends with the interview's prefix
    ("T: A dog.").
    """
    prefix_start = len(beginning) - len(interview.prefix)
    start_in_prefix, end_in_prefix = interview.description
    return prefix_start + start_in_prefix, prefix_start + end_in_prefix


def _presence_probe(
    interview: Interview, component: Component, shows_source: bool
) -> PresenceProbe:
    """Returns, as typed data, the question whether the target has the component. Judges that read
    no prompt (`match`) need the typed data.

    shows_source: whether the data includes the source text and the component's characters in the
    source.
    """
    source = ""
    places: tuple[CharacterSpan, ...] = ()
    if shows_source:
        source = interview.source_text
        places = component.spans
    return PresenceProbe(
        interview.target_text,
        component.kind,
        component.mention,
        component.words,
        component.other,
        interview.target_graph,
        source=source,
        places=places,
    )


def _picture_question(interview: Interview, component: Component, question: str) -> Question:
    """Returns the prompt that asks whether the picture shows the component.

    The prompt contains the component's names, and no other text of the row.
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
    """Returns the published question that asks the judge to word an entity's name (2.3)."""
    template = interview.wording.rewrite_relation
    if candidate.kind == "attribute":
        template = interview.wording.rewrite_attribute
    prompt = fill_template(template, entity_identifier=candidate.phrase)
    probe = PhraseProbe(candidate.phrase, candidate.fluent)
    return Question([{"role": "user", "content": prompt}], probe=probe)
