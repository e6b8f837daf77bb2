"""Coreference by Maverick, the neural model that the published metric uses.

    clusters = maverick_clusters([nlp("A red circle is here. It is above a square.")])

It is in the extra `coref` and loads its weights from the Hugging Face hub at the first use: 2 GB (a pickled checkpoint,
CC BY-NC-SA 4.0). This adapter was never run with the real model. It follows the source of maverick-coref 1.0.7, and the
tests use a stand-in with known clusters. maverick-coref needs protobuf==3.20, so it cannot be installed beside vLLM:
the judge stands behind a server then (server:URL#MODEL).
"""

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from spacy.tokens import Doc

from spanreward.rewards.language.clusters import Cluster


def maverick_clusters(docs: Sequence[Doc]) -> list[list[Cluster]]:
    """Asks Maverick as the published code does: text by text, with the words of every sentence."""
    return [_clusters_of(doc) if len(doc) else [] for doc in docs]


def maverick_class() -> Any:
    """Returns the package's class. Raises ImportError, which says what to install."""
    try:
        return import_module("maverick").Maverick
    except ImportError as error:
        raise ImportError(f"coref='maverick' cannot be used ({error}): pip install 'spanreward[coref]'") from error


def _clusters_of(doc: Doc) -> list[Cluster]:
    """Returns the clusters of a text with words, without mentions that end outside it (on the model's own marks)."""
    answer = _maverick().predict([[token.text for token in sentence] for sentence in doc.sents])
    return [
        [[first, last] for first, last in cluster if first is not None and last is not None]
        for cluster in answer["clusters_token_offsets"]
    ]


@lru_cache(maxsize=1)
def _maverick() -> Any:
    import torch

    return maverick_class()(device="cuda" if torch.cuda.is_available() else "cpu")
