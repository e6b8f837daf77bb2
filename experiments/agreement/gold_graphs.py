"""PoSh's table 8: our scene graphs against those that its authors drew of ten texts of DOCENT.

    texts = read_gold(Path("gold.json"))  # corpora/scene_graphs/gold.json of PoSh's repository
    for row in measure_gold(texts):
        row.mode, row.kind, row.precision, row.recall, row.f1, row.head

The file marks every mention of a thing ("woman", later "she"), every attribute and every relation
by its characters, and says which mention came first, and what each attribute and relation belongs
to. Ours and theirs match where they share characters, each once, the first in the text first; the
paper does not say how its authors matched. `coref` is the share of matched mentions whose first
mention is theirs; `head` and `tail` of matched attributes and relations, the share that belong to
the same thing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanreward.rewards.language.parse import scene_graphs
from spanreward.rewards.language.rules import Mode
from spanreward.rewards.language.scene_graph import CharacterSpan, SceneGraph
from spanreward.rewards.posh.components import mention_spans

KINDS = ("entities", "attributes", "relations")
CHAINS = 8  # twofold steps to a first mention by way of others
LISTS = ("corefs", "attribute_heads", "relation_heads", "relation_tails")


@dataclass(frozen=True, slots=True)
class Element:
    """A mention, an attribute or a relation. place: its characters, from its first to its last.
    ends: all mentions of an attribute's bearer, or of a relation's subject and of its object; of a
    mention, the first one of its thing.
    """

    place: CharacterSpan
    ends: tuple[frozenset[CharacterSpan], ...]


Drawn = Mapping[str, Sequence[Element]]


@dataclass(frozen=True, slots=True)
class GoldAgreement:
    """Means over texts, in [0, 1]; None where there is nothing to share."""

    mode: str
    kind: str
    precision: float | None
    recall: float | None
    f1: float | None
    coref: float | None
    head: float | None
    tail: float | None


def read_gold(path: Path) -> list[tuple[str, Drawn]]:
    """Returns each text with what was drawn of it.

    Raises FileNotFoundError, or ValueError for another layout.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}: it is corpora/scene_graphs/gold.json of PoSh's repository."
        )
    try:
        found = [
            (record["text"], drawn(record))
            for record in json.loads(path.read_text(encoding="utf-8-sig"))
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not laid out as PoSh's gold.json: {type(error).__name__} {error}."
        ) from None
    if not found:
        raise ValueError(f"{path} holds no text.")
    return found


def drawn(record: Mapping[str, Any]) -> Drawn:
    """Returns a record's elements by kind.

    Possessors ("her" hips) are mentions and no attributes.
    """
    of_kind = {
        kind: {e["id"]: (e["start"], e["end"]) for e in record[kind].values()} for kind in KINDS
    }
    mentioned = of_kind["entities"]
    edges = {name: [(edge["from_id"], edge["to_id"]) for edge in record[name]] for name in LISTS}
    first = {one: one for one in mentioned} | dict(edges["corefs"])
    for _ in range(CHAINS):
        first = {one: first[to] for one, to in first.items()}
    things: dict[str, set[CharacterSpan]] = {}
    for one, place in mentioned.items():
        things.setdefault(first[one], set()).add(place)

    def belongs(name: str, element: str) -> frozenset[CharacterSpan]:
        return frozenset(
            place for one, to in edges[name] if one == element for place in things[first[to]]
        )

    ends = {"attributes": ("attribute_heads",), "relations": ("relation_heads", "relation_tails")}
    found = {
        kind: [
            Element(place, tuple(belongs(name, one) for name in names))
            for one, place in of_kind[kind].items()
        ]
        for kind, names in ends.items()
    }
    return {
        "entities": [
            Element(p, (frozenset([mentioned[first[one]]]),)) for one, p in mentioned.items()
        ],
        **found,
    }


def ours(graph: SceneGraph, text: str) -> Drawn:
    """Returns a graph's elements by kind.

    A possessor, which the graph has as a relation `part of`, is a mention.
    """
    things = [set(mention_spans(entity.text_spans, text)) for entity in graph.entities]
    for relation in graph.relations:
        if relation.source == "poss":
            things[relation.object] |= set(mention_spans(relation.text_spans, text))
    of = [frozenset(thing) for thing in things]
    attributes = [
        Element(place, (of[number],))
        for number, entity in enumerate(graph.entities)
        for spans in entity.attribute_text_spans.values()
        for place in mention_spans(spans, text)
    ]
    relations = [
        Element(
            (min(a for a, _ in relation.text_spans), max(b for _, b in relation.text_spans)), ends
        )
        for relation in graph.relations
        if relation.source != "poss" and relation.text_spans
        for ends in [(of[relation.subject], of[relation.object])]
    ]
    return {
        "entities": [Element(place, (frozenset([min(thing)]),)) for thing in of for place in thing],
        "attributes": attributes,
        "relations": relations,
    }


def measure_gold(
    texts: Sequence[tuple[str, Drawn]], pipeline: str | None = None, coref: str = "rules"
) -> list[GoldAgreement]:
    """Returns a row per mode and kind."""
    rows = []
    modes: tuple[Mode, ...] = ("default", "published")
    for mode in modes:
        graphs = scene_graphs([text for text, _ in texts], pipeline, coref, mode)
        own = [ours(graph, text) for graph, (text, _) in zip(graphs, texts, strict=True)]
        for kind in KINDS:
            found = [
                compare(one[kind], people[kind])
                for one, (_, people) in zip(own, texts, strict=True)
            ]
            precision, recall, f1, first, second = (
                mean([text[n] for text in found]) for n in range(5)
            )
            named = (
                {"coref": first, "head": None}
                if kind == "entities"
                else {"coref": None, "head": first}
            )
            rows.append(GoldAgreement(mode, kind, precision, recall, f1, **named, tail=second))
    return rows


def compare(own: Sequence[Element], people: Sequence[Element]) -> tuple[float | None, ...]:
    """Returns precision, recall, F1, and the shares of matched elements whose first and second ends
    are the same.
    """
    pairs = matched(own, people)
    precision, recall = share(len(pairs), len(own)), share(len(pairs), len(people))
    f1 = share(2 * len(pairs), len(own) + len(people))
    ends = [[any(touch(a, b) for a in one.ends[n] for b in other.ends[n]) for one, other in pairs if n < len(one.ends)]
            for n in range(2)]  # fmt: skip
    return (precision, recall, f1, *(share(sum(same), len(same)) for same in ends))


def matched(own: Sequence[Element], people: Sequence[Element]) -> list[tuple[Element, Element]]:
    """Returns pairs that share characters; each element is in one pair at most."""
    free, pairs = sorted(people, key=lambda e: e.place), []
    for element in sorted(own, key=lambda e: e.place):
        other = next((one for one in free if touch(element.place, one.place)), None)
        if other is not None:
            free.remove(other)
            pairs.append((element, other))
    return pairs


def touch(one: CharacterSpan, other: CharacterSpan) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
