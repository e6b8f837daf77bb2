"""Texts in, scene graphs out.

    parse_graphs(["A red circle above a square."])[0].relations[0].relation     # "above"

`parse_graphs` takes coreference as given and, by default, is the published extractor. `describe` is what the rewards
use: it parses once, finds coreference itself and follows the rules of the default mode.
"""

import re
from collections.abc import Sequence

from spacy.language import Language
from spacy.tokens import Doc

from rewards.language.clusters import Cluster
from rewards.language.coref import find_clusters
from rewards.language.extract import graph_of
from rewards.language.pipeline import load_pipeline
from rewards.language.rules import Mode, Rules
from rewards.language.scene_graph import SceneGraph

BATCH_SIZE = 64
SURROGATE = re.compile("[\ud800-\udfff]")


def parse_graphs(
    texts: Sequence[str],
    pipeline: Language | str | None = None,
    clusters: Sequence[Sequence[Cluster]] | None = None,
    mode: Mode = "published",
) -> list[SceneGraph]:
    """One scene graph per text; spans are characters of the text as given.

    clusters: None, or per text its coreference clusters, each a list of mentions [first, last]: token numbers, both
    inclusive, over the tokens of the stripped text. A text without words gives an empty graph.
    Raises ValueError when there is not one list of clusters per text.
    """
    rules = Rules.of(mode)
    if clusters is None:
        clusters = [()] * len(texts)
    if len(clusters) != len(texts):
        raise ValueError(f"clusters are given per text: got {len(clusters)} lists for {len(texts)} texts")
    return _graphs(texts, parse_docs(texts, pipeline), clusters, rules)


def describe(
    texts: Sequence[str],
    pipeline: Language | str | None = None,
    coref: str = "rules",
    mode: Mode = "default",
) -> list[SceneGraph]:
    """One scene graph per text, with coreference found by the method `coref`, see `find_clusters`."""
    rules = Rules.of(mode)
    docs = parse_docs(texts, pipeline)
    return _graphs(texts, docs, find_clusters(docs, coref), rules)


def parse_docs(texts: Sequence[str], pipeline: Language | str | None = None) -> list[Doc]:
    """The stripped texts, parsed. Lone surrogates are read as U+FFFD, and nothing past the parser's longest text."""
    language = pipeline if isinstance(pipeline, Language) else load_pipeline(pipeline)
    readable = [SURROGATE.sub("\ufffd", text.strip()[: language.max_length]) for text in texts]
    distinct = list(dict.fromkeys(readable))  # the completions of one prompt often share their reference
    docs = dict(zip(distinct, language.pipe(distinct, batch_size=BATCH_SIZE), strict=True))
    return [docs[text] for text in readable]


def _graphs(
    texts: Sequence[str], docs: Sequence[Doc], clusters: Sequence[Sequence[Cluster]], rules: Rules
) -> list[SceneGraph]:
    return [
        graph_of(doc, own_clusters, rules, offset=len(text) - len(text.lstrip()))
        for text, doc, own_clusters in zip(texts, docs, clusters, strict=True)
    ]
