"""Which words of a text speak of the same thing, by the method of one's choice.

    find_clusters([nlp("A red circle is here. It is above a square.")], "rules")     # [[[[2, 2], [6, 6]]]]

"rules" needs nothing else and is the default, "none" finds nothing, "maverick" (the published metric's) and "fastcoref"
are neural models of the extra `coref`. A function from parsed texts to their clusters does as well.
"""

from collections.abc import Callable, Sequence

from spacy.tokens import Doc

from rewards.language.clusters import Cluster
from rewards.language.coref_models import fastcoref_clusters, import_package, maverick_clusters
from rewards.language.coref_rules import clusters_by_rule
from rewards.language.words import read_words

Resolver = Callable[[Sequence[Doc]], Sequence[Sequence[Cluster]]]

MODELS: dict[str, Resolver] = {"maverick": maverick_clusters, "fastcoref": fastcoref_clusters}


def find_clusters(docs: Sequence[Doc], method: str | Resolver = "rules") -> Sequence[Sequence[Cluster]]:
    """Per parsed text its clusters: lists of mentions [first, last], token numbers, both inclusive.

    Raises ValueError and ImportError as `coref_method` does.
    """
    return coref_method(method)(docs)


def coref_method(method: str | Resolver) -> Resolver:
    """The method of that name, or the function itself.

    Raises ValueError for a name that does not exist, and ImportError, saying what to install, for a model's package
    that cannot be imported. A model's weights are loaded when it first gets a text.
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
    """What to call the method in a record."""
    return method if isinstance(method, str) else "own function"


def no_clusters(docs: Sequence[Doc]) -> list[list[Cluster]]:
    return [[] for _ in docs]


def _by_rule(docs: Sequence[Doc]) -> list[list[Cluster]]:
    return [clusters_by_rule(read_words(doc)[0]) for doc in docs]
