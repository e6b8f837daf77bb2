"""A text's sentences, as characters of the text as given.

split_sentences(["A cat.  It sleeps. "])       # [[(0, 6), (8, 18)]]
"""

from collections.abc import Sequence

from spacy.language import Language
from spacy.util import minibatch

from rewards.language.coref import no_clusters
from rewards.language.parse import BATCH_SIZE, READING, read, readable
from rewards.language.pipeline import load_pipeline

Place = tuple[int, int]


def split_sentences(texts: Sequence[str], pipeline: Language | str | None = None) -> list[list[Place]]:
    """Per text its sentences in order, without white space around them; together they hold all else of the text.

    A text that the pipeline fails on is one sentence, a text of white space none. pipeline: as for `describe`. Raises
    ImportError where it is missing.
    """
    language = pipeline if isinstance(pipeline, Language) else load_pipeline(pipeline)
    short = {text: readable(text, language.max_length) for text in texts}
    found: dict[str, list[Place]] = {}
    for batch in minibatch(dict.fromkeys(filter(None, short.values())), BATCH_SIZE):
        with READING, language.memory_zone():
            for read_text, doc, _ in read(batch, language, no_clusters):
                found[read_text] = [(sent.start_char, sent.end_char) for sent in doc.sents]
    return [_placed(text, short[text], found.get(short[text], [])) for text in texts]


def _placed(text: str, read_text: str, sentences: Sequence[Place]) -> list[Place]:
    """The sentences of the stripped text on the whole one, trimmed."""
    offset = len(text) - len(text.lstrip())
    edges = [start for start, _ in sentences] or [0]
    edges[0] = 0
    places = []
    for start, end in zip(edges, [*edges[1:], len(text) - offset], strict=True):
        said = text[offset + start : offset + end]
        begin = offset + start + len(said) - len(said.lstrip())
        if said.strip():
            places.append((begin, begin + len(said.strip())))
    return places
