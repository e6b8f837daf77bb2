"""Finds names by which the judge can be asked about an entity, the simplest name first.

    candidates(view, 0, {}, wording)  # circle, red circle, circle above square, ...

A name must distinguish the entity from other entities with the same head (noun). A name does so by
an attribute, another head, a relation, or the whole that the entity is part of. In published mode
the judge turns `Candidate.phrase` into a noun phrase. In default mode a rule does, and
`Candidate.fluent` has the result.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from spanreward.rewards.files.templates import fill_template
from spanreward.rewards.judges.probe import Link, Mention
from spanreward.rewards.language.words import word_set
from spanreward.rewards.posh.graph_view import (
    PART_OF,
    AttributeView,
    EntityView,
    GraphView,
    RelationView,
)
from spanreward.rewards.posh.prompts import DirectionPrompts

PRONOUNS = word_set(
    """he him his himself she her hers herself it its itself they them their theirs themselves who
    whom this that these
    those"""
)

CandidateKind = Literal["head", "attribute", "relation"]  # what distinguishes the entity


@dataclass(frozen=True, slots=True)
class EntityAnswer:
    """The judge's answer about one entity.

    Attributes:
        identifier: the name that later questions use for the entity.
        mention: the same name as typed data.
        rating: from 1 to 5.
        present: whether the rating reaches the threshold.
        question: "" for an entity that is never asked about, such as the viewer.
    """

    identifier: str
    mention: Mention
    rating: float
    present: bool
    question: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One name of an entity. Names with a low rank are asked first.

    Attributes:
        entity: the entity's number.
        kind: what distinguishes the entity. In published mode the judge rewrites names of all kinds
            but "head".
        phrase: the name in PoSh's words, such as "circle above square".
        fluent: the name as a noun phrase, such as "the circle above the square".
        mention: the same name as typed data.
        rank: 0 for the head alone, 1 for an attribute, 2 for another head. 3 for a relation with
            the entity as its subject, 4 for a relation with the entity as its object.
    """

    entity: int
    kind: CandidateKind
    phrase: str
    fluent: str
    mention: Mention
    rank: int = 0


@dataclass(frozen=True, slots=True)
class _NameForm:
    """A form of name, into which a head is put: "corner", or "corner of the table".

    Attributes:
        group: the numbers of the entities that this form cannot distinguish.
        wording: the templates of the names.
        parent: the whole that the entity is part of, here the table. None for the form without a
            whole.
    """

    group: Sequence[int]
    wording: DirectionPrompts
    parent: EntityAnswer | None = None

    def name_of(self, head: str) -> str:
        """Returns the name of an entity with this head: "corner of the table" for "corner"."""
        if self.parent is None:
            return fill_template(self.wording.plain, entity_text=head)
        return fill_template(
            self.wording.of_parent,
            entity_text=head,
            parent_entity_identifier=self.parent.identifier,
        )

    def mention_of(self, head: str) -> Mention:
        """Returns the name of an entity with this head, in the form for judges that read no
        prompt.
        """
        if self.parent is None:
            return Mention(head)
        link = Link(PART_OF, self.parent.mention)
        return Mention(head, links=(link,))

    def candidate_by_head(self, number: int, head: str, rank: int = 0) -> Candidate:
        """Returns a Candidate that names an entity by one of its heads.

        number: the entity's number. rank: 0 for the head by which the entity is called first, 2 for
        another head.
        """
        name = self.name_of(head)
        return Candidate(
            number,
            "head",
            phrase=name,
            fluent=name,
            mention=self.mention_of(head),
            rank=rank,
        )


def candidate_names(
    view: GraphView,
    number: int,
    answers: Mapping[int, EntityAnswer],
    wording: DirectionPrompts,
) -> list[Candidate]:
    """Returns at least one name by which the judge can be asked about an entity, simplest first.

    Args:
        view: the view of the entity's graph.
        number: the number of an entity without a fixed name.
        answers: the answers on entities that the judge was asked about earlier.
        wording: the templates of the names.
    """
    entity = view.entities[number]
    ranked: list[Candidate] = []
    forms = _forms_of_name(view, number, answers, wording)
    # The steps of section 2.2 for each form of name. First come names by an attribute or another
    # head. If all these names are in `ranked` already, names by a relation come.
    for form in forms:
        rivals = [view.entities[other] for other in form.group if other != number]
        new = _new_candidates(_names_by_words(entity, number, form, rivals), ranked)
        if not new:
            new = _new_candidates(_names_by_relations(view, number, answers, form), ranked)
        ranked += new
    # if nothing distinguishes the entity, the name is its head alone
    if not ranked:
        return [forms[0].candidate_by_head(number, entity.text)]
    return sorted(ranked, key=lambda candidate: candidate.rank)


