"""Coreference: which words of a text mean the same thing.

    coref_method("rules")([nlp("A red circle is here. It is above a square.")])
    # [[[[2, 2], [6, 6]]]]

"rules" is the default and needs no model. "none" finds no clusters. "maverick" is the neural model
of the published metric, from the extra `coref`. A function from Docs to clusters is a method too.

Maverick's code and weights are under CC BY-NC-SA 4.0, which forbids commercial use. The first use
logs a warning about this licence. The first text loads the weights from the Hugging Face hub: 2 GB
(a pickled checkpoint). The adapter was never run with the real model. maverick-coref 1.0.7 needs
protobuf==3.20, so it cannot be installed beside vLLM. With Maverick, the judge must run behind a
server (server:URL#MODEL).
"""

import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal

from spacy.tokens import Doc

from spanreward.rewards.language.clusters import Cluster
from spanreward.rewards.language.coref_rules import clusters_by_rule
from spanreward.rewards.language.words import Word, read_words

log = logging.getLogger(__name__)

Resolver = Callable[[Sequence[Doc]], Sequence[Sequence[Cluster]]]
Coref = Literal["rules", "none", "maverick"] | Resolver


def coref_method(method: str | Resolver) -> Resolver:
    """Returns the coreference method with this name, or the given function.

    A method takes Docs and returns a list of clusters per Doc. A cluster is a list of mentions
    [first, last]: token numbers, both inclusive.

    Raises ValueError for an unknown name. Raises ImportError with the install command if Maverick's
    package cannot be imported.
    """
    if not isinstance(method, str):
        return method
    if method == "maverick":
        _maverick_class()  # a missing package is an error before the first text
        return _by_maverick
    if method == "rules":
        return _by_rules
    if method == "none":
        return _no_clusters
    raise ValueError(f"coref is 'rules', 'none', 'maverick' or a function, got {method!r}")


def _by_rules(docs: Sequence[Doc]) -> list[list[Cluster]]:
    """Returns the clusters of each Doc that the rules of coref_rules.py find."""
    clusters = []
    for doc in docs:
        words, _ = read_words(doc)
        clusters.append(clusters_by_rule(words))
    return clusters


def _no_clusters(docs: Sequence[Doc]) -> list[list[Cluster]]:
    return [[] for _ in docs]


def _by_maverick(docs: Sequence[Doc]) -> list[list[Cluster]]:
    """Returns the clusters of each Doc that Maverick finds."""
    clusters = []
    for doc in docs:
        # the model accepts no text without words
        clusters.append(_maverick_clusters(doc) if len(doc) else [])
    return clusters


def find_clusters(
    method: str | Resolver,
    docs: Sequence[Doc],
    words: Sequence[Sequence[Word]],
) -> Sequence[Sequence[Cluster]]:
    """Returns the clusters of each Doc that a method finds (see `coref_method`).

    words: the words of each Doc. With the words, the method "rules" need not read the Docs again.
    """
    if method == "rules":
        return [clusters_by_rule(of_doc) for of_doc in words]
    return coref_method(method)(docs)


def _maverick_clusters(doc: Doc) -> list[Cluster]:
    """Returns Maverick's clusters of a text. Mentions that begin or end at a special mark of the
    model are left out.

    doc: a text with at least one word. As in the published code, the model gets one text at a time,
    as a list of the words of each sentence.
    """
    sentences = []
    for sentence in doc.sents:
        sentences.append([token.text for token in sentence])
    answer = _maverick_model().predict(sentences)
    clusters: list[Cluster] = []
    for mentions in answer["clusters_token_offsets"]:
        inside = []
        for first, last in mentions:
            # None is the number of a special mark of the model, which is no token of the text
            if first is not None and last is not None:
                inside.append([first, last])
        clusters.append(inside)
    return clusters


@lru_cache(maxsize=1)  # loads 2 GB of weights once
def _maverick_model() -> Any:
    """Returns the model, on the GPU if there is a GPU."""
    import torch

    log.warning(
        "coref=maverick: Maverick's code and weights are under CC BY-NC-SA 4.0, which forbids "
        "commercial use."
    )
    model_class = _maverick_class()
    return model_class(device="cuda" if torch.cuda.is_available() else "cpu")


def _maverick_class() -> Any:
    """Returns the class of the extra package. Raises ImportError with the install command."""
    try:
        return import_module("maverick").Maverick
    except ImportError as error:
        raise ImportError(
            f"coref='maverick' cannot be used ({error}): pip install 'spanreward[coref]'"
        ) from error
