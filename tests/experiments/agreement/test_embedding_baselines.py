"""The embedding baselines of the PoSh paper, with a stand-in for the model: alike is equal."""

from typing import Any
from zlib import crc32

import numpy as np
import pytest

from experiments.agreement.embedding_baselines import FourGrams, GraphPieces, around, four_grams, graph_pieces
from experiments.match_embed.word_vectors import Embedder
from spanreward.rewards.base.verdict import Sample, Status
from spanreward.rewards.language.parse import describe
from spanreward.rewards.posh.scores import f1


class Equal(Embedder):
    def __init__(self) -> None:
        super().__init__(folder="none")

    def _compute(self, texts: Any) -> Any:
        return np.eye(4096)[[crc32(text.lower().encode()) % 4096 for text in texts]]


def test_four_grams() -> None:
    text = " A red circle is here. Hello you!"
    assert [piece.words for piece in four_grams(text)] == ["A red circle is", "red circle is here", "Hello you"]
    assert [text[start:end] for piece in four_grams(text) for start, end in piece.places] == [
        piece.words for piece in four_grams(text)
    ]
    assert four_grams(" ... \n") == []


def test_graph_pieces() -> None:
    (graph,) = describe(["A red circle is above a box."])
    assert [(piece.kind, piece.words) for piece in graph_pieces(graph)] == [
        ("entity", "circle"), ("attribute", "red circle"), ("entity", "box"), ("relation", "circle above box"),
    ]  # fmt: skip


def test_a_score_is_one_half_at_the_threshold() -> None:
    assert [around(cosine, 0.8) for cosine in (0.0, 0.4, 0.8, 0.9, 1.0)] == pytest.approx([0, 0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize("metric", [FourGrams, GraphPieces])
def test_what_the_reference_says_too_is_right(metric: Any) -> None:
    text, reference = "A red circle is above a box.", "A blue circle is above a box."
    (same, other) = metric(Equal()).assess(
        [Sample("", text, references=(text,)), Sample("", text, references=(reference,))]
    )
    assert same.score == pytest.approx(1.0)
    assert all(span.score == pytest.approx(1.0) for span in same.spans)
    wrong = {text[span.start : span.end] for span in other.spans if span.score < 0.5}
    assert any("red" in words for words in wrong)
    assert any("blue" in reference[span.start : span.end] for span in other.missed)
    assert all((span.credit < 0) == (span.score < 0.5) for span in other.spans)


def test_scores_by_hand() -> None:
    # pieces of the completion: circle, red circle, box; of the references: circle, blue circle | box
    (verdict,) = GraphPieces(Equal()).assess(
        [Sample("", "A red circle. A box.", references=("A blue circle.", "A box."))]
    )
    assert verdict.parts["precision"] == pytest.approx(2 / 3)
    assert (verdict.parts["recall"], verdict.reference) == (pytest.approx(1.0), 1)
    assert verdict.score == pytest.approx(f1(2 / 3, 1.0))


def test_nothing_to_compare() -> None:
    empty, pointless = FourGrams(Equal()).assess([Sample("", "...", references=("A box.",)), Sample("", "A box.")])
    assert (empty.score, empty.status) == (0.0, Status.EMPTY)
    assert (pointless.score, pointless.status) == (None, Status.NOT_APPLICABLE)
