"""Our scene graphs against the triples people drew (DiscoSG): which mode is nearer, and what each
rule adds.

    texts = read_drawn(Path("../shared/data"))
    for row in measure_graphs(texts):
        row.mode, row.split, row.match, row.f1
    for effect in measure_rules(texts):
        effect.rule, effect.split, effect.alone, effect.removed

A graph becomes triples (subject, predicate, object) of lower-case lemma sets: relations as (s, r,
o), attributes as (s, "is", a), "part of" turned round into (whole, "have", part) as people write
it. Postures, auxiliaries and articles are left out of predicates. Matching is one-to-one within a
caption, by equality (so greedy is optimal):

    exact      all three parts equal
    lenient    subject and object equal, whatever the predicate

Per caption precision, recall and F1; the tables show their means over captions, of each split and
of both. Coreference is by rule in both modes.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from spacy.tokens import Doc

from experiments.agreement.caption_sets import Triple, load_discosg_graphs
from experiments.agreement.measures import Retrieval, retrieval
from spanreward.rewards.comparison.resampling import Interval, bootstrap
from spanreward.rewards.language.clusters import Cluster
from spanreward.rewards.language.coref import coref_method
from spanreward.rewards.language.extract import graph_of
from spanreward.rewards.language.lemmas import lemmas_of_phrase
from spanreward.rewards.language.pipeline import load_pipeline
from spanreward.rewards.language.rules import DEFAULT_RULES, PUBLISHED_RULES, Rules
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.language.words import read_words

SILENT = lemmas_of_phrase("be sit stand lie locate situate position place there")
IS = frozenset({"is"})
EXACT, LENIENT = (0, 1, 2), (0, 2)
SPLITS = ("train", "test")

Normal = tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class DrawnText:
    """A caption, parsed once for all rules, and what people drew of it."""

    doc: Doc
    clusters: Sequence[Cluster]
    people: Sequence[Normal]
    split: str


@dataclass(frozen=True, slots=True)
class GraphAgreement:
    """Means over n captions; interval is F1's. triples and people: mean number of distinct triples
    a caption.
    """

    mode: str
    split: str
    match: str
    precision: float
    recall: float
    f1: float
    interval: Interval
    triples: float
    people: float
    n: int


@dataclass(frozen=True, slots=True)
class RuleEffect:
    """What a rule changes, on average over n captions, in exact matching; 95 % paired intervals of
    the F1s.

    alone: F1 of published with this rule less published. removed: F1 of default without this rule
    less default; removed_precision and removed_recall likewise.
    """

    rule: str
    split: str
    alone: float
    alone_interval: Interval
    removed: float
    removed_interval: Interval
    removed_precision: float
    removed_recall: float
    n: int


def read_drawn(folder: Path, splits: Sequence[str] = SPLITS) -> list[DrawnText]:
    records = [record for record in load_discosg_graphs(folder) if record.split in splits]
    docs = list(load_pipeline().pipe(record.caption.strip() for record in records))
    return [
        DrawnText(doc, clusters, normal(record.triples), record.split)
        for record, doc, clusters in zip(records, docs, coref_method("rules")(docs), strict=True)
    ]


def measure_graphs(texts: Sequence[DrawnText]) -> list[GraphAgreement]:
    """A row per mode, split and way of matching."""
    rows = []
    for mode, rules in (("default", DEFAULT_RULES), ("published", PUBLISHED_RULES)):
        ours = [said(text, rules) for text in texts]
        for split in ("all", *SPLITS):
            numbers = [number for number, text in enumerate(texts) if split in ("all", text.split)]
            own, people = (
                [ours[number] for number in numbers],
                [texts[number].people for number in numbers],
            )
            rows += [
                _row(mode, split, "exact", EXACT, own, people),
                _row(mode, split, "lenient", LENIENT, own, people),
            ]
    return rows


def measure_rules(texts: Sequence[DrawnText]) -> list[RuleEffect]:
    """A row per rule and split, in the order of `Rules`; last those of all rules together."""
    published, default = matches(texts, PUBLISHED_RULES), matches(texts, DEFAULT_RULES)
    pairs = {
        field.name: (
            matches(texts, replace(PUBLISHED_RULES, **{field.name: True})),
            matches(texts, replace(DEFAULT_RULES, **{field.name: False})),
        )
        for field in fields(Rules)
    }
    pairs["all together"] = default, published
    effects = []
    for rule, (with_it, without) in pairs.items():
        for split in SPLITS:
            numbers = [number for number, text in enumerate(texts) if text.split == split]
            alone = [with_it[number].f1 - published[number].f1 for number in numbers]
            removed = [without[number].f1 - default[number].f1 for number in numbers]
            effect = RuleEffect(
                rule=rule,
                split=split,
                alone=mean(alone),
                alone_interval=bootstrap(alone, mean),
                removed=mean(removed),
                removed_interval=bootstrap(removed, mean),
                removed_precision=mean(
                    [without[n].precision - default[n].precision for n in numbers]
                ),
                removed_recall=mean([without[n].recall - default[n].recall for n in numbers]),
                n=len(numbers),
            )
            effects.append(effect)
    return effects


def matches(texts: Sequence[DrawnText], rules: Rules) -> list[Retrieval]:
    """How exactly each text's graph by these rules is people's."""
    return [compare(said(text, rules), text.people, EXACT) for text in texts]


def said(text: DrawnText, rules: Rules) -> list[Normal]:
    """The triples of our graph of the text."""
    return normal(triples_of(graph_of(*read_words(text.doc), text.clusters, rules)))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def triples_of(graph: SceneGraph) -> list[Triple]:
    """What a graph says, as people write it down."""
    triples: list[Triple] = []
    for entity in graph.entities:
        triples += [(entity.head, "is", attribute) for attribute in entity.attributes]
    for relation in graph.relations:
        subject, object_ = (
            graph.entities[relation.subject].head,
            graph.entities[relation.object].head,
        )
        if relation.relation == "part of":
            triples.append((object_, "have", subject))
        else:
            triples.append((subject, relation.relation, object_))
    return triples


def normal(triples: Sequence[Triple]) -> list[Normal]:
    """Distinct triples as sets of lemmas, in order."""
    return list(
        dict.fromkeys(
            (lemmas_of_phrase(s), predicate(p), lemmas_of_phrase(o)) for s, p, o in triples
        )
    )


def predicate(text: str) -> frozenset[str]:
    """A predicate's lemmas without postures; "is" when nothing else is left."""
    return lemmas_of_phrase(text) - SILENT or IS


def compare(ours: Sequence[Normal], people: Sequence[Normal], parts: Sequence[int]) -> Retrieval:
    """Matches one-to-one on the given parts of the triples; each triple counts once."""
    own = Counter(tuple(triple[part] for part in parts) for triple in ours)
    drawn = Counter(tuple(triple[part] for part in parts) for triple in people)
    return retrieval((own & drawn).total(), own.total(), drawn.total())


def _row(
    mode: str,
    split: str,
    match: str,
    parts: Sequence[int],
    ours: Sequence[Sequence[Normal]],
    people: Sequence[Sequence[Normal]],
) -> GraphAgreement:
    scores = [compare(own, drawn, parts) for own, drawn in zip(ours, people, strict=True)]
    return GraphAgreement(
        mode=mode,
        split=split,
        match=match,
        precision=mean([score.precision for score in scores]),
        recall=mean([score.recall for score in scores]),
        f1=mean([score.f1 for score in scores]),
        interval=bootstrap([score.f1 for score in scores], mean),
        triples=mean([len(own) for own in ours]),
        people=mean([len(drawn) for drawn in people]),
        n=len(scores),
    )
