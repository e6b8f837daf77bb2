"""Our scene graphs against the triples people drew (DiscoSG): which mode of the extractor is nearer.

    for row in measure_graphs(Path("../shared/data")):
        row.mode, row.match, row.f1

A graph becomes triples (subject, predicate, object) of lower-case lemma sets: relations as (s, r, o), attributes as
(s, "is", a), "part of" turned round into (whole, "have", part) as people write it. Postures, auxiliaries and articles
are left out of predicates. Matching is one-to-one within a caption, by equality (so greedy is optimal):

    exact      all three parts equal
    lenient    subject and object equal, whatever the predicate

Per caption precision, recall and F1; the table shows their means over captions.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rewards.agreement.loaders import Triple, load_discosg_graphs
from rewards.agreement.statistics import Interval, Retrieval, bootstrap, retrieval
from rewards.language.lemmas import lemmas
from rewards.language.parse import describe
from rewards.language.rules import Mode
from rewards.language.scene_graph import SceneGraph

SILENT = lemmas("be sit stand lie locate situate position place there")
IS = frozenset({"is"})
MODES: tuple[Mode, ...] = ("default", "published")

Normal = tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class GraphAgreement:
    """Means over n captions; interval is F1's. triples and people: mean number of distinct triples a caption."""

    mode: str
    match: str
    precision: float
    recall: float
    f1: float
    interval: Interval
    triples: float
    people: float
    n: int


def measure_graphs(folder: Path) -> list[GraphAgreement]:
    """A row per mode and way of matching, with coreference by rule in both modes."""
    records = load_discosg_graphs(folder)
    captions = [record.caption for record in records]
    people = [normal(record.triples) for record in records]
    rows = []
    for mode in MODES:
        ours = [normal(triples_of(graph)) for graph in describe(captions, mode=mode)]
        for match, parts in (("exact", (0, 1, 2)), ("lenient", (0, 2))):
            scores = [compare(own, drawn, parts) for own, drawn in zip(ours, people, strict=True)]
            rows.append(_row(mode, match, scores, ours, people))
    return rows


def triples_of(graph: SceneGraph) -> list[Triple]:
    """What a graph says, as people write it down."""
    triples: list[Triple] = []
    for entity in graph.entities:
        triples += [(entity.head, "is", attribute) for attribute in entity.attributes]
    for relation in graph.relations:
        subject, object_ = graph.entities[relation.subject].head, graph.entities[relation.object].head
        if relation.relation == "part of":
            triples.append((object_, "have", subject))
        else:
            triples.append((subject, relation.relation, object_))
    return triples


def normal(triples: Sequence[Triple]) -> list[Normal]:
    """Distinct triples as sets of lemmas, in order."""
    return list(dict.fromkeys((lemmas(s), predicate(p), lemmas(o)) for s, p, o in triples))


def predicate(text: str) -> frozenset[str]:
    """A predicate's lemmas without postures; "is" when nothing else is left."""
    return lemmas(text) - SILENT or IS


def compare(ours: Sequence[Normal], people: Sequence[Normal], parts: Sequence[int]) -> Retrieval:
    """Matches one-to-one on the given parts of the triples; each triple counts once."""
    own = Counter(tuple(triple[part] for part in parts) for triple in ours)
    drawn = Counter(tuple(triple[part] for part in parts) for triple in people)
    return retrieval((own & drawn).total(), own.total(), drawn.total())


def _row(
    mode: str, match: str, scores: Sequence[Retrieval], ours: Sequence[list[Normal]], people: Sequence[list[Normal]]
) -> GraphAgreement:
    n = len(scores)
    return GraphAgreement(
        mode=mode,
        match=match,
        precision=sum(score.precision for score in scores) / n,
        recall=sum(score.recall for score in scores) / n,
        f1=sum(score.f1 for score in scores) / n,
        interval=bootstrap(scores, lambda drawn: sum(score.f1 for score in drawn) / len(drawn)),
        triples=sum(map(len, ours)) / n,
        people=sum(map(len, people)) / n,
        n=n,
    )