def _new_candidates(
    candidates: Iterable[Candidate], earlier: Sequence[Candidate]
) -> list[Candidate]:
    """Returns the candidates whose phrase is new: neither in `earlier` nor repeated in
    `candidates`.

    Candidates of rank 0 (the head alone) may repeat.
    """
    phrases = {candidate.phrase for candidate in earlier}
    new = []
    for candidate in candidates:
        # the published code asks about the head alone once for each form of name
        if candidate.rank == 0 or candidate.phrase not in phrases:
            phrases.add(candidate.phrase)
            new.append(candidate)
    return new


def _forms_of_name(
    view: GraphView,
    number: int,
    answers: Mapping[int, EntityAnswer],
    wording: DirectionPrompts,
) -> list[_NameForm]:
    """Returns the forms of name for the entity, at least one (PoSh, section 2.2, step 2).

    For a corner of a table, these are:

    - "corner of the table", if the target has the table. This form cannot distinguish the corners
      of the table.
    - "corner" alone, if the text has no other corner, or if the target does not have the table.
      This form cannot distinguish any corners.

    Args:
        view: the view of the entity's graph.
        number: the entity's number.
        answers: the answers on entities that the judge was asked about earlier.
        wording: the templates of the names.
    """
    entity = view.entities[number]
    namesakes = view.namesakes[entity.text]  # the entity, and all others with its head
    # "corner of the table": only a table that the target has can name the corner
    forms_by_parent: list[_NameForm] = []
    for parent in sorted(entity.parents):
        if parent in answers and answers[parent].present:
            parts = [other for other in namesakes if parent in view.entities[other].parents]
            forms_by_parent.append(_NameForm(parts, wording, answers[parent]))
    # "corner" alone
    form_of_head = _NameForm(namesakes, wording)
    is_only_namesake = len(namesakes) == 1
    if is_only_namesake or not forms_by_parent:
        return [form_of_head, *forms_by_parent]
    return forms_by_parent


def _names_by_words(
    entity: EntityView, number: int, form: _NameForm, rivals: Sequence[EntityView]
) -> Iterator[Candidate]:
    """Yields names without a relation: the head alone if there are no rivals (rank 0), the head
    with an attribute that no rival has (rank 1), and another head that no rival has (rank 2).

    A brown animal that the text later calls a dog has the names "animal", "brown animal" and "dog".

    Args:
        entity: the entity to name.
        number: the entity's number.
        form: the form of name.
        rivals: other entities that share the form.
    """
    if not rivals:
        yield form.candidate_by_head(number, entity.text)
    yield from _names_by_attributes(entity, number, form, rivals)
    # "dog" for an entity that the text first calls "animal"
    rival_heads: set[str] = set()
    for rival in rivals:
        rival_heads.update(rival.heads)
    for head in entity.heads:
        if head not in PRONOUNS and head not in rival_heads:
            yield form.candidate_by_head(number, head, rank=2)


def _names_by_attributes(
    entity: EntityView, number: int, form: _NameForm, rivals: Sequence[EntityView]
) -> Iterator[Candidate]:
    """Yields names by an attribute that no rival has, such as "red circle", in the order of the
    text.

    number: the entity's number. form: the form of name. rivals: other entities that share the form.
    """
    rival_attributes: set[str] = set()
    for rival in rivals:
        rival_attributes.update(attribute.text for attribute in rival.attributes)
    plain = form.name_of(entity.text)
    mention = form.mention_of(entity.text)
    for attribute in sorted(entity.attributes, key=lambda attribute: attribute.sentence):
        if attribute.text not in rival_attributes:
            yield Candidate(
                number,
                "attribute",
                phrase=f"{attribute.text} {plain}",
                fluent=_name_with_attribute(entity, attribute, plain),
                mention=replace(mention, attributes=(attribute.text,)),
                rank=1,
            )


def _names_by_relations(
    view: GraphView,
    number: int,
    answers: Mapping[int, EntityAnswer],
    form: _NameForm,
) -> Iterator[Candidate]:
    """Yields names by a relation that no rival has. A rival is another entity that shares the form
    of name.

    First come names with the entity as the relation's subject: "circle above square" for a circle.
    Then come names with the entity as the relation's object: 'square as in "circle above square"'
    for a square.
    """
    # skip "part of", because the form already names the whole
    relations = [
        relation for relation in view.entities[number].relations if relation.text != PART_OF
    ]
    relations.sort(key=lambda relation: relation.sentence)
    names: list[Candidate | None] = []
    for relation in relations:
        if relation.subject == number:
            names.append(_name_as_subject(view, number, relation, answers, form))
    for relation in relations:
        if relation.object == number:
            names.append(_name_as_object(view, number, relation, answers, form))
    yield from filter(None, names)


