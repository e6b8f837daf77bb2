"""The embedding baselines of the PoSh paper, with a stand-in for the model: alike is equal."""

from random import Random
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from experiments.agreement import embedding_baselines as baselines
from experiments.labels.judgments import Judgment
from experiments.match_embed.word_vectors import Embedder
from spanreward.rewards.base.verdict import Sample, Status
from spanreward.rewards.language.parse import scene_graphs
from spanreward.rewards.posh.scores import f1


class Equal(Embedder):
    def __init__(self) -> None:
        super().__init__(folder="none")

    def _compute(self, texts: Any) -> Any:
        return np.eye(4096)[[crc32(text.lower().encode()) % 4096 for text in texts]]


def test_four_grams() -> None:
    text = " A red circle is here. Hello you!"
    expected = ["A red circle is", "red circle is here", "Hello you"]
    assert [piece.words for piece in baselines.four_grams(text)] == expected
    for piece in baselines.four_grams(text):
        assert [text[start:end] for start, end in piece.places] == [piece.words]
    assert baselines.four_grams(" ... \n") == []


def test_graph_pieces() -> None:
    (graph,) = scene_graphs(["A red circle is above a box."])
    expected = [("entity", "circle"), ("attribute", "red circle"), ("entity", "box")]
    expected.append(("relation", "circle above box"))
    assert [(piece.kind, piece.words) for piece in baselines.graph_pieces(graph)] == expected


def test_a_score_is_one_half_at_the_threshold() -> None:
    scores = [baselines.around(cosine, 0.8) for cosine in (0.0, 0.4, 0.8, 0.9, 1.0)]
    assert scores == pytest.approx([0, 0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize("metric", [baselines.FourGrams, baselines.GraphPieces])
def test_what_the_reference_says_too_is_right(metric: Any) -> None:
    text, reference = "A red circle is above a box.", "A blue circle is above a box."
    samples = [Sample("", text, references=(one,)) for one in (text, reference)]
    same, other = metric(Equal()).assess(samples)
    assert same.score == pytest.approx(1.0)
    assert all(span.score == pytest.approx(1.0) for span in same.spans)
    wrong = {text[span.start : span.end] for span in other.spans if span.score < 0.5}
    assert any("red" in words for words in wrong)
    assert any("blue" in reference[span.start : span.end] for span in other.missed)
    assert all((span.credit < 0) == (span.score < 0.5) for span in other.spans)


def test_runs_of_spacy_tokens() -> None:
    text = "It's a red circle. No run."
    expected = ["It's a red", "'s a red circle", "a red circle."]
    assert [text[start:end] for start, end in baselines.token_runs(text)] == expected


def test_the_baselines_of_table_2() -> None:
    """A token has (cosine + 1) / 2 of the best run that holds it; a component's words likewise."""
    text = "A red circle is above. No run."
    runs, graphs = baselines.of_table_2(Equal())
    (verdict,) = runs.assess([Sample("", text, references=("A red circle is above a box.",))])
    best = {text[span.start : span.end]: span.score for span in verdict.spans}
    expected = {"A red circle is": 1.0, "red circle is above": 1.0, "circle is above.": 0.5}
    assert best == pytest.approx({**expected, "No": 0.0, "run": 0.0})
    said = Sample("", "A red circle.", references=("A blue circle.",))
    (verdict,) = graphs.assess([said])
    for spans in (verdict.spans, verdict.missed):
        found = {(span.kind, round(span.score, 6)) for span in spans}
        assert found == {("entity", 1.0), ("attribute", 0.5)}


def test_chance_is_one_draw_a_token_in_the_keys_order() -> None:
    def record(group: str, model: str, text: str) -> Judgment:
        return Judgment("", group, (Sample("", text, references=("A box.",)),), systems=(model,))

    one, two = baselines.random_verdicts(
        [record("p2", "m", "A dog."), record("p1", "m", "A cat sits.")]
    )
    drawn = Random(42)
    for (verdict,), said in ((two, 3), (one, 2)):
        assert [span.score for span in verdict.spans] == [drawn.random() for _ in range(said)]
        assert [span.score for span in verdict.missed] == [drawn.random() for _ in range(2)]


def test_scores_by_hand() -> None:
    # pieces of the completion: circle, red circle, box; of the references: circle, blue circle |
    # box
    sample = Sample("", "A red circle. A box.", references=("A blue circle.", "A box."))
    (verdict,) = baselines.GraphPieces(Equal()).assess([sample])
    assert verdict.parts["precision"] == pytest.approx(2 / 3)
    assert (verdict.parts["recall"], verdict.reference) == (pytest.approx(1.0), 1)
    assert verdict.score == pytest.approx(f1(2 / 3, 1.0))


def test_nothing_to_compare() -> None:
    samples = [Sample("", "...", references=("A box.",)), Sample("", "A box.")]
    empty, pointless = baselines.FourGrams(Equal()).assess(samples)
    assert (empty.score, empty.status) == (0.0, Status.EMPTY)
    assert (pointless.score, pointless.status) == (None, Status.NOT_APPLICABLE)
