"""The rated components of one text. PoSh averages their ratings and makes spans of their words
(PoSh, section 3).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from spanreward.rewards.base.verdict import Span
from spanreward.rewards.judges.probe import Link
from spanreward.rewards.language.lemmas import is_plural, lemmas_of_phrase
from spanreward.rewards.language.scene_graph import CharacterSpan, SceneGraph
from spanreward.rewards.posh.answer_sheet import AnswerSheet, ComponentRating
from spanreward.rewards.posh.candidates import EntityAnswer
from spanreward.rewards.posh.graph_view import GraphView, RelationView
from spanreward.rewards.posh.interview import link_of
from spanreward.rewards.posh.scores import span_score

Kind = Literal["entity", "attribute", "relation", "denial"]

RATING_IF_ABSENT = 1.0  # the rating of a component that is surplus or has no question
HIGHEST_RATING = 5.0  # the highest rating, for example of a denial that a reference has too
DENIED_TOO = "The other text denies it too."
PLAINLY_THERE = 4.0  # a thing with this rating or more is plainly there, so its denial is wrong


@dataclass(frozen=True, slots=True)
class RatedComponent:
    """An entity, attribute, relation or denial with its rating.

    Attributes:
        kind: what the component is.
        identifier: the component's name for people, such as "red circle".
        question: the judge's question, or the reason why no question was asked.
        rating: from 1 (absent) to 5 (surely right).
        asked: False if an entity of the component is absent. The rating is then 1.
        spans: one pair (start, end) per token, on the text that was parsed.
        counts: whether the component counts in the mean.
    """

    kind: Kind
    identifier: str
    question: str
    rating: float
    asked: bool
    spans: tuple[CharacterSpan, ...]
    counts: bool = True


def rated_components(
    sheet: AnswerSheet,
    surplus: frozenset[int] = frozenset(),
    reaching: bool = False,
) -> list[RatedComponent]:
    """Returns the rated components of the sheet's source, in the order of the published mean.

    Entities with a fixed name ("the viewer", "our left"), their attributes and the relations
    between them are left out.

    Args:
        sheet: the answers, after all questions.
        surplus: the numbers of entities that are mentioned too often, see `surplus_entities`. These
            entities, their attributes and relations get the rating 1.
        reaching: whether a relation's span may include its object, as in "in the center". A span
            does so only if no attribute and no other relation mentions the object, because the
            object then decides whether the relation is right.
    """
    result: list[RatedComponent] = []
    counted: set[int] = set()  # relations so far: both entities of a relation list it
    for number, entity in enumerate(sheet.interview.source.entities):
        # the judge is not asked about the viewer and the sides of the view
        if entity.fixed is not None:
            continue
        is_surplus = number in surplus
        answer = sheet.entities[number]
        result.append(
            _rated_component("entity", answer.identifier, answer, entity.spans, is_surplus)
        )
        for place, attribute in enumerate(entity.attributes):
            name = f"{attribute.text} {entity.text}"
            detail = sheet.details.get(("attribute", number, place))
            result.append(_rated_component("attribute", name, detail, attribute.spans, is_surplus))
        for relation in entity.relations:
            if relation.number not in counted:
                counted.add(relation.number)
                result.append(_rated_relation(sheet, relation, surplus, reaching))
    return result


def _rated_relation(
    sheet: AnswerSheet, relation: RelationView, surplus: frozenset[int], reaching: bool
) -> RatedComponent:
    """Returns a relation with its rating. The rating is 1 if its subject or object is surplus.

    surplus: the numbers of entities that are mentioned too often. reaching: whether the relation's
    span may include its object, as in "in the center".
    """
    interview = sheet.interview
    answers = sheet.entities
    subject = relation.subject
    target = relation.object
    spans = relation.spans
    # extend the relation's words to an object that nothing else mentions
    target_view = interview.source.entities[target]
    is_sole = interview.sole_relation_to(target) is relation
    if reaching and is_sole and not target_view.attributes:
        spans = _to_object(spans, target_view.spans)
    name = f"{answers[subject].identifier} {relation.text} {answers[target].identifier}"
    # the relation has an answer only if its subject and its object are present
    answer = sheet.details.get(("relation", relation.number))
    is_surplus = subject in surplus or target in surplus
    return _rated_component("relation", name, answer, spans, is_surplus)


def _rated_component(
    kind: Kind,
    name: str,
    answer: ComponentRating | EntityAnswer | None,
    spans: tuple[CharacterSpan, ...],
    is_surplus: bool,
) -> RatedComponent:
    """Returns a component with its rating: the rating 1 if an entity of the component is surplus or
    absent, otherwise the judge's rating.

    answer: the judge's answer. None if an entity of the component is absent.
    """
    # Surplus is tested first: a fourth star may have rating 5, because the other text has a star.
    # A surplus component counts as asked, so that its words get negative credit.
    if is_surplus:
        reason = "Mentioned more often than in the other text."
        return RatedComponent(kind, name, reason, RATING_IF_ABSENT, True, spans)
    if answer is None:
        reason = "Not asked, because its entity is absent."
        return RatedComponent(kind, name, reason, RATING_IF_ABSENT, False, spans)
    return RatedComponent(kind, name, answer.question, answer.rating, True, spans)


def decided_denials(
    sheets: Sequence[AnswerSheet], picture: AnswerSheet | None = None
) -> list[RatedComponent]:
    """Returns the denials of a completion that are known to be right or wrong.

    A denial says that a thing is absent, as in "a man with no hat". The denial is right if a
    reference denies the same thing. Repetitions of a right denial do not count again. The denial is
    wrong if a reference plainly has the thing. All other denials are left out: a reference does not
    list absent things, so such a denial may be true.

    A picture without the thing makes the denial right, even if a reference has the thing. Such a
    denial does not count in the mean, because a completion could deny endlessly many things.
    Without references, a picture that plainly shows the thing makes the denial wrong.

    Args:
        sheets: the completion looked up in each reference. May be empty if there is a picture.
        picture: the completion looked up in the picture.
    """
    result: list[RatedComponent] = []
    agreed: set[str] = set()  # denials that count already
    # all sheets are about one completion, so all have the same denials
    interview = sheets[0].interview if picture is None else picture.interview
    for number, denial in enumerate(interview.denials):
        name = f"no {denial.name}"
        spans = tuple(denial.text_spans)
        # a reference denies the thing too: the denial is right, and counts once
        if any(sheet.interview.agrees(denial) for sheet in sheets):
            if name not in agreed:
                agreed.add(name)
                result.append(
                    RatedComponent("denial", name, DENIED_TOO, HIGHEST_RATING, True, spans)
                )
            continue
        # collect the references' ratings of the denied thing
        answers: list[ComponentRating] = []
        for sheet in sheets:
            if ("denied", number) in sheet.details:
                answers.append(sheet.details["denied", number])
        # a picture without the thing overrides the references
        counts = True
        if picture is not None:
            picture_answer = picture.details["denied", number]
            if picture_answer.rating < interview.presence_threshold:
                answers = [picture_answer]
                counts = False
            elif not sheets:
                answers = [picture_answer]
        # the denial is wrong if the surest answer plainly has the thing
        surest = max(answers, key=lambda answer: answer.rating, default=None)
        if surest is None:
            continue
        if surest.rating >= PLAINLY_THERE or not counts:
            result.append(
                RatedComponent(
                    kind="denial",
                    identifier=name,
                    question=surest.question,
                    # 5 if the thing is surely absent
                    rating=RATING_IF_ABSENT + HIGHEST_RATING - surest.rating,
                    asked=True,
                    spans=spans,
                    counts=counts,
                )
            )
    return result


def best_of(sides: Sequence[Sequence[RatedComponent]]) -> list[RatedComponent]:
    """Returns the best rated version of each component over several references.

    Of versions with equal ratings, a version with a question is preferred.

    sides: for each reference, all components of the completion in the same order.
    """
    best = []
    for versions in zip(*sides, strict=True):
        best_version = max(versions, key=lambda version: (version.rating, version.asked))
        best.append(best_version)
    return best


def _to_object(
    words: tuple[CharacterSpan, ...], object_words: tuple[CharacterSpan, ...]
) -> tuple[CharacterSpan, ...]:
    """Extends a relation's last word to the end of the next object word: "in" becomes "in the
    center".

    If no object word follows, the spans stay the same.

    words: the spans of the relation's words. object_words: the spans of the object's words.
    """
    # a graph from a file may have a relation without spans
    if not words:
        return words
    *before, (start, last) = words
    ends = [end for begin, end in object_words if begin >= last]
    extended = (start, min(ends, default=last))
    return (*before, extended)


def spans_of(
    components: Sequence[RatedComponent], credits: Sequence[float], text: str
) -> tuple[Span, ...]:
    """Returns the Spans of the components, sorted by component and then from left to right.

    Args:
        components: with their ratings and tokens.
        credits: the credit of each component. Every mention of a component carries the whole
            credit.
        text: the text that the tokens index into.
    """
    spans = []
    credited = zip(components, credits, strict=True)
    for number, (component, credit) in enumerate(credited):
        for start, end in mention_spans(component.spans, text):
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


def mention_spans(tokens: Sequence[CharacterSpan], text: str) -> list[CharacterSpan]:
    """Joins tokens with only white space between them, and returns the joined spans in order.

    The tokens "light" and "blue" of "a light blue car" become one span.

    tokens: pairs (start, end) on `text`, in any order, maybe with repetitions.
    """
    joined: list[CharacterSpan] = []
    # a set, because a component may list a word twice
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


def surplus_entities(sheets: Sequence[AnswerSheet]) -> frozenset[int]:
    """Returns the numbers of the completion's surplus entities: mentions beyond the references'
    count.

    The published code rates "a star" as right at every mention. A policy in training with PoSh
    therefore learns to mention one star three times, in three places. Here one star in the
    reference supports only one star in the completion. Of several stars in the completion, the
    worst rated are surplus.

    If the references differ, the reference with the most entities of the name decides. A plural
    ("stars") in a reference supports any number. No reference may have the name, for example if the
    judge accepts a synonym. Then an entity is surplus only if it adds no attribute and no relation
    to an earlier entity of the name.

    sheets: the completion looked up in each of its references.
    """
    view = sheets[0].interview.source  # the completion's view, the same in all sheets
    supported = [named_in(sheet.interview.target_graph) for sheet in sheets]
    # group the completion's entities by name
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, entity in enumerate(view.entities):
        if entity.fixed is None:
            groups[lemmas_of_phrase(entity.text)].append(number)
    result: set[int] = set()
    for name, numbers in groups.items():
        # a single entity of a name is never surplus
        if len(numbers) < 2:
            continue
        # keep as many of the best rated entities as a reference has
        most = max(counts.get(name, 0.0) for counts in supported)
        if most:
            worth: dict[int, float] = {}
            for number in numbers:
                worth[number] = max(_worth(sheet, number) for sheet in sheets)
            # the sort is stable: of equally good mentions, the earlier mention comes first
            best_first = sorted(numbers, key=worth.__getitem__, reverse=True)
            supported_number = int(min(most, len(numbers)))  # `most` may be infinite
            result.update(best_first[supported_number:])
        else:
            # no reference has the name: compare each entity with the earlier entities
            entity_statements = [statements_about(view, number) for number in numbers]
            for place, number in enumerate(numbers):
                before = entity_statements[:place]
                if any(entity_statements[place] <= earlier for earlier in before):
                    result.add(number)
    return frozenset(result)


def named_in(graph: SceneGraph) -> dict[frozenset[str], float]:
    """Returns how many entities of each name the graph has, infinity for a plural such as "stars".

    A name is the set of its words' base forms: "a dog" and "dogs" give the same name.
    """
    counts: dict[frozenset[str], float] = defaultdict(float)
    for entity in graph.entities:
        # all names of the entity: first "a dog", and later "the animal"
        heads = (entity.head, *entity.heads)
        is_many = any(map(is_plural, heads))
        # count the entity once under each of its names
        for name in set(map(lemmas_of_phrase, heads)):
            counts[name] += inf if is_many else 1
    return dict(counts)


def _worth(sheet: AnswerSheet, number: int) -> float:
    """Returns how much a mention of an entity adds that is right: the sum of (rating - 1) over the
    entity, its attributes and its relations.

    A mention with many right details gets a high sum.
    """
    entity = sheet.interview.source.entities[number]
    keys: list[tuple[str | int, ...]] = []
    for place in range(len(entity.attributes)):
        keys.append(("attribute", number, place))
    for relation in entity.relations:
        keys.append(("relation", relation.number))
    # an attribute or relation without an answer adds nothing
    answers = [sheet.details[key] for key in keys if key in sheet.details]
    of_details = sum(answer.rating - 1 for answer in answers)
    return sheet.entities[number].rating - 1 + of_details


def statements_about(view: GraphView, number: int) -> frozenset[str | Link]:
    """Returns what the text states about an entity: its attributes and its relations.

    A relation includes the other entity's name and attributes, such as "above a small square".

    Args:
        view: the view of the text's graph.
        number: the entity's number.
    """
    entity = view.entities[number]
    attributes = {attribute.text for attribute in entity.attributes}
    links = {link_of(view, relation, number) for relation in entity.relations}
    return frozenset(attributes | links)
