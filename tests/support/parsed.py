"""Parsed texts, written by hand or read from stored parses, and graphs as a line of text."""

import json
from typing import Any

import spacy
from spacy.tokens import Doc

from spanreward.rewards.language.scene_graph import SceneGraph
from tests.support.paths import DATA, ROOT

ORACLE = DATA / "posh_oracle"
CONSTRUCTED = ROOT / "tests/data/posh_oracle"
VOCAB = spacy.blank("en").vocab


def lines(name: str) -> list[dict[str, Any]]:
    """Known answers by their file's name: those of constructed texts are in the repository."""
    folder = CONSTRUCTED if "constructed" in name else ORACLE
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def spelled(sentences: str) -> Doc:
    """A Doc from text/POS/dep/head[/lemma[/tag]] tokens, sentences apart by " | ".

    No space follows a text that ends in "~".
    """
    tokens, starts = [], []
    for sentence in sentences.split(" | "):
        own = [token.split("/") for token in sentence.split()]
        starts += [number == 0 for number in range(len(own))]
        tokens += own
    return Doc(
        VOCAB,
        words=[token[0].rstrip("~") for token in tokens],
        spaces=[not token[0].endswith("~") for token in tokens],
        pos=[token[1] for token in tokens],
        deps=[token[2] for token in tokens],
        heads=[int(token[3]) for token in tokens],
        lemmas=[token[4] if len(token) > 4 else token[0].lower() for token in tokens],
        tags=[token[5] if len(token) > 5 else "" for token in tokens],
        sent_starts=starts,
    )


def shown(graph: SceneGraph) -> str:
    """ "man{tall} hat; (man, wears, hat)"."""
    entities = [
        e.head + (f"{{{', '.join(e.attributes)}}}" if e.attributes else "") for e in graph.entities
    ]
    relations = [
        f"({graph.entities[r.subject].head}, {r.relation}, {graph.entities[r.object].head})"
        for r in graph.relations
    ]
    return "; ".join(filter(None, [" ".join(entities), " ".join(relations)]))


def round_trip(graph: SceneGraph) -> dict[str, Any]:
    return json.loads(json.dumps(graph.to_dict()))
