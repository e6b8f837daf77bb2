"""Coreference: which words of a text mean the same thing.

    coref_method("rules")([nlp("A red circle is here. It is above a square.")])     # [[[[2, 2], [6, 6]]]]

"rules" is the default and needs no model. "none" finds nothing. "maverick" is the published metric's neural model, in
the extra `coref`. A function from Docs to clusters is a method too.
"""

from collections.abc import Callable, Sequence

from spacy.tokens import Doc

from spanreward.rewards.language.clusters import Cluster
from spanreward.rewards.language.coref_maverick import maverick_class, maverick_clusters
from spanreward.rewards.language.coref_rules import clusters_by_rule
from spanreward.rewards.language.words import read_words

Resolver = Callable[[Sequence[Doc]], Sequence[Sequence[Cluster]]]


def coref_method(method: str | Resolver) -> Resolver:
    """Returns the method of that name, or the given function. Maverick loads its weights at its first text.

    A method returns per Doc its clusters. A cluster is a list of mentions [first, last]: token numbers, both inclusive.

    Raises ValueError for an unknown name. Raises ImportError, which says what to install, where Maverick's
    package cannot be imported.
    """
    if not isinstance(method, str):
        return method
    if method == "maverick":
        maverick_class()
        return maverick_clusters
    if method == "rules":
        return _by_rule
    if method == "none":
        return no_clusters
    raise ValueError(f"coref is 'rules', 'none', 'maverick' or a function, got {method!r}")


def coref_name(method: str | Resolver) -> str:
    """Returns the method's name for a record."""
    return method if isinstance(method, str) else "own function"


def no_clusters(docs: Sequence[Doc]) -> list[list[Cluster]]:
    return [[] for _ in docs]


def _by_rule(docs: Sequence[Doc]) -> list[list[Cluster]]:
    return [clusters_by_rule(read_words(doc)[0]) for doc in docs]
