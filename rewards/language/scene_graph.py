"""The scene graph of a text: its entities, attributes and relations, each with the characters that name it.

    graph = parse_graphs(["A red circle above a square."])[0]
    graph.entities[0].head, graph.entities[0].attributes      # "circle", ["red"]

`to_dict` and `from_dict` use PoSh's published format. A character span is (start, end), with an exclusive end, on the
text as given.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

CharacterSpan = tuple[int, int]
Source = Literal["verb", "prep", "poss"]


@dataclass(slots=True)
class Entity:
    """A thing that the text names: `head` is its name at the first mention, `heads` has its name at every mention.

    `text_spans` has one pair per token of every mention. `attribute_sentence_idxs` and `attribute_text_spans` have the
    attribute's text as key. `is_us`, `is_left` and `is_right` mark the viewer and "our left" and "our right".
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
    """A relation from the entity with number `subject` to the entity with number `object`."""

    subject: int
    object: int
    relation: str
    source: Source
    sentence_idxs: list[int]
    text_spans: list[CharacterSpan]


@dataclass(slots=True)
class SceneGraph:
    """The scene graph of one text. `sentences` are its stripped sentences; `sentence_idxs` are places in this list.

    misplaced: words that cannot stand where they do (grammar.py).
    unasserted: words that the text denies, doubts, asks about or leaves open by "or" (unasserted.py). The graph and
    `sentences` leave them out. Both lists are empty in published mode.
    """

    entities: list[Entity] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    misplaced: list[CharacterSpan] = field(default_factory=list)
    unasserted: list[CharacterSpan] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Returns the published format, plus `misplaced` and `unasserted` if they are not empty. Tuples stay tuples."""
        return {key: value for key, value in asdict(self).items() if value or key not in ("misplaced", "unasserted")}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Reads what `to_dict` wrote, also after a JSON round trip. Raises KeyError or TypeError on other data."""

        def pairs(spans: Iterable[Iterable[int]]) -> list[CharacterSpan]:
            return [tuple(span) for span in spans]  # type: ignore[misc]

        entities = []
        for entity in data["entities"]:
            of_attributes = {text: pairs(spans) for text, spans in entity["attribute_text_spans"].items()}
            own = {"text_spans": pairs(entity["text_spans"]), "attribute_text_spans": of_attributes}
            entities.append(Entity(**{**entity, **own}))
        relations = [
            Relation(**{**relation, "text_spans": pairs(relation["text_spans"])}) for relation in data["relations"]
        ]
        noted = [pairs(data.get(name, ())) for name in ("misplaced", "unasserted")]
        return cls(entities, relations, list(data["sentences"]), *noted)
