"""The PoSh paper's baselines for spans: embeddings are compared and no judge is asked (section 5
and A.3.3).

    FourGrams().assess([Sample("", "A red circle above a box.", references=("A blue circle on a box.",))])[0].spans

A text is cut into pieces: runs of four words (4GramEmbed) or the components of its scene graph
(SGEmbed). A piece is rated by its largest cosine with any piece of the other text. The paper embeds
with Qwen3-Embedding-8B; here any sentence-transformers model with mean pooling serves. The paper
gives no coarse scores; those here are mean cosines. `of_table_2` returns both as the paper's script
has them, and `random_verdicts` its third baseline.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from experiments.labels.judgments import Judgment
from experiments.labels.span_statistics import token_flags, token_places
from experiments.match_embed.word_vectors import Embedder
from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.language.parse import scene_graphs, split_sentences
from spanreward.rewards.language.scene_graph import CharacterSpan, SceneGraph
from spanreward.rewards.posh.components import mention_spans
from spanreward.rewards.posh.scores import RATING_LEVELS, credit_of_component, f1
from spanreward.rewards.reward.reward import Reward

RUN = 4
SEED = 42  # of chance
_SENTENCE = re.compile(r"[^.!?\n]+")
_WORD = re.compile(r"[\w'\u2019-]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """Something a text says: `words` are embedded, `places` are the characters that say it."""

    kind: str
    words: str
    places: tuple[CharacterSpan, ...]


class EmbeddingReward(Reward):
    """Reward that compares embedded pieces of the texts.

    threshold: pieces with a lower cosine are wrong; at it a span's score is 0.5. With 0 a span's
    score is (cosine + 1) / 2. Precision is the mean over the completion's pieces of the largest
    cosine (from 0 up) with any reference's piece; recall is the same over the pieces of the
    reference with the best F1. Raises ImportError without the extra `embed`, unless an embedder is
    given.
    """

    columns = ("reference",)
    main_parts = ("f1", "precision", "recall")

    def __init__(self, name: str, threshold: float, embedder: Embedder | None = None) -> None:
        super().__init__(name)
        self.threshold = threshold
        self.embedder = embedder or Embedder()

    def pieces(self, texts: Sequence[str]) -> list[list[Piece]]:
        raise NotImplementedError(f"{type(self).__name__} must define pieces(texts)")

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        texts = list(
            dict.fromkeys(
                text for sample in samples for text in (sample.completion, *sample.references)
            )
        )
        pieces = dict(zip(texts, self.pieces(texts), strict=True))
        # all at once
        self.embedder.embed([piece.words for several in pieces.values() for piece in several])
        return [
            self._verdict(
                sample, pieces[sample.completion], [pieces[text] for text in sample.references]
            )
            for sample in samples
        ]

    def _verdict(
        self, sample: Sample, said: Sequence[Piece], references: Sequence[Sequence[Piece]]
    ) -> Verdict:
        if not any(references):
            return Verdict(None, Status.NOT_APPLICABLE, note="no reference that says anything")
        if not said:
            return Verdict(
                0.0,
                Status.EMPTY,
                {"precision": 0.0, "recall": 0.0, "f1": 0.0},
                note="nothing is said",
            )
        supported = self._likeness(said, [piece for pieces in references for piece in pieces])
        precision = mean(supported)
        covered = [self._likeness(pieces, said) if pieces else np.zeros(1) for pieces in references]
        best = max(range(len(references)), key=lambda i: f1(precision, mean(covered[i])))
        recall, wanted = mean(covered[best]), references[best]
        credits = [
            credit_of_component(
                RATING_LEVELS * s, precision, recall, len(said), len(wanted), "precision"
            )
            for s in supported.clip(0).tolist()
        ]
        return Verdict(
            score=f1(precision, recall),
            parts={"precision": precision, "recall": recall, "f1": f1(precision, recall)},
            spans=self._spans(said, supported, credits, sample.completion),
            missed=self._spans(wanted, covered[best], [0.0] * len(wanted), sample.references[best]),
            reference=best,
        )

    def _likeness(self, pieces: Sequence[Piece], others: Sequence[Piece]) -> np.ndarray:
        """Returns, per piece, the largest cosine with any of the others, in [-1, 1]."""
        cosines = self.embedder.cosines(
            [piece.words for piece in pieces], [piece.words for piece in others]
        )
        return cosines.max(axis=1).clip(-1.0, 1.0)

    def _spans(
        self, pieces: Sequence[Piece], likeness: np.ndarray, credits: Sequence[float], text: str
    ) -> tuple[Span, ...]:
        return tuple(
            Span(
                start,
                end,
                around(cosine, self.threshold),
                worth,
                piece.kind,
                f"{piece.words}: {cosine:.2f}",
                number,
            )
            for number, (piece, cosine, worth) in enumerate(
                zip(pieces, likeness.tolist(), credits, strict=True)
            )
            for start, end in mention_spans(piece.places, text)
        )


class FourGrams(EmbeddingReward):
    """4GramEmbed: every run of four words of a sentence; a shorter sentence is one piece.

    Threshold as published.
    """

    def __init__(
        self, embedder: Embedder | None = None, threshold: float = 0.7, name: str = "4grams"
    ) -> None:
        super().__init__(name, threshold, embedder)

    def pieces(self, texts: Sequence[str]) -> list[list[Piece]]:
        return [four_grams(text) for text in texts]


class TokenRuns(FourGrams):
    """4GramEmbed as in the paper's table 2: runs of four spaCy tokens of a sentence.

    Tokens in none have score 0.
    """

    def pieces(self, texts: Sequence[str]) -> list[list[Piece]]:
        return [
            [Piece("4-gram", text[a:b], ((a, b),)) for a, b in token_runs(text)] for text in texts
        ]

    def _spans(
        self, pieces: Sequence[Piece], likeness: np.ndarray, credits: Sequence[float], text: str
    ) -> tuple[Span, ...]:
        spans = super()._spans(pieces, likeness, credits, text)
        held = token_flags(places := token_places(text), token_runs(text))
        alone = [place for place, known in zip(places, held, strict=True) if not known]
        return (
            *spans,
            *(
                Span(*place, 0.0, 0.0, "none", "in no run of four tokens", len(pieces))
                for place in alone
            ),
        )


class GraphPieces(EmbeddingReward):
    """SGEmbed: objects, attribute-object pairs and object-relation-object triples.

    Threshold as published.
    """

    def __init__(
        self,
        embedder: Embedder | None = None,
        threshold: float = 0.8,
        pipeline: Any = None,
        coref: Any = "rules",
        name: str = "scene_graphs",
    ) -> None:
        super().__init__(name, threshold, embedder)
        self.pipeline = pipeline
        self.coref = coref

    def pieces(self, texts: Sequence[str]) -> list[list[Piece]]:
        return [
            graph_pieces(graph)
            for graph in scene_graphs(texts, pipeline=self.pipeline, coref=self.coref)
        ]


def of_table_2(embedder: Embedder | None = None) -> list[EmbeddingReward]:
    """The two baselines of PoSh's table 2.

    Raises ImportError without the extra `embed`, unless one is given.
    """
    return [TokenRuns(embedder, threshold=0.0), GraphPieces(embedder, threshold=0.0)]


def random_verdicts(records: Sequence[Judgment]) -> list[tuple[Verdict, ...]]:
    """Chance, per record: every token's score is uniform in [0, 1], from seed 42, by picture and
    model in their order, mistakes before omissions (PoSh, table 2).
    """
    generator = Random(SEED)

    def spans(text: str) -> tuple[Span, ...]:
        return tuple(
            Span(*place, generator.random(), 0.0, "chance", "", number)
            for number, place in enumerate(token_places(text))
        )

    def key(number: int) -> str:
        return "-".join((records[number].group, *records[number].systems))

    found = {}
    for number in sorted(range(len(records)), key=key):
        sample = records[number].samples[0]
        said = spans(sample.completion)
        found[number] = (
            Verdict(
                0.5, spans=said, missed=spans(sample.references[0]) if sample.references else ()
            ),
        )
    return [found[number] for number in range(len(records))]


def mean(cosines: np.ndarray) -> float:
    """Of cosines from 0 up."""
    return float(cosines.clip(0.0).mean())


def around(cosine: float, threshold: float) -> float:
    """Maps a cosine to a score in [0, 1]: 0.5 at the threshold (below 1), linear on both sides.
    Below 0 it is 0, unless the threshold is 0.
    """
    if threshold == 0:
        return (cosine + 1) / 2
    if cosine < threshold:
        return max(0.5 * cosine / threshold, 0.0)
    return 0.5 + 0.5 * (cosine - threshold) / (1 - threshold)


def token_runs(text: str) -> list[CharacterSpan]:
    """Returns the characters of every run of RUN spaCy tokens of a sentence, signs too."""
    (sentences,) = split_sentences([text])
    runs = []
    for start, end in sentences:
        places = [(start + a, start + b) for a, b in token_places(text[start:end], signs=True)]
        runs += [
            (first[0], last[1]) for first, last in zip(places, places[RUN - 1 :], strict=False)
        ]
    return runs


def four_grams(text: str) -> list[Piece]:
    pieces = []
    for sentence in _SENTENCE.finditer(text):
        words = [match.span() for match in _WORD.finditer(text, *sentence.span())]
        for first in range(max(len(words) - RUN + 1, min(len(words), 1))):
            start, end = words[first][0], words[min(first + RUN, len(words)) - 1][1]
            pieces.append(Piece("4-gram", text[start:end], ((start, end),)))
    return pieces


def graph_pieces(graph: SceneGraph) -> list[Piece]:
    """Returns the objects, each followed by its attributes, then the triples, in words."""
    pieces = []
    for entity in graph.entities:
        pieces.append(Piece("entity", entity.head, tuple(entity.text_spans)))
        for attribute, places in entity.attribute_text_spans.items():
            pieces.append(Piece("attribute", f"{attribute} {entity.head}", tuple(places)))
    for relation in graph.relations:
        subject, other = graph.entities[relation.subject].head, graph.entities[relation.object].head
        pieces.append(
            Piece("relation", f"{subject} {relation.relation} {other}", tuple(relation.text_spans))
        )
    return pieces
