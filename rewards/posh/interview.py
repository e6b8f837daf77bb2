"""One direction of PoSh's questions about one pair of texts, with the names of the things in them.

interview = Interview(sample=0, source=view, source_text=..., target_text=..., ...)
interview.bearer(4, "top", sheet.entities, published=False)
# 'corner as in "circle sits in corner"', and the same as data

answer_sheet.py has the answers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from PIL import Image

from spanreward.rewards.files.templates import fill, places
from spanreward.rewards.judges.probe import Link, Mention
from spanreward.rewards.language.lemmas import lemmas
from spanreward.rewards.language.scene_graph import Denial, SceneGraph
from spanreward.rewards.posh.candidates import EntityAnswer
from spanreward.rewards.posh.graph_view import GraphView, RelationView
from spanreward.rewards.posh.prompts import DirectionPrompts
from spanreward.rewards.text.quoting import Mark, mask

PRESENCE_THRESHOLD = 2.0  # an entity with a lower rating is absent (2.4)
# the most attributes, and the most places, that distinguish an entity from others of its name
MOST_SAID = 16


@dataclass(frozen=True)
class Interview:
    """One direction of one pair: are the source's components in the target?

    denials: what the source says is not there. marks: lines of the prompt that no text in it may
    spell. pictures: the target, in place of a text. The class has no slots, because they allow no
    cached properties.
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
        """The texts by their names in the prompt.

        The target has two names: "text" is that of a prefix that shows no source.
        """
        target = mask(self.target_text, self.marks)
        source = mask(self.source_text, self.marks)
        return {"target_text": target, "source_text": source, "text": target}

    @cached_property
    def prefix(self) -> str:
        """What shows the text that is asked about. All prompts have it."""
        return fill(self.wording.prefix, **self.texts)

    @cached_property
    def beginning(self) -> str:
        """The beginning that all prompts share in default mode. It is one object for all of
        them.
        """
        return f"{self.wording.instructions}\n\n{self.prefix}"

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """The characters of each text in the prefix, by its name, for the texts that it shows."""
        return places(self.wording.prefix, **self.texts)

    @property
    def quotes_source(self) -> bool:
        """Whether the prompt shows the source too, as the published precision prompt does."""
        return "source_text" in self._places

    @cached_property
    def _longest(self) -> str:
        """The name of the longest text in the prompt, "" if it has none."""
        texts = self.texts
        lengths = {name: len(texts[name]) for name in self._places}
        return max(lengths, key=lengths.__getitem__, default="")

    @property
    def cuts_source(self) -> bool:
        """Whether the source is what a judge cuts from a prompt that is too long."""
        return self._longest == "source_text"

    @property
    def description(self) -> tuple[int, int]:
        """The characters of the prefix that may be cut."""
        return self._places.get(self._longest, (0, 0))

    @cached_property
    def repeated(self) -> frozenset[frozenset[str]]:
        """The names that several entities of the target have."""
        counts: Counter[frozenset[str]] = Counter()
        for entity in self.target_graph.entities:
            # a set: an entity that is mentioned twice by one name counts once
            counts.update({lemmas(head) for head in entity.heads})
        return frozenset(name for name, count in counts.items() if count > 1)

    @cached_property
    def tied(self) -> Mapping[int, list[RelationView]]:
        """By entity, its relations to objects that nothing else mentions."""
        tied: dict[int, list[RelationView]] = {}
        for number, entity in enumerate(self.source.entities):
            tied[number] = []
            for relation in entity.relations:
                if relation.subject == number and self.tie(relation.object) is relation:
                    tied[number].append(relation)
        return tied

    def agrees(self, denial: Denial) -> bool:
        """Whether the target denies the same thing."""
        return _names(denial) in map(_names, self.target_graph.denials)

    def can_tell(self, denial: Denial) -> bool:
        """Whether to ask about a denied thing: not if the target denies it too, or has several that
        may be meant.
        """
        if self.agrees(denial):
            return False
        # "the circle is not red", and the target has two circles
        is_ambiguous = denial.of_one and lemmas(denial.head) in self.repeated
        return not is_ambiguous

    def mention(self, number: int, mention: Mention) -> Mention:
        """Returns the entity's mention, with everything that the source says of it if the prompt
        shows the source.
        """
        # the judge must know as much as a reader of the prompt
        if not self.quotes_source:
            return mention
        entity = self.source.entities[number]
        details = tuple(attribute.text for attribute in entity.attributes)
        ties = []
        for relation in entity.relations:
            ties.append(tie_of(self.source, relation, number, described=False))
        return replace(mention, details=details, ties=tuple(ties))

    def bearer(
        self,
        number: int,
        attribute: str,
        answers: Mapping[int, EntityAnswer],
        published: bool,
    ) -> tuple[str, Mention]:
        """Returns the name of the entity that an attribute is asked of, and the same as data.

        By default an entity that only one relation mentions is named by this relation: "top" is
        asked of the corner that the circle is in, not of any corner.

        Args:
            number: the entity's place in the source.
            attribute: its text; a name with details does not repeat it.
            answers: those on the entities that were asked about, by number.
            published: whether in published mode, which names no relation.
        """
        tie = None
        if not published and not self.quotes_source:
            tie = self.tie(number)
        # named by a circle only where the circle is there
        if tie is None or not answers[tie.subject].present:
            return self.described(number, answers, besides=attribute)
        # 'corner as in "the red circle in corner"'
        head = self.source.entities[number].text
        owner = answers[tie.subject].identifier
        name = fill(
            self.wording.with_relation, formatted_entity=head, relation=f"{owner} {tie.text} {head}"
        )
        _, subject = self.described(tie.subject, answers)
        link = Link(tie.text, subject, reverse=True)
        return name, Mention(head, links=(link,))

    def ends(
        self, relation: RelationView, answers: Mapping[int, EntityAnswer], published: bool
    ) -> tuple[tuple[str, Mention], tuple[str, Mention]]:
        """Returns the names of a relation's subject and object, without what it says itself, and
        the same as data.
        """
        subject = self.described(relation.subject, answers, without=relation)
        if published or self.quotes_source or self.tie(relation.object) is not relation:
            target = self.described(relation.object, answers, without=relation)
            return subject, target
        # the head alone is enough, because its attributes are asked separately
        head = self.source.entities[relation.object].text
        return subject, (head, Mention(head))

    def described(
        self,
        number: int,
        answers: Mapping[int, EntityAnswer],
        besides: str = "",
        without: RelationView | None = None,
    ) -> tuple[str, Mention]:
        """Returns an entity's identifier, with details if the target has several entities of that
        name, and as data.

        Details are other attributes and `tied` relations, at most MOST_SAID of each: otherwise the
        length of all questions about an entity grows with the square of what is said of it. Prompts
        that show the source need no details. besides, without: the attribute or relation that is
        asked about.
        """
        entity = self.source.entities[number]
        identifier = answers[number].identifier
        mention = self.mention(number, answers[number].mention)
        if self.quotes_source or not self.wording.described:
            return identifier, mention
        if lemmas(mention.head) not in self.repeated:
            return identifier, mention
        # what the name does not say yet, without what is itself in question
        named_by = {besides, *mention.attributes}
        details = []
        for attribute in entity.attributes:
            if attribute.text not in named_by:
                details.append(attribute.text)
        details = details[:MOST_SAID]
        tied = [relation for relation in self.tied[number] if relation is not without]
        ties = [tie_of(self.source, relation, number) for relation in tied[:MOST_SAID]]
        # "red, above small square"
        words = list(details)
        for tie in ties:
            phrase = (tie.relation, *tie.other.attributes, tie.other.head)
            words.append(" ".join(phrase))
        if not words:
            return identifier, mention
        name = fill(
            self.wording.described, entity_identifier=identifier, attributes=", ".join(words)
        )
        return name, replace(mention, details=tuple(details), ties=tuple(ties))

    def tie(self, number: int) -> RelationView | None:
        """Returns the entity's only relation if it is its object ("in" of "a circle in the
        corner"), else None.
        """
        relations = self.source.entities[number].relations
        # with a second relation it is a thing of its own
        if len(relations) != 1:
            return None
        (only,) = relations
        if only.object != number or only.subject == number:
            return None
        return only


