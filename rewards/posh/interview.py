"""One direction of PoSh's questions about one pair of texts, with the names in them and the
answers.

interview = Interview(sample=0, source=view, source_text=..., target_text=..., ...)
interview.bearer(4, "top", published=False)
# 'corner as in "circle sits in corner"', and the same as data
interview.entities[4].rating, interview.details["attribute", 4, 0].rating     # after `conduct`
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from spanreward.rewards.files.templates import fill, places
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.probe import Link, Mention
from spanreward.rewards.language.lemmas import lemmas
from spanreward.rewards.language.scene_graph import Denial, SceneGraph
from spanreward.rewards.posh.candidates import Found
from spanreward.rewards.posh.graph_view import GraphView, RelationView
from spanreward.rewards.posh.prompts import DirectionPrompts

PRESENCE_THRESHOLD = 2.0
# the most attributes, and the most places, that distinguish an entity from others of its name
MOST_SAID = 16


@dataclass(frozen=True, slots=True)
class ComponentRating:
    """The rating (1..5) of an attribute, relation or denied thing, and its question."""

    rating: float
    question: str


@dataclass(slots=True)
class Interview:
    """One direction of one pair: are the source's components in the target? `conduct` fills in the
    answers.

    denials: what the source says is not there. entities: the answers by number in the source's
    view. details: those on ("attribute", entity, place), ("relation", number) and ("denied",
    number), whether the target has it all the same. What has an absent entity is not asked about,
    nor what the target denies too. failure: the judge's first failure, after which answers are
    missing. cut: the most characters that the judge did not read of the longer text in the prompt,
    which is the source if `cuts_source` and else the target.
    """

    sample: int
    source: GraphView
    source_text: str
    target_text: str
    target_graph: SceneGraph
    wording: DirectionPrompts
    presence_threshold: float = PRESENCE_THRESHOLD
    denials: Sequence[Denial] = ()
    entities: dict[int, Found] = field(default_factory=dict)
    details: dict[tuple[str | int, ...], ComponentRating] = field(default_factory=dict)
    failure: Failure | None = None
    cut: int = 0
    prefix: str = field(init=False)
    description: tuple[int, int] = field(init=False)  # the characters of the prefix that may be cut
    quotes_source: bool = field(init=False)
    cuts_source: bool = field(init=False)
    # names that several entities of the target have
    repeated: frozenset[frozenset[str]] = field(init=False)
    _tied: dict[int, list[RelationView]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        texts = {
            "target_text": self.target_text,
            "source_text": self.source_text,
            "text": self.target_text,
        }
        self.prefix = fill(self.wording.prefix, **texts)
        shown = places(self.wording.prefix, **texts)
        self.quotes_source = "source_text" in shown
        longest = max(shown, key=lambda name: len(texts[name]), default="")
        self.cuts_source = longest == "source_text"
        self.description = shown.get(longest, (0, 0))
        names = Counter(
            name
            for entity in self.target_graph.entities
            for name in {lemmas(h) for h in entity.heads}
        )
        self.repeated = frozenset(name for name, count in names.items() if count > 1)

    def cut_of(self, source: bool) -> int:
        """How many characters of the source, or else of the target, the judge did not read."""
        return self.cut if self.cuts_source is source else 0

    def agrees(self, denial: Denial) -> bool:
        """Whether the target denies the same thing."""
        return _names(denial) in map(_names, self.target_graph.denials)

    def can_tell(self, denial: Denial) -> bool:
        """Whether to ask about a denied thing: not if the target denies it too, or has several that
        may be meant.
        """
        return not self.agrees(denial) and not (
            denial.of_one and lemmas(denial.head) in self.repeated
        )

    def mention(self, number: int, mention: Mention) -> Mention:
        """Returns the entity's mention, with everything that the source says of it if the prompt
        shows the source.
        """
        if not self.quotes_source:
            return mention
        entity = self.source.entities[number]
        details = tuple(attribute.text for attribute in entity.attributes)
        ties = tuple(
            tie_of(self.source, relation, number, described=False) for relation in entity.relations
        )
        return replace(mention, details=details, ties=ties)

    def bearer(self, number: int, attribute: str, published: bool) -> tuple[str, Mention]:
        """Returns the name of the entity that an attribute is asked of, and the same as data.

        By default an entity that only one relation mentions is named by this relation: "top" is
        asked of the corner that the circle is in, not of any corner.
        """
        tie = None if published or self.quotes_source else self.tie(number)
        if tie is None or not self.entities[tie.subject].present:
            return self.described(number, besides=attribute)
        head, owner = self.source.entities[number].text, self.entities[tie.subject].identifier
        name = fill(
            self.wording.with_relation, formatted_entity=head, relation=f"{owner} {tie.text} {head}"
        )
        _, subject = self.described(tie.subject)
        return name, Mention(head, links=(Link(tie.text, subject, reverse=True),))

    def ends(
        self, relation: RelationView, published: bool
    ) -> tuple[tuple[str, Mention], tuple[str, Mention]]:
        """Returns the names of a relation's subject and object, without what it says itself, and
        the same as data.
        """
        subject = self.described(relation.subject, without=relation)
        if published or self.quotes_source or self.tie(relation.object) is not relation:
            return subject, self.described(relation.object, without=relation)
        # enough, because its attributes are asked separately
        head = self.source.entities[relation.object].text
        return subject, (head, Mention(head))

    def described(
        self, number: int, besides: str = "", without: RelationView | None = None
    ) -> tuple[str, Mention]:
        """Returns an entity's identifier, with details if the target has several entities of that
        name, and as data.

        Details are other attributes and `tied` relations, at most MOST_SAID of each: otherwise the
        length of all questions about an entity grows with the square of what is said of it. Prompts
        that show the source need no details. besides, without: the attribute or relation that is
        asked about.
        """
        found, entity = self.entities[number], self.source.entities[number]
        mention = self.mention(number, found.mention)
        if (
            self.quotes_source
            or not self.wording.described
            or lemmas(mention.head) not in self.repeated
        ):
            return found.identifier, mention
        named_by = {besides, *mention.attributes}
        details = [
            attribute.text for attribute in entity.attributes if attribute.text not in named_by
        ][:MOST_SAID]
        tied = [relation for relation in self.tied(number) if relation is not without][:MOST_SAID]
        ties = [tie_of(self.source, relation, number) for relation in tied]
        words = [
            *details,
            *(" ".join((tie.relation, *tie.other.attributes, tie.other.head)) for tie in ties),
        ]
        if not words:
            return found.identifier, mention
        name = fill(
            self.wording.described, entity_identifier=found.identifier, attributes=", ".join(words)
        )
        return name, replace(mention, details=tuple(details), ties=tuple(ties))

    def tied(self, number: int) -> Sequence[RelationView]:
        """Returns the entity's relations to objects that nothing else mentions."""
        if number not in self._tied:
            relations = self.source.entities[number].relations
            self._tied[number] = [
                r for r in relations if r.subject == number and self.tie(r.object) is r
            ]
        return self._tied[number]

    def tie(self, number: int) -> RelationView | None:
        """Returns the entity's only relation if it is its object ("in" of "a circle in the
        corner"), else None.
        """
        relations = self.source.entities[number].relations
        only = relations[0] if len(relations) == 1 else None
        return only if only is not None and only.object == number != only.subject else None


def tie_of(view: GraphView, relation: RelationView, number: int, described: bool = True) -> Link:
    """Returns a relation of the entity with this number as data. described: whether with the other
    end's attributes.
    """
    reverse = relation.object == number
    other = view.entities[relation.subject if reverse else relation.object]
    attributes = tuple(attribute.text for attribute in other.attributes) if described else ()
    return Link(relation.text, Mention(other.text, attributes), reverse)


def _names(denial: Denial) -> list[frozenset[str]]:
    return [lemmas(words) for words in (denial.head, *denial.attributes)]


def denied_thing(denial: Denial) -> tuple[str, Mention]:
    """Returns the name of a thing that is said not to be there, such as "red hat (part of man)",
    and it as data.
    """
    where = ", ".join(f"{relation} {' '.join(other)}" for relation, other in denial.links)
    links = tuple(
        Link(relation, Mention(other[-1], tuple(other[:-1]))) for relation, other in denial.links
    )
    name = f"{denial.name} ({where})" if where else denial.name
    return name, Mention(denial.head, tuple(denial.attributes), links)
