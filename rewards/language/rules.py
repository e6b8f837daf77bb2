"""Where our extractor departs from the published one: a named switch for each departure.

The numbers are those of the list of quirks in the behavioural notes; every switch is off in published mode.
"""

from dataclasses import dataclass
from typing import Literal, Self

Mode = Literal["published", "default", "reference"]
# reference: as default, of a text that others are held against: what it leaves open by "or" stays, each alternative


@dataclass(frozen=True, slots=True)
class Rules:
    """All off: the published graphs, exactly. All on: the default mode."""

    pronoun_attributes: bool = False  # (10) "It is red": the pronoun's entity is red
    predicate_adjectives: bool = False  # (10) "Trees stand tall", "the sky is a clear blue": tall trees, a clear sky
    copula_relations: bool = False  # (11) "The boat is in the water": (boat, in, water)
    seen_is_there: bool = False  # (11) "A man can be seen in the park": (man, in, park), and no man who "is seen"
    own_objects: bool = False  # (12) "holds a book and smiles": smiles, and at no book
    own_prepositions: bool = False  # (13) "sits on a bench under a tree": sits on, sits under; not "sits on under"
    any_order: bool = False  # (14) "In the boat sits a man": what comes before its verb counts too
    own_subjects: bool = False  # (14, 16) "a hat that a man wears", "a hat lies and a man sits": the hat does neither
    tight_conjuncts: bool = False  # (16) "two red hats and a coat": neither two nor red is said of the coat
    ignore_case: bool = False  # (21, 27) attributes and relations are lower case; "Two" and "two" are one attribute
    side_nouns: bool = False  # (22) "at the top left": a side is an entity, though the parser reads an adjective
    hyphens: bool = False  # (23) "snow-covered" is one attribute, and "-" is none
    sentence_adverbs: bool = False  # "possibly a park": said of the statement, no attribute of the park
    grammar: bool = False  # words that cannot stand where they do are noted beside the graph
    asserted: bool = False  # "a man with no hat", "is there a dog?", "a cup or a glass": no hat, dog, cup or glass

    @classmethod
    def published(cls) -> Self:
        return cls()

    @classmethod
    def default(cls) -> Self:
        return cls(*[True] * len(cls.__slots__))

    @classmethod
    def of(cls, mode: Mode) -> Self:
        """Raises ValueError for an unknown mode."""
        if mode == "published":
            return cls.published()
        if mode in ("default", "reference"):
            return cls.default()
        raise ValueError(f"mode is 'published', 'default' or 'reference', got {mode!r}")
