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
from spanreward.rewards.language.scene_graph import CharacterSpan, Denial, SceneGraph
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
    with_objects: bool = False,
) -> list[RatedComponent]:
    """Returns the rated components of the sheet's source, in the order of the published mean.

    Entities with a fixed name ("the viewer", "our left"), their attributes and the relations
    between them are left out.

    Args:
        sheet: the answers, after all questions.
        surplus: the numbers of entities that are mentioned too often, see `surplus_entities`. These
            entities, their attributes and relations get the rating 1.
        with_objects: whether a relation's span may include the relation's object, as in "in the
            center". A span includes the object only if no attribute and no other relation mentions
            the object, because the object then decides whether the relation is right.
    """
    result: list[RatedComponent] = []
    rated_relations: set[int] = set()  # by their numbers
    for number, entity in enumerate(sheet.interview.source.entities):
        # the judge is not asked about the viewer and the sides of the view
        if entity.fixed is not None:
            continue
        result += _rated_entity(sheet, number, is_surplus=number in surplus)
        for relation in entity.relations:
            # The subject and the object of a relation both list the relation. It is rated once.
            if relation.number not in rated_relations:
                rated_relations.add(relation.number)
                result.append(_rated_relation(sheet, relation, surplus, with_objects))
    return result


def _rated_entity(sheet: AnswerSheet, number: int, is_surplus: bool) -> list[RatedComponent]:
    """Returns an entity and then its attributes, with their ratings. All ratings of a surplus
    entity are 1.

    number: the entity's number.
    """
    entity = sheet.interview.source.entities[number]
    answer = sheet.entities[number]
    result = [_rated_component("entity", answer.identifier, answer, entity.spans, is_surplus)]
    for place, attribute in enumerate(entity.attributes):
        name = f"{attribute.text} {entity.text}"
        detail = sheet.details.get(("attribute", number, place))
        result.append(_rated_component("attribute", name, detail, attribute.spans, is_surplus))
    return result


def _rated_relation(
    sheet: AnswerSheet, relation: RelationView, surplus: frozenset[int], with_objects: bool
) -> RatedComponent:
    """Returns a relation with its rating. The rating is 1 if the relation's subject or object is
    surplus.

    surplus: the numbers of entities that are mentioned too often. with_objects: whether the span
    may include the relation's object, as in "in the center".
    """
    interview = sheet.interview
    answers = sheet.entities
    subject = relation.subject
    target = relation.object
    spans = relation.spans
    # extend the relation's words to an object that nothing else mentions
    target_view = interview.source.entities[target]
    is_sole = interview.sole_relation_to(target) is relation
    if with_objects and is_sole and not target_view.attributes:
        spans = _extended_to_object(spans, target_view.spans)
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
    """Returns the denials of a completion that are known to be right or wrong, as rated components.

    A denial says that a thing is absent, as in "a man with no hat".

    - If a reference also denies the thing, the denial is right. Of several such denials with the
      same name, only the first is returned.
    - If no reference denies the thing, the judge's answers about the thing decide
      (`_decided_by_answers`). A denial that they do not decide is left out.

    Args:
        sheets: the completion looked up in each reference. May be empty if there is a picture.
        picture: the completion looked up in the picture.
    """
    result: list[RatedComponent] = []
    agreed_names: set[str] = set()  # the names of denials that a reference has too
    # all sheets are about one completion, so all have the same denials
    interview = sheets[0].interview if picture is None else picture.interview
    for number, denial in enumerate(interview.denials):
        is_agreed = any(sheet.interview.target_denies(denial) for sheet in sheets)
        component: RatedComponent | None
        if is_agreed and denial.name in agreed_names:
            component = None  # a repetition
        elif is_agreed:
            agreed_names.add(denial.name)
            component = _rated_denial(denial, HIGHEST_RATING, DENIED_TOO)
        else:
            component = _decided_by_answers(denial, number, sheets, picture)
        if component is not None:
            result.append(component)
    return result


