"""A text's entities, attributes and relations, each with the characters that say so.

    graph = parse_graphs(["A red circle above a square."])[0]
    graph.entities[0].head, graph.entities[0].attributes      # "circle", ["red"]

The dictionary form (`to_dict`, `from_dict`) is the published PoSh format. Character spans are (start, end), end
exclusive, on the text as it was given.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

CharacterSpan = tuple[int, int]


@dataclass(slots=True)
class Entity:
    """Something the text speaks of; `head` names it as at its first mention, `heads` at every mention.

    `text_spans` has one pair per token of every mention. `attribute_sentence_idxs` and `attribute_text_spans` are keyed
    by the attribute's text. `is_us`, `is_left`, `is_right` mark the viewer and the viewer's own left and right.
    """

    head: str
    heads: list[str]
    sentence_idxs: list[int]
    text_spans: list[CharacterSpan]
    attributes: list[str] = field(default_factory=list)
    attribute_sentence_idxs: dict[str, list[int]] = field(default_factory=dict)
    attribute_text_spans: dict[str, list[CharacterSpan]] = field(default_factory=dict)
    quantity: str | None = None
    is_us: bool = False
    is_left: bool = False
    is_right: bool = False


@dataclass(slots=True)
class Relation:
    """`relation` holds between the entities numbered `subject` and `object`; source: "verb", "prep" or "poss"."""

    subject: int
    object: int
    relation: str
    source: Literal["verb", "prep", "poss"]
    sentence_idxs: list[int]
    text_spans: list[CharacterSpan]


@dataclass(slots=True)
class SceneGraph:
    """What one text says. `sentences` are the stripped sentence texts that `sentence_idxs` count.

    misplaced: the places of words that cannot stand there (`rewards.language.grammar`); none in published mode.
    unasserted: the words that would be in the graph and are denied, doubted, asked or left open by "or"
    (`rewards.language.unasserted`); `sentences` lack them, too. None in published mode.
    """

    entities: list[Entity] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    misplaced: list[CharacterSpan] = field(default_factory=list)
    unasserted: list[CharacterSpan] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The published format, and `misplaced` and `unasserted` where there are any; tuples stay tuples (JSON makes
        them lists).
        """
        noted = {"misplaced": self.misplaced, "unasserted": self.unasserted}
        return {key: value for key, value in asdict(self).items() if key not in noted or noted[key]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read the published format, also after a JSON round trip. Raises KeyError or TypeError on other data."""
        entities = [
            Entity(
                **{
                    **entity,
                    "text_spans": [tuple(span) for span in entity["text_spans"]],
                    "attribute_text_spans": {
                        text: [tuple(span) for span in spans] for text, spans in entity["attribute_text_spans"].items()
                    },
                }
            )
            for entity in data["entities"]
        ]
        relations = [
            Relation(**{**relation, "text_spans": [tuple(span) for span in relation["text_spans"]]})
            for relation in data["relations"]
        ]
        noted = [[tuple(span) for span in data.get(name, ())] for name in ("misplaced", "unasserted")]
        return cls(entities, relations, list(data["sentences"]), *noted)
