"""Every rule of the default mode, switched on alone, against the published extractor."""

from dataclasses import fields

import pytest

from spanreward.rewards.language.extract import graph_of
from spanreward.rewards.language.rules import DEFAULT_RULES, PUBLISHED_RULES, Rules
from spanreward.rewards.language.words import read_words
from tests.support.parsed import shown, spelled
from tests.support.paths import ROOT

# a rule and a parse; in the line below the graph without the rule, and with it
CASES = """
copula_relations: The/DET/det/1 boat/NOUN/nsubj/2 is/AUX/ROOT/2/be in/ADP/prep/2 the/DET/det/5 water/NOUN/pobj/3
boat water => boat water; (boat, in, water)
# the place hangs from the verb
copula_relations: there/PRON/expl/1 is/VERB/ROOT/1/be circles/NOUN/attr/1 at/ADP/prep/1 tops/NOUN/pobj/3
circles tops => circles tops; (circles, at, tops)
# the place hangs from the noun
copula_relations: there/PRON/expl/1 is/VERB/ROOT/1/be circles/NOUN/attr/1 at/ADP/prep/2 tops/NOUN/pobj/3
circles tops; (circles, at, tops) => circles tops; (circles, at, tops)
# an auxiliary is no copula
copula_relations: cups/NOUN/nsubjpass/2 are/AUX/auxpass/2/be held/VERB/ROOT/2 by/ADP/agent/2 men/NOUN/pobj/3
cups men; (cups, held by, men) => cups men; (cups, held by, men)
own_subjects: cats/NOUN/nsubj/1 are/AUX/ROOT/1/be here/ADV/advmod/1 and/CCONJ/cc/1 dogs/NOUN/nsubj/5 sit/VERB/conj/1/sit in/ADP/prep/5 water/NOUN/pobj/6
cats dogs water; (cats, sit in, water) (dogs, sit in, water) => cats dogs water; (dogs, sit in, water)
own_prepositions: men/NOUN/nsubj/1 sit/VERB/ROOT/1 on/ADP/prep/1 benches/NOUN/pobj/2 under/ADP/prep/1 trees/NOUN/pobj/4
men benches trees; (men, sit on, benches) (men, sit on under, trees) => men benches trees; (men, sit on, benches) (men, sit under, trees)
# prepositions in a row are one way
own_prepositions: dogs/NOUN/nsubj/1 look/VERB/ROOT/1 from/ADP/prep/1 behind/ADP/prep/2 trees/NOUN/pobj/3
dogs trees; (dogs, look from behind, trees) => dogs trees; (dogs, look from behind, trees)
own_prepositions: birds/NOUN/nsubj/1 fly/VERB/ROOT/1 over/ADP/prep/1 and/CCONJ/cc/2 under/ADP/conj/2 bridges/NOUN/pobj/4
birds bridges; (birds, fly over under, bridges) => birds bridges; (birds, fly over, bridges) (birds, fly under, bridges)
any_order: In/ADP/prep/2 boats/NOUN/pobj/0 sit/VERB/ROOT/2 men/NOUN/nsubj/2
boats men{sit} => boats men; (men, sit In, boats)
# the parser takes the late subject for an object
any_order: In/ADP/prep/2 boats/NOUN/pobj/0 sit/VERB/ROOT/2 men/NOUN/dobj/2
boats men => boats men; (men, sit In, boats)
# a relative pronoun is no other thing
own_subjects: hats/NOUN/ROOT/0 that/PRON/nsubj/2/that/WDT lie/VERB/relcl/0 on/ADP/prep/2 beds/NOUN/pobj/3
hats that beds; (hats, lie on, beds) (that, lie on, beds) => hats that beds; (hats, lie on, beds) (that, lie on, beds)
own_subjects: hats/NOUN/ROOT/0 men/NOUN/nsubj/2 throw/VERB/relcl/0 at/ADP/prep/2 walls/NOUN/pobj/3
hats men walls; (hats, throw at, walls) (men, throw at, walls) => hats men walls; (men, throw at, walls)
ignore_case: Red/ADJ/amod/1 hats/NOUN/ROOT/1 Near/ADP/prep/1 red/ADJ/amod/4 boxes/NOUN/pobj/2
hats{Red} boxes{red}; (hats, Near, boxes) => hats{red} boxes{red}; (hats, near, boxes)
own_objects: men/NOUN/nsubj/1 hold/VERB/ROOT/1 books/NOUN/dobj/1 and/CCONJ/cc/1 smile/VERB/conj/1
men books; (men, hold, books) => men{smile} books; (men, hold, books)
# who wears no hat wears nothing
asserted: men/NOUN/nsubj/1/men/NNS wear/VERB/ROOT/1/wear/VBP no/DET/det/3/no/DT hats/NOUN/dobj/1/hat/NNS under/ADP/prep/1/under/IN trees/NOUN/pobj/4/tree/NNS
men hats trees; (hats, under, trees) (men, wear, hats) => men trees
hyphens: snow~/NOUN/npadvmod/2 -~/PUNCT/punct/2 covered/VERB/amod/3 hills/NOUN/ROOT/3
snow hills{covered} => hills{snow-covered}
hyphens: T~/PROPN/compound/2 -~/PUNCT/punct/2 shirts/NOUN/ROOT/2
shirts{T} => T-shirts
hyphens: hats/NOUN/nsubj/1 are/AUX/ROOT/1 multi~/ADJ/acomp/1 -~/ADJ/acomp/1 leveled/ADJ/acomp/1
hats{multi, -, leveled} => hats{multi-leveled}
hyphens: state~/NOUN/nmod/7 -~/PUNCT/punct/0 of~/ADP/prep/0 -~/PUNCT/punct/0 the~/DET/det/6 -~/PUNCT/punct/6 art/NOUN/pobj/2 hats/NOUN/ROOT/7
art hats{state} => hats{state-of-the-art}
# a hyphen apart is no attribute
hyphens: hats/NOUN/nsubj/1 are/AUX/ROOT/1/be -/ADJ/acomp/1 red/ADJ/acomp/1
hats{-, red} => hats{red}
# what stands before the verb is not said of its object
all: At/ADP/prep/3 tables/NOUN/pobj/0 men/NOUN/nsubj/3 hold/VERB/ROOT/3 hats/NOUN/dobj/3
tables men hats; (men, hold, hats) => tables men hats; (men, hold, hats)
# a second verb is not where the first one is
any_order: men/NOUN/nsubj/1 sit/VERB/ROOT/1 on/ADP/prep/1 benches/NOUN/pobj/2 and/CCONJ/cc/1 smile/VERB/conj/1
men{smile} benches; (men, sit on, benches) => men benches; (men, sit on, benches) (men, smile on, benches)
all: men/NOUN/nsubj/1 sit/VERB/ROOT/1 on/ADP/prep/1 benches/NOUN/pobj/2 and/CCONJ/cc/1 smile/VERB/conj/1
men{smile} benches; (men, sit on, benches) => men{smile} benches; (men, sit on, benches)
"""
LINES = [line for line in CASES.strip().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(("case", "graphs"), zip(LINES[::2], LINES[1::2], strict=True))
def test_rule(case: str, graphs: str) -> None:
    rule, parse = case.split(": ")
    without, with_rule = graphs.split(" => ")
    doc = spelled(parse)
    assert shown(graph_of(*read_words(doc), rules=PUBLISHED_RULES)) == without
    rules = DEFAULT_RULES if rule == "all" else Rules(**{rule: True})
    graph = graph_of(*read_words(doc), rules=rules)
    assert shown(graph) == with_rule
    assert all(doc.text[start:end] for entity in graph.entities for start, end in entity.text_spans)


def test_every_rule_is_tested_and_on_by_default_only() -> None:
    names = [field.name for field in fields(Rules)]
    assert {*names, "all"} == {case.split(": ")[0] for case in LINES[::2]} | {
        "grammar"
    }  # test_grammar.py has it
    assert Rules(**dict.fromkeys(names, True)) == DEFAULT_RULES
    assert Rules(**dict.fromkeys(names, False)) == PUBLISHED_RULES


def test_attributes_differing_in_case_are_one() -> None:
    doc = spelled("Red/ADJ/amod/1 hats/NOUN/ROOT/1 | red/ADJ/amod/3 hats/NOUN/ROOT/3")
    clusters = [[(1, 1), (3, 3)]]
    assert graph_of(*read_words(doc), clusters).entities[0].attributes == ["Red", "red"]
    merged = graph_of(*read_words(doc), clusters, DEFAULT_RULES).entities[0]
    assert merged.attribute_text_spans == {"red": [(0, 3), (9, 12)]}


def test_the_documents_name_every_rule_that_changes_a_graph() -> None:
    names = [field.name for field in fields(Rules) if field.name != "grammar"]
    page = (ROOT / "docs/evidence/graph_rules.md").read_text("utf-8")
    rows = page.split("## Each rule")[1].partition("| **all together**")[0].splitlines()
    assert [row.split("`")[1] for row in rows if row.startswith("| `")] == names
