"""One direction (precision or recall) of PoSh's questions about a pair of texts. The interview
names the things in the texts.

interview = Interview(sample=0, source=view, source_text=..., target_text=..., ...)
interview.name_for_attribute(4, "top", sheet.entities, published=False)
# 'corner as in "circle sits in corner"', and the same name as typed data

The answers are in answer_sheet.py.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from PIL import Image

from spanreward.rewards.files.templates import fill_template, filled_places
from spanreward.rewards.judges.probe import Link, Mention
from spanreward.rewards.language.lemmas import lemmas_of_phrase
from spanreward.rewards.language.scene_graph import Denial, SceneGraph
from spanreward.rewards.posh.candidates import EntityAnswer
from spanreward.rewards.posh.graph_view import GraphView, RelationView
from spanreward.rewards.posh.prompts import DirectionPrompts
from spanreward.rewards.text.quoting import Mark, mask_marks

PRESENCE_THRESHOLD = 2.0  # an entity with a lower rating is absent (2.4)
# a name of an entity has at most this many details of each kind (attributes, relations)
MOST_DETAILS = 16


@dataclass(frozen=True)
class Interview:
    """Asks whether the components of one text, the source, are in another text, the target.

    Attributes:
        sample: the number of the sample in the batch.
        source: the view of the source's graph.
        source_text, target_text: the texts.
        target_graph: the graph of the target.
        wording: the templates of the questions.
        presence_threshold: an entity with a lower rating counts as absent.
        denials: things that the source denies.
        marks: fixed lines of the prompt. `texts` masks them in the two texts.
        pictures: the target, if the target is not a text.

    The class has no slots, because a class with slots cannot have cached properties.
    """

    sample: int
    source: GraphView
    source_text: str
    target_text: str
    target_graph: SceneGraph
    wording: DirectionPrompts
    presence_threshold: float = PRESENCE_THRESHOLD
    denials: Sequence[Denial] = ()
    marks: tuple[Mark, ...] = ()
    pictures: tuple[Image.Image, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """The texts, by their placeholders in the prompt's prefix.

        The target has two placeholders: "target_text", and "text" in a prefix without the source.
        """
        target = mask_marks(self.target_text, self.marks)
        source = mask_marks(self.source_text, self.marks)
        return {"target_text": target, "source_text": source, "text": target}

    @cached_property
    def prefix(self) -> str:
        """The part of every prompt that shows the target, and maybe the source."""
        return fill_template(self.wording.prefix, **self.texts)

    @cached_property
    def beginning(self) -> str:
        """The beginning that all prompts share in default mode: the instructions and the prefix.

        All prompts hold the same string object, which saves memory.
        """
        return f"{self.wording.instructions}\n\n{self.prefix}"

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """The characters [start, end) of each text in the prefix, by placeholder."""
        return filled_places(self.wording.prefix, **self.texts)

    @property
    def quotes_source(self) -> bool:
        """Whether the prompt shows the source too. The published precision prompt does."""
        return "source_text" in self._places

    @cached_property
    def _longest_text(self) -> str:
        """The placeholder of the longest text in the prompt, "" for a prompt without texts."""
        texts = self.texts
        lengths = {name: len(texts[name]) for name in self._places}
        return max(lengths, key=lengths.__getitem__, default="")

    @property
    def cuts_source(self) -> bool:
        """Whether a prompt that is too long for the judge loses the end of the source, not of the
        target.
        """
        return self._longest_text == "source_text"

    @property
    def description(self) -> tuple[int, int]:
        """The characters [start, end) of the prefix that may be cut."""
        return self._places.get(self._longest_text, (0, 0))

    @cached_property
    def repeated_names(self) -> frozenset[frozenset[str]]:
        """The names that several entities of the target have. A name is a set of base forms."""
        counts: Counter[frozenset[str]] = Counter()
        for entity in self.target_graph.entities:
            # a set, so that an entity with two mentions of one name counts once
            counts.update({lemmas_of_phrase(head) for head in entity.heads})
        return frozenset(name for name, count in counts.items() if count > 1)

    @cached_property
    def sole_relations_from(self) -> Mapping[int, list[RelationView]]:
        """For each entity of the source, the relations to objects that have no other relation
        (`sole_relation_to`).

        For the circle of "a circle in the corner", this is the relation "in", unless another
        relation mentions the corner.
        """
        relations_from: dict[int, list[RelationView]] = {}
        for number, entity in enumerate(self.source.entities):
            relations_from[number] = []
            for relation in entity.relations:
                is_sole = self.sole_relation_to(relation.object) is relation
                if is_sole and relation.subject == number:
                    relations_from[number].append(relation)
        return relations_from

    def target_denies(self, denial: Denial) -> bool:
        """Returns whether the target denies the same thing, such as "no hat"."""
        denied_by_target = map(_lemmas_of_denial, self.target_graph.denials)
        return _lemmas_of_denial(denial) in denied_by_target

    def can_ask_about(self, denial: Denial) -> bool:
        """Returns whether the judge can be asked about a denied thing.

        False if the target denies the thing too, because no question is then needed. Also False if
        the denial is about one thing and the target has several things of the name.
        """
        if self.target_denies(denial):
            return False
        # ambiguous: "the circle is not red", if the target has two circles
        is_ambiguous = denial.of_one and lemmas_of_phrase(denial.head) in self.repeated_names
        return not is_ambiguous

    def described_mention(self, number: int, mention: Mention) -> Mention:
        """Returns the mention with the source's details about the entity, if the prompt shows the
        source.

        Without the source in the prompt, returns the mention itself.

        Args:
            number: the entity's number in the source.
            mention: the entity's name, in the form for judges that read no prompt.
        """
        # a judge that reads no prompt must know as much as a judge that reads the prompt
        if not self.quotes_source:
            return mention
        entity = self.source.entities[number]
        details = tuple(attribute.text for attribute in entity.attributes)
        links = []
        for relation in entity.relations:
            links.append(link_of(self.source, relation, number, described=False))
        return replace(mention, details=details, ties=tuple(links))

    def name_for_attribute(
        self,
        number: int,
        attribute: str,
        answers: Mapping[int, EntityAnswer],
        published: bool,
    ) -> tuple[str, Mention]:
        """Returns the name of an entity in the question whether the entity has an attribute. The
        Mention is the same name for judges that read no prompt.

        If only one relation mentions the entity, this relation names the entity. For "a circle in
        the top corner", the question about "top" then names the "corner as in 'circle in corner'",
        not any corner. Questions in the published way (`_names_as_published`) do not use the
        relation.

        Args:
            number: the entity's number in the source.
            attribute: the attribute's text. A name with details does not repeat this attribute.
            answers: the answers on entities, by number.
            published: whether in published mode.
        """
        if not self._names_as_published(published):
            relation = self.sole_relation_to(number)
            # the circle can name the corner only if the target has the circle
            if relation is not None and answers[relation.subject].present:
                return self._name_by_sole_relation(relation, answers)
        return self.detailed_name(number, answers, asked_attribute=attribute)

    def _names_as_published(self, published: bool) -> bool:
        """Returns whether questions name entities in the published way, which makes no use of
        `sole_relation_to`.

        This is so in published mode. It is also so in every prompt that shows the source, because
        the judge can read there which entity a question means.

        published: whether in published mode.
        """
        return published or self.quotes_source

    def _name_by_sole_relation(
        self, relation: RelationView, answers: Mapping[int, EntityAnswer]
    ) -> tuple[str, Mention]:
        """Returns the name of a relation's object by the relation: 'corner as in "circle in
        corner"'. The Mention is the same name for judges that read no prompt.

        answers: the answers on entities, by number.
        """
        head = self.source.entities[relation.object].text
        subject_name = answers[relation.subject].identifier
        name = fill_template(
            self.wording.with_relation,
            formatted_entity=head,
            relation=f"{subject_name} {relation.text} {head}",
        )
        _, subject = self.detailed_name(relation.subject, answers)
        link = Link(relation.text, subject, reverse=True)
        return name, Mention(head, links=(link,))

    def names_for_relation(
        self, relation: RelationView, answers: Mapping[int, EntityAnswer], published: bool
    ) -> tuple[tuple[str, Mention], tuple[str, Mention]]:
        """Returns the names of a relation's subject and object in the question about the relation.
        Each name has a Mention, which is the same name for judges that read no prompt.

        The names do not contain the relation itself: for "a circle above a square", the subject is
        "circle" and the object "square".

        If no other relation mentions the object, the object's name is its head alone. For "a circle
        in the top corner", the object is "corner", because the question about "top" is another
        question. Questions in the published way (`_names_as_published`) name the object as they
        name the subject.

        Args:
            relation: the relation in question.
            answers: the answers on entities, by number.
            published: whether in published mode.
        """
        subject_name = self.detailed_name(relation.subject, answers, asked_relation=relation)
        is_sole = self.sole_relation_to(relation.object) is relation
        if is_sole and not self._names_as_published(published):
            head = self.source.entities[relation.object].text
            object_name = head, Mention(head)
        else:
            object_name = self.detailed_name(relation.object, answers, asked_relation=relation)
        return subject_name, object_name

    def detailed_name(
        self,
        number: int,
        answers: Mapping[int, EntityAnswer],
        asked_attribute: str = "",
        asked_relation: RelationView | None = None,
    ) -> tuple[str, Mention]:
        """Returns an entity's name in a question. The Mention is the same name for judges that read
        no prompt.

        If the target has several entities of the name, the name has details, so that the judge
        knows which entity is meant: "the circle (red, above square)". A prompt that shows the
        source needs no details.

        Details are the entity's other attributes, and its relations to objects that no other
        relation mentions (`sole_relations_from`). There are at most MOST_DETAILS of each, because
        each question about an entity repeats its details.

        Args:
            number: the entity's number in the source.
            answers: the answers on entities, by number.
            asked_attribute: the attribute in question, "" for none. The details do not contain it.
            asked_relation: the relation in question, or None. The details do not contain it.
        """
        identifier = answers[number].identifier
        mention = self.described_mention(number, answers[number].mention)
        # the published prompts have no form of name with details
        if self.quotes_source or not self.wording.described:
            return identifier, mention
        # the target has at most one entity of the name, so the identifier is clear
        if lemmas_of_phrase(mention.head) not in self.repeated_names:
            return identifier, mention
        attributes = self._other_attributes(number, (asked_attribute, *mention.attributes))
        links = self._links_to_sole_objects(number, asked_relation)
        # "red, above small square"
        details = list(attributes)
        for link in links:
            words = (link.relation, *link.other.attributes, link.other.head)
            details.append(" ".join(words))
        if not details:
            return identifier, mention
        name = fill_template(
            self.wording.described, entity_identifier=identifier, attributes=", ".join(details)
        )
        return name, replace(mention, details=tuple(attributes), ties=tuple(links))

    def _other_attributes(self, number: int, excluded: Collection[str]) -> list[str]:
        """Returns the first MOST_DETAILS attributes of an entity without the excluded attributes.

        number: the entity's number.
        """
        attributes = []
        for attribute in self.source.entities[number].attributes:
            if attribute.text not in excluded:
                attributes.append(attribute.text)
        return attributes[:MOST_DETAILS]

    def _links_to_sole_objects(self, number: int, excluded: RelationView | None) -> list[Link]:
        """Returns the first MOST_DETAILS of an entity's `sole_relations_from` as Links, without the
        excluded relation.

        number: the entity's number.
        """
        relations = []
        for relation in self.sole_relations_from[number]:
            if relation is not excluded:
                relations.append(relation)
        return [link_of(self.source, relation, number) for relation in relations[:MOST_DETAILS]]

    def sole_relation_to(self, number: int) -> RelationView | None:
        """Returns the only relation that mentions an entity, if the entity is the relation's
        object. Returns None for all other entities.

        For the corner of "a circle in the corner", this is the relation "in".
        """
        relations = self.source.entities[number].relations
        # an entity with two relations can be named without this relation
        if len(relations) != 1:
            return None
        (relation,) = relations
        if relation.object != number or relation.subject == number:
            return None
        return relation


def link_of(view: GraphView, relation: RelationView, number: int, described: bool = True) -> Link:
    """Returns one relation of an entity as a Link, the form for judges that read no prompt.

    For the circle of "a circle above a small square", this is
    `Link("above", Mention("square", ("small",)))`.

    Args:
        view: the view of the text's graph.
        relation: a relation with the entity as subject or object.
        number: the entity's number.
        described: whether the Link has the attributes of the relation's other entity.
    """
    # for the square, the relation is reversed: the circle is above the square
    reverse = relation.object == number
    other_number = relation.subject if reverse else relation.object
    other = view.entities[other_number]
    attributes: list[str] = []
    if described:
        attributes = [attribute.text for attribute in other.attributes]
    mention = Mention(other.text, tuple(attributes))
    return Link(relation.text, mention, reverse)


def _lemmas_of_denial(denial: Denial) -> list[frozenset[str]]:
    """Returns the base forms of the denied thing's name, and then of its attributes.

    Equal results mean that two denials deny the same thing.
    """
    return [lemmas_of_phrase(words) for words in (denial.head, *denial.attributes)]


def denied_thing(denial: Denial) -> tuple[str, Mention]:
    """Returns the name of a denied thing, with a Mention, the same name for judges that read no
    prompt.

    "A man without a red hat" gives "red hat (part of man)".
    """
    places: list[str] = []
    links: list[Link] = []
    for relation, words in denial.links:
        # the last word of a link is the name, as in ["old", "man"]
        *attributes, head = words
        places.append(" ".join((relation, *words)))
        links.append(Link(relation, Mention(head, tuple(attributes))))
    name = denial.name
    if places:
        name = f"{name} ({', '.join(places)})"
    mention = Mention(denial.head, tuple(denial.attributes), tuple(links))
    return name, mention
