"""The rules by which the default mode differs from the published extractor. Each rule has a switch
with a name.
"""

from dataclasses import dataclass
from typing import Literal

Mode = Literal["published", "default", "reference"]
# "reference" is "default" for a text that supports the claims of other texts. The graph of a
# reference keeps all alternatives of an "or".


@dataclass(frozen=True, slots=True)
class Rules:
    """Switches of the extractor. With all switches off, the extractor makes exactly the published
    graphs. With all switches on, the extractor makes the graphs of the default mode.

    The numbers in brackets are the numbers of the published extractor's quirks in
    docs/evidence/graph_rules.md.
    """

    copula_relations: bool = False  # (11) "The boat is in the water": (boat, in, water)
    # (12) "sits on a bench and smiles": the bench and "on" do not belong to "smiles"
    own_objects: bool = False
    # (13) "sits on a bench under a tree": sits on, sits under; not "sits on under"
    own_prepositions: bool = False
    any_order: bool = False  # (14) "In the boat sits a man": words before the verb count too
    # (14, 16) "a hat that a man wears", "a hat lies and a man sits": the hat neither wears nor sits
    own_subjects: bool = False
    # (21, 27) attributes and relations are lower case; "Two" and "two" are one attribute
    ignore_case: bool = False
    hyphens: bool = False  # (23) "snow-covered" is one attribute, and "-" is no attribute
    grammar: bool = False  # the graph lists words that are impossible at their place
    # "a man with no hat", "is there a dog?", "a cup or a glass": the graph has no hat, dog, cup or
    # glass
    asserted: bool = False


PUBLISHED_RULES = Rules()
DEFAULT_RULES = Rules(**dict.fromkeys(Rules.__slots__, True))


def rules_of(mode: Mode) -> Rules:
    """Returns the rules of a mode. Raises ValueError for an unknown mode."""
    if mode not in ("published", "default", "reference"):
        raise ValueError(f"mode is 'published', 'default' or 'reference', got {mode!r}")
    # "reference" has the rules of "default", but keeps alternatives (parse.py)
    return PUBLISHED_RULES if mode == "published" else DEFAULT_RULES
