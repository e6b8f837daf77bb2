"""EmbeddingMatchJudge: other words for the same, with a stand-in and with the model."""

import pickle
from importlib.util import find_spec
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from experiments.match_embed import word_vectors
from experiments.match_embed.judge import EmbeddingMatchJudge
from experiments.match_embed.word_vectors import Embedder
from spanreward.rewards.judges import Question, load_judge
from spanreward.rewards.judges.probe import Mention, PresenceProbe
from spanreward.training.experimental.judge_training import fit

MEANINGS = {"couch": "sofa", "grin": "smile", "crimson": "red", "blue": "red", "beneath": "above"}
TEXT = "A woman on a red sofa. She smiles at a dog above a box."


class Dictionary(Embedder):
    """Cosine 1 where MEANINGS says that two phrases are one, 0.5 if they begin alike, else 0."""

    def __init__(self) -> None:
        super().__init__(folder="none")
        self.computed: list[str] = []

    def _compute(self, texts: Any) -> Any:
        self.computed += texts
        meanings = [MEANINGS.get(text, text) for text in texts]
        letters = np.eye(128)[[ord(text[0]) for text in meanings]]
        whole = np.eye(4096)[[crc32(text.encode()) % 4096 for text in meanings]]
        return np.concatenate([letters, whole], axis=1) / np.sqrt(2)


def ratings(*probes: PresenceProbe) -> list[float]:
    judge = EmbeddingMatchJudge(embedder=Dictionary())
    answers = judge.rate([Question([], probe=probe) for probe in probes])
    return [pytest.approx(answer.mean) for answer in answers]


def things(*names: str) -> list[PresenceProbe]:
    return [PresenceProbe(TEXT, "entity", Mention(name)) for name in names]


def test_other_words_are_found_and_foreign_ones_rank_lowest() -> None:
    assert ratings(*things("sofa", "couch", "soap", "tree")) == [5, 4, 1.5, 1]


def test_details_of_other_words() -> None:
    couch = Mention("couch")
    red, blue, crimson = (
        PresenceProbe(TEXT, "attribute", couch, words) for words in ("red", "blue", "crimson")
    )
    assert ratings(red, crimson, blue) == [4, 4, 1]  # a colour is not excused by its likeness
    on, under = (
        PresenceProbe(TEXT, "relation", Mention("woman"), words, couch) for words in ("on", "under")
    )
    assert ratings(on, under) == [4, 1]
    beneath = PresenceProbe(TEXT, "relation", Mention("dog"), "beneath", Mention("box"))
    assert ratings(beneath) == [1]  # nor a preposition


def test_one_at_a_time_is_as_all_together() -> None:
    probes = things("couch", "soap", "tree", "box")
    assert ratings(*probes) == [rating for probe in probes for rating in ratings(probe)]


def test_each_phrase_is_embedded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = Dictionary()
    judge = EmbeddingMatchJudge(embedder=embedder)
    question = Question([], probe=things("couch")[0])
    first = judge.rate([question, question])
    assert judge.rate([question]) == first[:1]
    assert len(embedder.computed) == len(set(embedder.computed)) > 0
    monkeypatch.setattr(word_vectors, "REMEMBERED", 2)
    embedder.embed(["a", "b", "c"])
    assert list(embedder._known) == ["b", "c"]
    assert pickle.loads(pickle.dumps(judge)).rate([question]) == first[:1]


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"spanreward\[embed\]"):
        load_judge("experiments/match_embed/judge.py:EmbeddingMatchJudge")


@pytest.mark.skipif(
    find_spec(fit.MINILM_PACKAGE) is None, reason="the extra embed is not installed"
)
def test_the_packaged_model() -> None:
    cosines = Embedder().cosines(["sofa"], ["couch", "dog", "sofa"])
    expected = [pytest.approx(0.856, abs=0.002), pytest.approx(0.3, abs=0.2), pytest.approx(1.0)]
    assert cosines[0].tolist() == expected
