"""Coreference: which words of a text mean the same thing.

    coref_method("rules")([nlp("A red circle is here. It is above a square.")])     # [[[[2, 2], [6, 6]]]]

"rules" is the default and needs no model. "none" finds nothing. "maverick" (the published metric's) and "fastcoref" are
neural models of the extra `coref`. A function from Docs to clusters is a method too.
"""

from collections.abc import Callable, Sequence

from spacy.tokens import Doc

from spanreward.rewards.language.clusters import Cluster
from spanreward.rewards.language.coref_models import fastcoref_clusters, import_package, maverick_clusters
from spanreward.rewards.language.coref_rules import clusters_by_rule
from spanreward.rewards.language.words import read_words

Resolver = Callable[[Sequence[Doc]], Sequence[Sequence[Cluster]]]

MODELS: dict[str, Resolver] = {"maverick": maverick_clusters, "fastcoref": fastcoref_clusters}


def coref_method(method: str | Resolver) -> Resolver:
    """Returns the method of that name, or the given function. A model loads its weights at its first text.

    A method returns per Doc its clusters. A cluster is a list of mentions [first, last]: token numbers, both inclusive.

    Raises ValueError for an unknown name. Raises ImportError, which says what to install, where a model's package
    cannot be imported.
    """
    if not isinstance(method, str):
        return method
    if method in MODELS:
        import_package(method)
        return MODELS[method]
    if method == "rules":
        return _by_rule
    if method == "none":
        return no_clusters
    raise ValueError(f"coref is 'rules', 'none', 'maverick', 'fastcoref' or a function, got {method!r}")


def coref_name(method: str | Resolver) -> str:
    """Returns the method's name for a record."""
    return method if isinstance(method, str) else "own function"


def no_clusters(docs: Sequence[Doc]) -> list[list[Cluster]]:
    return [[] for _ in docs]


def _by_rule(docs: Sequence[Doc]) -> list[list[Cluster]]:
    return [clusters_by_rule(read_words(doc)[0]) for doc in docs]
