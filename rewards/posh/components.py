"""The rated components of one text, which PoSh averages and turns into spans (PoSh, section 3)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from spanreward.rewards.base.verdict import Span
from spanreward.rewards.judges.probe import Link
from spanreward.rewards.language.lemmas import is_plural, lemmas
from spanreward.rewards.language.scene_graph import CharacterSpan, SceneGraph
from spanreward.rewards.posh.answer_sheet import AnswerSheet, ComponentRating
from spanreward.rewards.posh.candidates import EntityAnswer
from spanreward.rewards.posh.graph_view import GraphView
from spanreward.rewards.posh.interview import tie_of
from spanreward.rewards.posh.scores import span_score

Kind = Literal["entity", "attribute", "relation", "denial"]

ABSENT = 1.0  # the rating of components that are surplus or not asked about
RIGHT = 5.0  # the highest rating, that of a denial which another text has too
DENIED_TOO = "The other text denies it too."
PLAIN = 4.0  # rated so, a thing is plainly there, and who denied it was wrong


@dataclass(frozen=True, slots=True)
class RatedComponent:
    """An entity, attribute, relation or denial with its rating (1..5).

    identifier: its name for people, such as "red circle". question: the question, or why there was
    none. asked: False if one of its entities is absent; the rating is then 1. spans: one pair per
    token, on the parsed text. counts: whether the score counts it.
    """

    kind: Kind
    identifier: str
    question: str
    rating: float
    asked: bool
    spans: tuple[CharacterSpan, ...]
    counts: bool = True


def components(
    sheet: AnswerSheet,
    surplus: frozenset[int] = frozenset(),
    reaching: bool = False,
) -> list[RatedComponent]:
    """Returns the components of the sheet's source that count, in the order of the published
    mean.

    Entities with a fixed name, their attributes and the relations between them do not count.
    surplus: entities that are rated as absent, with their attributes and relations. reaching:
    whether a relation's words include its object ("in the center") if nothing else mentions the
    object, because then the object decides whether the relation is right.
    """
    interview = sheet.interview
    answers = sheet.entities
    view = interview.source
    result: list[RatedComponent] = []
    counted: set[int] = set()  # relations: each stands at both of its entities

    def add(
        kind: Kind,
        name: str,
        answer: ComponentRating | EntityAnswer | None,
        spans: tuple[CharacterSpan, ...],
        *ends: int,
    ) -> None:
        """Adds a component. answer: None where it was not asked about. ends: its entities."""
        # surplus comes first: a fourth star may be rated 5, as the text does have a star
        if not surplus.isdisjoint(ends):
            question, rating = "Mentioned more often than in the other text.", ABSENT
            was_asked = True  # so that its words get the blame
        elif answer is None:
            question, rating = "Not asked, because its entity is absent.", ABSENT
            was_asked = False
        else:
            question, rating = answer.question, answer.rating
            was_asked = True
        result.append(RatedComponent(kind, name, question, rating, was_asked, spans))

    for number, entity in enumerate(view.entities):
        # the viewer and the sides of the view are not looked up
        if entity.fixed is not None:
            continue
        add("entity", answers[number].identifier, answers[number], entity.spans, number)
        for place, attribute in enumerate(entity.attributes):
            answer = sheet.details.get(("attribute", number, place))
            add("attribute", f"{attribute.text} {entity.text}", answer, attribute.spans, number)
        for relation in entity.relations:
            if relation.number in counted:
                continue
            counted.add(relation.number)
            # asked only where both ends are there
            subject = relation.subject
            target = relation.object
            spans = relation.spans
            target_view = view.entities[target]
            is_alone = interview.tie(target) is relation and not target_view.attributes
            if reaching and is_alone:
                spans = _to_object(spans, target_view.spans)
            name = f"{answers[subject].identifier} {relation.text} {answers[target].identifier}"
            answer = sheet.details.get(("relation", relation.number))
            add("relation", name, answer, spans, subject, target)
    return result


def denials(
    sheets: Sequence[AnswerSheet], picture: AnswerSheet | None = None
) -> list[RatedComponent]:
    """Returns a text's denials that are right or wrong, over several references and a picture.

    A denial is right if a reference denies the same thing, which counts once however often it is
    said. It is wrong if a reference plainly has the thing. References do not list what is not
    there: other denials are unknown and no component.

    A picture that does not show the thing makes a denial right, whatever a reference says. Such a
    denial earns nothing, because the things that a picture does not show have no end. Without
    references a picture that plainly shows the thing makes a denial wrong.
    """
    result: list[RatedComponent] = []
    agreed: set[str] = set()  # denials that count already
    # of one completion, so that all sheets have the same denials
    interview = sheets[0].interview if picture is None else picture.interview
    for number, denial in enumerate(interview.denials):
        name = f"no {denial.name}"
        spans = tuple(denial.text_spans)
        # a reference says so too: right, and once
        if any(sheet.interview.agrees(denial) for sheet in sheets):
            if name not in agreed:
                agreed.add(name)
                result.append(RatedComponent("denial", name, DENIED_TOO, RIGHT, True, spans))
            continue
        answers: list[ComponentRating] = []
        for sheet in sheets:
            if ("denied", number) in sheet.details:
                answers.append(sheet.details["denied", number])
        # what the picture says comes before what references say, if it does not show the thing
        counts = True
        if picture is not None:
            picture_answer = picture.details["denied", number]
            if picture_answer.rating < interview.presence_threshold:
                answers = [picture_answer]
                counts = False
            elif not sheets:
                answers = [picture_answer]
        surest = max(answers, key=lambda answer: answer.rating, default=None)
        if surest is None:
            continue
        if surest.rating >= PLAIN or not counts:
            result.append(
                RatedComponent(
                    kind="denial",
                    identifier=name,
                    question=surest.question,
                    rating=ABSENT + RIGHT - surest.rating,  # 5 where the thing is surely absent
                    asked=True,
                    spans=spans,
                    counts=counts,
                )
            )
    return result


def best_of(sides: Sequence[Sequence[RatedComponent]]) -> list[RatedComponent]:
    """Returns each component's best version over several references.

    Of equal ratings, an asked one wins.

    sides: per reference all components of the completion, in the same order.
    """
    best = []
    for versions in zip(*sides, strict=True):
        best_version = max(versions, key=lambda version: (version.rating, version.asked))
        best.append(best_version)
    return best


def _to_object(
    words: tuple[CharacterSpan, ...], object_words: tuple[CharacterSpan, ...]
) -> tuple[CharacterSpan, ...]:
    """Returns the words with the last one extended to the end of the first object word after it, if
    there is one.
    """
    # a graph from a file may give a relation no places
    if not words:
        return words
    *before, (start, last) = words
    ends = [end for begin, end in object_words if begin >= last]
    extended = (start, min(ends, default=last))
    return (*before, extended)


def spans_of(
    components: Sequence[RatedComponent], credits: Sequence[float], text: str
) -> tuple[Span, ...]:
    """Returns a span on `text` per mention, by component and then from left to right."""
    spans = []
    credited = zip(components, credits, strict=True)
    for number, (component, credit) in enumerate(credited):
        for start, end in mentions(component.spans, text):
            span = Span(
                start,
                end,
                score=span_score(component.rating),
                credit=credit,
                kind=component.kind,
                note=f"{component.identifier}: {component.rating:.1f} of 5. {component.question}",
                component=number,
                asked=component.asked,
            )
            spans.append(span)
    return tuple(spans)


def mentions(tokens: Sequence[CharacterSpan], text: str) -> list[CharacterSpan]:
    """Returns the distinct tokens in order, joined where only white space is between them."""
    joined: list[CharacterSpan] = []
    # a set: a component may list a word twice
    for start, end in sorted(set(tokens)):
        if not joined:
            joined.append((start, end))
            continue
        last_start, last_end = joined[-1]
        between = text[last_end:start]
        if between.strip():
            joined.append((start, end))
        else:
            joined[-1] = (last_start, max(end, last_end))
    return joined


def surplus(sheets: Sequence[AnswerSheet]) -> frozenset[int]:
    """Returns the numbers of the completion's surplus entities. Of entities with one name, the
    worst rated are surplus.

    "A star" passes however often it is said, so a policy trained with PoSh soon mentions it three
    times, in three places. Here (default mode only) each entity of the reference supports only one
    of the completion's.

    sheets: of the completion with each of its references. The reference that has most entities of
    a name decides, and a plural ("stars") supports any number. The judge may accept a synonym that
    no reference has; then only entities that say nothing new beside an earlier one are surplus.
    """
    view = sheets[0].interview.source  # the completion's, in all sheets
    supported = [named_in(sheet.interview.target_graph) for sheet in sheets]
    # the completion's entities by their name
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, entity in enumerate(view.entities):
        if entity.fixed is None:
            groups[lemmas(entity.text)].append(number)
    result: set[int] = set()
    for name, numbers in groups.items():
        if len(numbers) < 2:
            continue
        most = max(counts.get(name, 0.0) for counts in supported)
        if most:
            worth: dict[int, float] = {}
            for number in numbers:
                worth[number] = max(_said_right(sheet, number) for sheet in sheets)
            # keeps the order of equals
            best_first = sorted(numbers, key=worth.__getitem__, reverse=True)
            supported_number = int(min(most, len(numbers)))  # `most` may be infinite
            result.update(best_first[supported_number:])
        else:
            # no reference has the name
            entity_statements = [statements(view, number) for number in numbers]
            for place, number in enumerate(numbers):
                before = entity_statements[:place]
                if any(entity_statements[place] <= earlier for earlier in before):
                    result.add(number)
    return frozenset(result)


def named_in(graph: SceneGraph) -> dict[frozenset[str], float]:
    """Returns how many entities of each name a graph has, infinity for a plural."""
    counts: dict[frozenset[str], float] = defaultdict(float)
    for entity in graph.entities:
        # all that the text calls it: "a dog", and later "the animal"
        heads = (entity.head, *entity.heads)
        is_many = any(map(is_plural, heads))
        # once under each of its names
        for name in set(map(lemmas, heads)):
            counts[name] += inf if is_many else 1
    return dict(counts)


def _said_right(sheet: AnswerSheet, number: int) -> float:
    """Returns the sum of (rating - 1) over an entity, its attributes and relations, which favours
    detailed mentions.
    """
    entity = sheet.interview.source.entities[number]
    keys: list[tuple[str | int, ...]] = []
    for place in range(len(entity.attributes)):
        keys.append(("attribute", number, place))
    for relation in entity.relations:
        keys.append(("relation", relation.number))
    # what was not asked about adds nothing
    answers = [sheet.details[key] for key in keys if key in sheet.details]
    of_details = sum(answer.rating - 1 for answer in answers)
    return sheet.entities[number].rating - 1 + of_details


def statements(view: GraphView, number: int) -> frozenset[str | Link]:
    """Returns an entity's attributes, and its relations with the other entity's name and
    attributes.
    """
    entity = view.entities[number]
    attributes = {attribute.text for attribute in entity.attributes}
    ties = {tie_of(view, relation, number) for relation in entity.relations}
    return frozenset(attributes | ties)
