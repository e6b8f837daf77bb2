"""What a long text costs grows as it does, and no faster: counted in calls, not in seconds."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from spanreward import MatchJudge, Sample
from spanreward.rewards.judges.match import text_index as ti
from spanreward.rewards.judges.match.text_index import LOOSE_RATING, TextIndex, agreement_of_words
from spanreward.rewards.judges.probe import Mention, PresenceProbe
from spanreward.rewards.language import coref_rules, parse
from spanreward.rewards.language.clusters import References
from spanreward.rewards.language.components import Component, Kind, Role
from spanreward.rewards.language.coref_rules import clusters_by_rule
from spanreward.rewards.language.extract import _Builder, both_graphs
from spanreward.rewards.language.lemmas import lemmas_of_phrase
from spanreward.rewards.language.links import _subjects_of_verb
from spanreward.rewards.language.pipeline import load_pipeline
from spanreward.rewards.language.rules import DEFAULT_RULES
from spanreward.rewards.language.scene_graph import Entity, Relation, SceneGraph
from spanreward.rewards.language.words import Word, read_words
from spanreward.rewards.lave.reward import read_rating
from spanreward.rewards.posh import PoshReward, candidates as candidates_file, components
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.candidates import EntityAnswer, candidate_names
from spanreward.rewards.posh.graph_view import view_graph
from spanreward.rewards.posh.interview import MOST_DETAILS, Interview
from spanreward.rewards.posh.prompts import load_prompts


def chain(count: int, name: str = "dog", relation: str = "on") -> SceneGraph:
    """ "A dog on a dog on a dog ...", each the 1st, 2nd, ..."""
    entities, relations = [], []
    for n in range(count):
        start, order = 9 * n, f"{n}th"
        entities.append(Entity(name, [name], [0], [(start, start + 3)], [order], {order: [0]}))
        relations.append(Relation(n, n + 1, relation, "prep", [0], [(start + 4, start + 6)]))
    return SceneGraph(entities, relations[:-1])


def words_of(text: str) -> list[Word]:
    words, _ = read_words(load_pipeline()(text))
    return words


def counted(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> list[Any]:
    """The calls of a function from now on, by what it is given last."""
    calls: list[Any] = []
    inner = getattr(where, name)

    def outer(*given: Any) -> Any:
        calls.append(given[-1])
        return inner(*given)

    monkeypatch.setattr(where, name, outer)
    return calls


def test_names_of_many_things_of_one_name_read_each_relation_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = chain(200)
    for entity in graph.entities:
        entity.attributes = ["red"]  # tells none from another, so that relations are looked at
    view = view_graph(graph)
    calls = counted(monkeypatch, candidates_file, "_name_of_other")
    wording = load_prompts().precision
    named = [candidate_names(view, number, {}, wording) for number in range(200)]
    assert {candidate.kind for candidate in named[100]} == {"relation"}
    assert len(calls) <= 2 * 200


def test_things_that_no_reference_has_are_compared_by_what_is_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = view_graph(chain(100))
    calls = counted(monkeypatch, components, "statements_about")
    other = SceneGraph([Entity("cat", ["cat"], [0], [(0, 3)])])
    interview = Interview(0, view, "", "", other, load_prompts().precision)
    assert not components.surplus_entities([AnswerSheet(interview)])
    assert len(calls) == 100


def test_a_thing_of_which_much_is_said_is_asked_about_with_some_of_it() -> None:
    entities = [Entity("dog", ["dog"], [0], [(0, 3)], [f"{n:02}th" for n in range(50)])]
    entities += [Entity(f"hat{n}", [f"hat{n}"], [0], [(9 * n, 9 * n + 3)]) for n in range(50)]
    relations = [Relation(0, n + 1, "with", "prep", [0], [(9 * n, 9 * n + 3)]) for n in range(50)]
    graph = SceneGraph(entities, relations)
    interview = Interview(0, view_graph(graph), "", "", chain(2), load_prompts().precision)
    found = {0: EntityAnswer("dog", Mention("dog"), 5.0, True, "")}
    _, mention = interview.detailed_name(0, found, asked_attribute="03th")
    assert mention.details == tuple(f"{n:02}th" for n in range(MOST_DETAILS + 1) if n != 3)
    assert [link.other.head for link in mention.ties] == [f"hat{n}" for n in range(MOST_DETAILS)]
    _, mention = interview.detailed_name(0, found, asked_relation=interview.source.relations[0])
    assert mention.ties[0].other.head == "hat1"


def test_each_mention_is_ranked_once_for_all_pronouns(monkeypatch: pytest.MonkeyPatch) -> None:
    words = words_of("Tom and " * 40 + "Tom sit. " + "He saw him and he saw him and " * 10)
    calls = counted(monkeypatch, coref_rules, "_rank_of_word")
    clusters_by_rule(words)
    assert 0 < len(calls) <= len(words)


def test_a_noun_is_compared_with_those_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    words = words_of(", ".join(f"the b{vowel}t{end}" for vowel in "aeiou" for end in "aeiou"))
    calls = counted(monkeypatch, coref_rules, "_earlier_thing")
    clusters_by_rule(words)
    assert len(calls) > 10
    assert max(map(len, calls)) == 1


def test_a_graph_is_indexed_once_for_all_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch, TextIndex, "_entities_meant")  # called by each new index
    reward = PoshReward("match")
    said, wanted = "A red cat sits on the top of a mat.", "A cat with a hat sits on a mat."
    reward.assess([Sample("", said, references=(wanted,))])
    assert len(calls) == 2
    assert reward.judge._index_by_graph_id == {}  # type: ignore[attr-defined]


class LookedUp(dict[int, Component]):
    """Counts how often a word is looked up, or asked for."""

    count = 0

    def __contains__(self, key: object) -> bool:
        self.count += 1
        return super().__contains__(key)

    def __getitem__(self, key: int) -> Component:
        self.count += 1
        return super().__getitem__(key)


def test_verbs_under_one_verb_do_not_look_through_each_other() -> None:
    words = [
        Word(n, "is", "be", "AUX", "VBZ", "conj" if n else "ROOT", 3 * n, 3 * n + 2, 0)
        for n in range(300)
    ]
    for word in words:
        word.head = words[0]
    words[0].children = words[1:]
    places = LookedUp()
    assert [_subjects_of_verb(word, places) for word in words] == [[]] * 300
    assert places.count <= 2 * 300


EDGE = st.tuples(st.integers(0, 6), st.integers(1, 6)).filter(lambda edge: edge[0] != edge[1])


@settings(max_examples=200, deadline=None)
@given(st.lists(EDGE, unique=True))
def test_the_shortest_ways_are_those_of_all_ways(edges: Any) -> None:
    """From a verb (0) to the prepositions (1 to 6) that hang from it and from one another."""
    steps = verb_and_prepositions(6)
    for start, end in edges:
        steps[start].links.append((steps[end], Role.HAS_PREP))
    builder = _Builder({}, References(), DEFAULT_RULES)
    expected: dict[int, list[int]] = {}
    for path in ([step.id for step in path] for path in builder._all_paths(steps[0])):
        if path[-1] not in expected or len(path) < len(expected[path[-1]]):
            expected[path[-1]] = path
    found = [[step.id for step in path] for path in builder._shortest_paths(steps[0])]
    assert found == sorted(expected.values())


def verb_and_prepositions(count: int) -> list[Component]:
    kinds = (Kind.VERB, *[Kind.PREPOSITION] * count)
    return [Component(kind, None, [], id=number) for number, kind in enumerate(kinds)]  # type: ignore[arg-type]


def test_ways_through_prepositions_are_not_walked_one_by_one() -> None:
    """There are 2 ** 58 of them."""
    steps = verb_and_prepositions(59)
    for step in steps:
        step.links = [(later, Role.HAS_PREP) for later in steps[step.id + 1 :]]
    paths = _Builder({}, References(), DEFAULT_RULES)._shortest_paths(steps[0])
    assert [len(path) for path in paths] == [1] * 59


def test_groups_of_groups_do_not_double_what_is_said_of_the_last() -> None:
    """Each group is of the next two."""
    entities, relations = [], []
    for n in range(40):
        entities.append(Entity("group", ["group"], [0], [(9 * n, 9 * n + 5)], ["red", "large"]))
        ends = [end for end in (n + 1, n + 2) if n < 38]
        relations += [Relation(n, end, "of", "prep", [0], [(0, 2)]) for end in ends]
    index = TextIndex(SceneGraph(entities, relations))
    assert max(map(len, index.attributes)) == 3  # red, large, group


SAID = ("on", "near", "hold", "of", "chase", "above", "with")
SAYING = st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from(SAID))
PLACES = st.lists(st.integers(0, 4), min_size=1, unique=True)


def of_pair(index: TextIndex, subject: int, object_: int, words: frozenset[str]) -> float:
    """What is said of two things, by going through all that is said of either."""
    if subject == object_ and (subject, object_) not in index.relations:
        same = ti.OF_LEMMA | ti.PART_OF_LEMMAS | ti.WITHIN_LEMMAS | ti.HAVE_LEMMAS
        return ti.REWORDED_RATING if words <= same else ti.ABSENT_RATING
    said = list(index.relations.get((subject, object_), []))
    if words <= ti.SYMMETRIC_RELATIONS:
        said += index.relations.get((object_, subject), [])
    best = max((agreement_of_words(words, other) for other in said), default=ti.ABSENT_RATING)
    if best > ti.ABSENT_RATING or object_ in index.linked[subject]:
        return best if best > ti.ABSENT_RATING else ti.WRONG_RATING
    if not words - ti.POSTURE_LEMMAS - ti.PLACE_PREPOSITIONS - ti.WITHIN_LEMMAS <= index.words:
        return ti.ABSENT_RATING
    for pair, several in index.relations.items():
        of_either = pair[0] == subject or pair[1] == object_
        if of_either and any(agreement_of_words(words, one) > ti.ABSENT_RATING for one in several):
            return ti.WRONG_RATING
    return LOOSE_RATING


@settings(max_examples=300, deadline=None)
@given(st.lists(SAYING, max_size=8), st.sampled_from(SAID), PLACES, PLACES)
def test_a_relation_is_the_best_of_all_pairs(
    said: Any, asked: str, subjects: list[int], objects: list[int]
) -> None:
    entities = [Entity("dog", ["dog"], [0], [(9 * n, 9 * n + 3)]) for n in range(5)]
    relations = [Relation(start, end, words, "prep", [0], [(0, 2)]) for start, end, words in said]
    index, words = (
        TextIndex(SceneGraph(entities, relations, ["Dogs chase."])),
        lemmas_of_phrase(asked),
    )
    best = max(of_pair(index, s, o, words) for s in subjects for o in objects)
    assert index._relation_rating(subjects, objects, words) == best


def test_pairs_of_which_nothing_is_said_are_not_gone_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = TextIndex(chain(200))
    calls = counted(monkeypatch, TextIndex, "_pair_rating")
    seen = index.rating(PresenceProbe("", "relation", Mention("dog"), "above", Mention("dog")))
    assert seen == LOOSE_RATING
    assert 0 < len(calls) <= 3 * 200


def test_an_answer_of_line_breaks_is_read() -> None:
    assert read_rating("\n" * 300_000 + "\x00") is None
    assert read_rating("\n" * 300_000 + "Rated:\n\n3\n" + "\n" * 300_000) == 3
    assert read_rating("2\n\n \n  Question: what?\n3") == 2


@pytest.mark.parametrize("count", [100, 200])
def test_each_mention_of_one_thing_is_looked_up_a_few_times(count: int) -> None:
    words = [Word(n, "dog", "dog", "NOUN", "NN", "ROOT", 4 * n, 4 * n + 3, 0) for n in range(count)]
    components = [Component(Kind.NOUN, word, [word], id=word.index) for word in words]
    places = LookedUp(enumerate(components))
    references = References(dict.fromkeys(range(count), 0), {0: list(range(count))})
    builder = _Builder(places, references, DEFAULT_RULES)
    builder.build(components)
    assert [len(entity.heads) for entity in builder.entities] == [count]
    assert places.count <= 3 * count


def lines_run(work: Callable[[], Any]) -> int:
    """How many lines of Python run, those of loops once for each round."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


