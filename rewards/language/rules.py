"""The rules by which the default mode departs from the published extractor: one named switch for
each departure.
"""

from dataclasses import dataclass
from typing import Literal

Mode = Literal["published", "default", "reference"]
# "reference" is "default" for a text that supports other texts' claims: it keeps all alternatives
# of an "or".


@dataclass(frozen=True, slots=True)
class Rules:
    """Switches of the extractor. All off give exactly the published graphs, all on give the default
    mode.

    The numbers are those of the published extractor's quirks in docs/evidence/graph_rules.md.
    """

    pronoun_attributes: bool = False  # (10) "It is red": the pronoun's entity is red
    # (10) "Trees stand tall", "the sky is a clear blue": tall trees, a clear sky
    predicate_adjectives: bool = False
    copula_relations: bool = False  # (11) "The boat is in the water": (boat, in, water)
    # (11) "next to a dog", "in front of a dog": one relation to the dog
    compound_prepositions: bool = False
    # (11) "A man can be seen in the park": (man, in, park), and no man who "is seen"
    seen_is_there: bool = False
    own_objects: bool = False  # (12) "holds a book and smiles": the book is no object of "smiles"
    # (13) "sits on a bench under a tree": sits on, sits under; not "sits on under"
    own_prepositions: bool = False
    any_order: bool = False  # (14) "In the boat sits a man": words before the verb count too
    # (14, 16) "a hat that a man wears", "a hat lies and a man sits": the hat does neither
    own_subjects: bool = False
    # (16) "two red hats and a coat": neither "two" nor "red" describes the coat
    tight_conjuncts: bool = False
    # (21, 27) attributes and relations are lower case; "Two" and "two" are one attribute
    ignore_case: bool = False
    # (22) "at the top left": a side is an entity, though the parser reads an adjective
    side_nouns: bool = False
    hyphens: bool = False  # (23) "snow-covered" is one attribute, and "-" is none
    sentence_adverbs: bool = False  # "possibly a park": "possibly" is no attribute of the park
    grammar: bool = False  # the graph lists words that cannot stand where they do
    # "a man with no hat", "is there a dog?", "a cup or a glass": no hat, dog, cup or glass
    asserted: bool = False


PUBLISHED = Rules()
DEFAULT = Rules(*[True] * len(Rules.__slots__))


def rules_of(mode: Mode) -> Rules:
    """Returns the rules of a mode. Raises ValueError for an unknown mode."""
    if mode not in ("published", "default", "reference"):
        raise ValueError(f"mode is 'published', 'default' or 'reference', got {mode!r}")
    return PUBLISHED if mode == "published" else DEFAULT
