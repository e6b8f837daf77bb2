"""Where our extractor departs from the published one: a named switch for each departure.

The numbers are those of the list of quirks in the behavioural notes; every switch is off in published mode.
"""

from dataclasses import dataclass
from typing import Literal, Self

Mode = Literal["published", "default"]


@dataclass(frozen=True, slots=True)
class Rules:
    """All off: the published graphs, exactly. All on: the default mode."""

    pronoun_attributes: bool = False  # (10) "It is red": the pronoun's entity is red
    copula_relations: bool = False  # (11) "The boat is in the water": (boat, in, water)
    own_subjects: bool = False  # (16) "a hat is here and a man sits there": the hat does not sit
    own_prepositions: bool = False  # (13) "sits on a bench under a tree": sits on, sits under; not "sits on under"
    any_order: bool = False  # (14) "In the boat sits a man": what comes before its verb counts too
    tight_conjuncts: bool = False  # (16) "two red hats and a coat": neither two nor red is said of the coat
    ignore_case: bool = False  # (21, 27) attributes and relations are lower case; "Two" and "two" are one attribute
    nominal_adjectives: bool = False  # (22) "at the left", "wears blue": an adjective in a noun's place is an entity

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
        if mode == "default":
            return cls.default()
        raise ValueError(f"mode is 'published' or 'default', got {mode!r}")
