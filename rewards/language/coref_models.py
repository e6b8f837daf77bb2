"""Coreference by neural models: Maverick, which the published metric uses, and F-coref, which is faster.

    clusters = maverick_clusters([nlp("A red circle is here. It is above a square.")])

Both are in the extra `coref` and load their weights from the Hugging Face hub at the first use: 2 GB for Maverick (a
pickled checkpoint, CC BY-NC-SA 4.0) and 0.4 GB for F-coref. These adapters were never run with the real models. They
follow the sources of maverick-coref 1.0.7 and fastcoref 2.1.6, and the tests use stand-ins with known clusters.
maverick-coref needs protobuf==3.20, so it cannot be installed beside vLLM. Run it behind a server then (reader.py).
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import spacy
from spacy.tokens import Doc

from spanreward.rewards.language.clusters import Cluster


def import_package(name: str) -> ModuleType:
    """Returns the package "maverick" or "fastcoref". Raises ImportError, which says what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"coref={name!r} cannot be used ({error}): pip install 'spanreward[coref]'") from error


def maverick_clusters(docs: Sequence[Doc]) -> list[list[Cluster]]:
    """Asks Maverick as the published code does: text by text, with the words of every sentence."""
    return [maverick_clusters_of(doc) if len(doc) else [] for doc in docs]


def maverick_clusters_of(doc: Doc) -> list[Cluster]:
    """Returns the clusters of a text with words, without mentions that end outside it (on the model's own marks)."""
    answer = _maverick().predict([[token.text for token in sentence] for sentence in doc.sents])
    return [
        [[first, last] for first, last in cluster if first is not None and last is not None]
        for cluster in answer["clusters_token_offsets"]
    ]


def fastcoref_clusters(docs: Sequence[Doc]) -> list[list[Cluster]]:
    """Asks F-coref about all texts that have words, in one call.

    Its mentions are characters. A mention becomes the tokens that it touches, and is left out where it touches none.
    """
    asked = [number for number, doc in enumerate(docs) if doc.text.strip()]
    clusters: list[list[Cluster]] = [[] for _ in docs]
    answers = _fastcoref().predict(texts=[docs[number].text for number in asked]) if asked else []
    for number, answer in zip(asked, answers, strict=True):
        clusters[number] = [
            [tokens for mention in cluster if mention is not None and (tokens := tokens_of(docs[number], *mention))]
            for cluster in answer.get_clusters(as_strings=False)
        ]
    return clusters


def tokens_of(doc: Doc, start: int, end: int) -> list[int] | None:
    """Returns the first and the last token that the characters [start, end) touch, None where they touch none."""
    touched = [token.i for token in doc if max(start, token.idx) < min(end, token.idx + len(token))]
    return [touched[0], touched[-1]] if touched else None


@lru_cache(maxsize=1)
def _maverick() -> Any:
    import torch

    return import_package("maverick").Maverick(device="cuda" if torch.cuda.is_available() else "cpu")


@lru_cache(maxsize=1)
def _fastcoref() -> Any:
    """Loads F-coref with spaCy's plain tokenizer. Without the argument `nlp` it downloads en_core_web_sm."""
    with kept_randomness():
        return import_package("fastcoref").FCoref(nlp=spacy.blank("en"), enable_progress_bar=False)


@contextmanager
def kept_randomness() -> Iterator[None]:
    """Restores all random states: F-coref seeds them with 42 as it loads, and all ranks would sample alike after it."""
    import torch

    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng():
        yield
    random.setstate(of_python)
    np.random.set_state(of_numpy)  # noqa: NPY002