# texts of one kind, and what is said over and over: {n} is its place
GROWING = {
    "prose": "A man in a red coat sits on bench {n}. He reads, and his dog sleeps beside him. ",
    "one thing mentioned often": "The red dog sits. It looks at the dog and the cat. ",
    "many attributes": "The man is a{n}. The b{n} man is old and wet. ",
    "a long list": "a cup and ",
    "a list with commas": "a red cup, ",
    "denials": "There is no dog. The cat is not red. ",
    "alternatives": "A red or blue dog sits or stands. ",
    "a chain": "the man of ",
}


@pytest.mark.parametrize("kind", GROWING)
def test_the_work_for_both_graphs_doubles_with_the_text(kind: str) -> None:
    def work(count: int) -> int:
        text = "".join(GROWING[kind].format(n=place) for place in range(count))
        words, sentences = read_words(load_pipeline()(text))

        def graphs() -> None:
            both_graphs(words, sentences, clusters_by_rule(words), DEFAULT_RULES)

        return lines_run(graphs)

    work(4)  # fills the caches of lemmas
    assert work(200) <= 2.2 * work(100)


def test_words_are_read_once_a_text_and_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    docs = counted(monkeypatch, parse, "read_words")
    for count in (10, 20):
        docs.clear()
        text = "A red or blue dog sits on the mat. " * count
        PoshReward(MatchJudge()).assess([Sample("", "A dog.", references=(text,))])
        assert sorted(map(len, docs)) == [3, 10 * count]