def _name_as_subject(
    view: GraphView,
    number: int,
    relation: RelationView,
    answers: Mapping[int, EntityAnswer],
    form: _NameForm,
) -> Candidate | None:
    """Returns the name of a relation's subject by the relation: "circle above square" for the
    circle. Returns None if a rival is above the square too, or if the judge has found the square
    absent.

    Args:
        view: the view of the graph.
        number: the subject's number.
        relation: the relation.
        answers: the answers on entities that the judge was asked about earlier.
        form: the form of the name, with all entities that share this form.
    """
    if _has_rival(view.subjects[relation.text, relation.object], number, form):
        return None
    other_name, other = _name_of_other(view, relation.object, answers)
    if other is None:
        return None
    text = view.entities[number].text
    return Candidate(
        number,
        "relation",
        phrase=f"{text} {relation.text} {other_name}",
        fluent=_name_with_relation(text, relation, other_name),
        mention=Mention(text, links=(Link(relation.text, other),)),
        rank=3,
    )


def _name_as_object(
    view: GraphView,
    number: int,
    relation: RelationView,
    answers: Mapping[int, EntityAnswer],
    form: _NameForm,
) -> Candidate | None:
    """Returns the name of a relation's object by the relation: 'square as in "circle above square"'
    for the square. Returns None if a rival is below the circle too, or if the judge has found the
    circle absent.

    Args:
        view: the view of the graph.
        number: the object's number.
        relation: the relation.
        answers: the answers on entities that the judge was asked about earlier.
        form: the form of the name, with all entities that share this form.
    """
    if _has_rival(view.objects[relation.text, relation.subject], number, form):
        return None
    other_name, other = _name_of_other(view, relation.subject, answers)
    if other is None:
        return None
    text = view.entities[number].text
    phrase = fill_template(
        form.wording.with_relation,
        formatted_entity=form.name_of(text),
        relation=f"{other_name} {relation.text} {text}",
    )
    mention = form.mention_of(text)
    link = Link(relation.text, other, reverse=True)
    return Candidate(
        number,
        "relation",
        phrase=phrase,
        fluent=phrase,
        mention=replace(mention, links=(*mention.links, link)),
        rank=4,
    )


def _has_rival(related: Set[int], number: int, form: _NameForm) -> bool:
    """Returns whether another entity of the same form of name has the relation too. "Circle above
    square" does not distinguish two circles above one square.

    related: the numbers of all entities with the relation. number: the entity's number.
    """
    return any(other in related for other in form.group if other != number)


def _name_of_other(
    view: GraphView, number: int, answers: Mapping[int, EntityAnswer]
) -> tuple[str, Mention | None]:
    """Returns the name of a relation's other entity, and a Mention, the same name for judges that
    read no prompt.

    The Mention is None if the judge has found the other entity absent.

    number: the other entity's number.
    """
    if number in answers:
        answer = answers[number]
        mention = answer.mention if answer.present else None
        return answer.identifier, mention
    # The other entity has no answer yet. Its name is its text with the attribute of the earliest
    # sentence.
    entity = view.entities[number]
    if not entity.attributes:
        return entity.text, Mention(entity.text)
    attribute = min(entity.attributes, key=lambda attribute: attribute.sentence)
    name = f"{attribute.text} {entity.text}"
    return name, Mention(entity.text, (attribute.text,))


def _name_with_attribute(entity: EntityView, attribute: AttributeView, name: str) -> str:
    """Returns a noun phrase with an attribute: "the red circle", or "the bird that flies low".

    A verb after the head makes a clause with "that". A graph has no parts of speech, so an
    attribute counts as a verb by its place after the head and by its form.

    Args:
        attribute: "red" or "flies low".
        name: "circle" or "bird".
    """
    text = attribute.text
    stands_after = False
    if entity.spans and attribute.spans:
        stands_after = attribute.spans[0] > entity.spans[0]
    # forms of a verb: "flies" and "flies low", but not "grass"
    ends_like_verb = text.endswith("s") and not text.endswith("ss")
    has_verb_form = ends_like_verb or " " in text
    if stands_after and has_verb_form:
        return f"the {name} that {text}"
    return f"the {text} {name}"


def _name_with_relation(name: str, relation: RelationView, partner: str) -> str:
    """Returns a noun phrase with a relation: "the man that holds the book", "the circle above the
    square".

    name: "man". partner: the name of the relation's other entity, with or without an article.
    """
    words = ["the", name]
    if relation.by_verb:
        words.append("that")  # "the man that holds"
    words.append(relation.text)
    # "the book" has an article, and "our left" needs none
    if not partner.startswith(("the ", "our ")):
        words.append("the")
    words.append(partner)
    return " ".join(words)