def tie_of(view: GraphView, relation: RelationView, number: int, described: bool = True) -> Link:
    """Returns a relation of the entity with this number as data. described: whether with the other
    end's attributes.
    """
    # seen from its object a relation is read backwards
    reverse = relation.object == number
    other = view.entities[relation.subject if reverse else relation.object]
    attributes: list[str] = []
    if described:
        attributes = [attribute.text for attribute in other.attributes]
    mention = Mention(other.text, tuple(attributes))
    return Link(relation.text, mention, reverse)


def _names(denial: Denial) -> list[frozenset[str]]:
    """Returns the base forms of what is denied, the name first: equal for equal denials."""
    return [lemmas(words) for words in (denial.head, *denial.attributes)]


def denied_thing(denial: Denial) -> tuple[str, Mention]:
    """Returns the name of a thing that is said not to be there, such as "red hat (part of man)",
    and it as data.
    """
    places: list[str] = []
    links: list[Link] = []
    for relation, words in denial.links:
        # a link ends with the name: "old", "man"
        *attributes, head = words
        places.append(" ".join((relation, *words)))
        links.append(Link(relation, Mention(head, tuple(attributes))))
    name = denial.name
    if places:
        name = f"{name} ({', '.join(places)})"
    mention = Mention(denial.head, tuple(denial.attributes), tuple(links))
    return name, mention