def _decided_by_answers(
    denial: Denial,
    number: int,
    sheets: Sequence[AnswerSheet],
    picture: AnswerSheet | None,
) -> RatedComponent | None:
    """Returns a denial as a rated component if the judge's answers show whether the denied thing
    is there, otherwise None. The first rule that applies decides:

    - A picture without the thing makes the denial right, even if a reference has the thing. Such a
      denial does not count in the mean, because a completion could deny endlessly many things.
    - A reference that plainly has the thing makes the denial wrong. Without references, a picture
      that plainly shows the thing makes the denial wrong.
    - Any other denial may be true, because a reference does not list absent things. The result is
      None.

    Args:
        denial: a denial that no reference agrees with.
        number: the denial's number in the completion.
        sheets: the completion looked up in each reference.
        picture: the completion looked up in the picture, or None.
    """
    answers: list[ComponentRating] = []  # whether the references have the denied thing
    for sheet in sheets:
        if ("denied", number) in sheet.details:
            answers.append(sheet.details["denied", number])
    if picture is not None:
        answer = picture.details["denied", number]
        # a picture without the thing overrides the references: the denial is right
        if answer.rating < picture.interview.presence_threshold:
            return _rated_denial(
                denial, _opposite_rating(answer.rating), answer.question, counts=False
            )
        if not sheets:
            answers = [answer]
    # a reference that plainly has the thing makes the denial wrong
    surest = max(answers, key=lambda answer: answer.rating, default=None)
    if surest is None or surest.rating < PLAINLY_THERE:
        return None
    return _rated_denial(denial, _opposite_rating(surest.rating), surest.question)


def _rated_denial(
    denial: Denial, rating: float, question: str, counts: bool = True
) -> RatedComponent:
    """Returns a denial as a component. "A man with no hat" gives a component with the name "no
    hat".

    rating: 5 if the denied thing is surely absent. counts: whether the component takes part in the
    score. If not, it only has a span.
    """
    return RatedComponent(
        kind="denial",
        identifier=f"no {denial.name}",
        question=question,
        rating=rating,
        asked=True,
        spans=tuple(denial.text_spans),
        counts=counts,
    )


def _opposite_rating(rating: float) -> float:
    """Returns the rating of a denial from the rating of the denied thing: 1 gives 5, and 5 gives
    1.
    """
    return RATING_IF_ABSENT + HIGHEST_RATING - rating


def best_of(sides: Sequence[Sequence[RatedComponent]]) -> list[RatedComponent]:
    """Returns the best rated version of each component over several references.

    Of versions with equal ratings, a version with a question is preferred.

    sides: for each reference, all components of the completion in the same order.
    """
    best = []
    for versions in zip(*sides, strict=True):
        # the highest rating; of equal ratings, True is more than False
        best_version = max(versions, key=lambda version: (version.rating, version.asked))
        best.append(best_version)
    return best


def _extended_to_object(
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
    *first_words, (start, end) = words
    ends_behind = [object_end for object_start, object_end in object_words if object_start >= end]
    if not ends_behind:
        return words
    return (*first_words, (start, min(ends_behind)))


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
    ("stars") in a reference supports any number. Sometimes no reference has the name, for example
    if the judge accepts a synonym. Then an entity is surplus only if it adds no attribute and no
    relation to an earlier entity of the name.

    sheets: the completion looked up in each of its references.
    """
    view = sheets[0].interview.source  # the completion's view, the same in all sheets
    supported = [entity_counts(sheet.interview.target_graph) for sheet in sheets]
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
        most = max(counts.get(name, 0.0) for counts in supported)
        if most:
            result.update(_worst_rated(sheets, numbers, most))
        else:
            result.update(_repeating_entities(view, numbers))
    return frozenset(result)


def _worst_rated(sheets: Sequence[AnswerSheet], numbers: Sequence[int], most: float) -> list[int]:
    """Returns the worst rated entities of one name: all that remain after the best rated ones have
    used up the references' number. If the references have one star and the completion two, the
    worse of the two is returned.

    Of equally good mentions, the earlier mention is better.

    Args:
        sheets: the completion looked up in each of its references.
        numbers: the numbers of the completion's entities with the name.
        most: how many entities of the name a reference supports, infinity for a plural.
    """
    worth: dict[int, float] = {}
    for number in numbers:
        worth[number] = max(_worth_of_mention(sheet, number) for sheet in sheets)
    best_first = sorted(numbers, key=worth.__getitem__, reverse=True)  # a stable sort
    supported_number = int(min(most, len(numbers)))
    return best_first[supported_number:]


def _repeating_entities(view: GraphView, numbers: Sequence[int]) -> list[int]:
    """Returns the entities that add nothing to an earlier entity: the second dog of "a red dog and
    a dog", but not of "a dog and a red dog".

    numbers: the numbers of the entities of one name, in the order of the text.
    """
    repeating: list[int] = []
    earlier: list[frozenset[str | Link]] = []  # the statements about each earlier entity
    for number in numbers:
        statements = statements_about(view, number)
        if any(statements <= known for known in earlier):
            repeating.append(number)
        earlier.append(statements)
    return repeating


def entity_counts(graph: SceneGraph) -> dict[frozenset[str], float]:
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


def _worth_of_mention(sheet: AnswerSheet, number: int) -> float:
    """Returns how many right details a mention of an entity has: the sum of (rating - 1) over the
    entity, its attributes and its relations.

    number: the entity's number.
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
