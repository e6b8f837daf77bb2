"""The scene graph of a text: its entities, attributes and relations, each with the characters that
name the entity, attribute or relation.

    graph = parse_graphs(["A red circle above a square."])[0]
    graph.entities[0].head, graph.entities[0].attributes      # "circle", ["red"]

`to_dict` and `from_dict` use PoSh's published format. A character span is (start, end), with an
exclusive end, on the text as given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import SkipValidation, TypeAdapter

PART_OF = "part of"
CharacterSpan = tuple[int, int]
RelationSource = Literal["verb", "prep", "poss"]


@dataclass(slots=True)
class Entity:
    """A thing that the text names. `head` is the thing's name at the first mention, and `heads` has
    its name at every mention.

    `text_spans` has one pair per token of every mention. `attribute_sentence_idxs` and
    `attribute_text_spans` have the attribute's text as key. `is_us` marks the viewer ("us").
    `is_left` and `is_right` mark "our left" and "our right".
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
    # not validated, because published files have sources besides RelationSource
    source: Annotated[RelationSource, SkipValidation]
    sentence_idxs: list[int]
    text_spans: list[CharacterSpan]


@dataclass(slots=True)
class Denial:
    """A thing that the text states is absent, with its attributes and its relations to other
    things.

    head: the thing's name.
    links: pairs of a relation and the words of the other thing: its attributes, then its name. The
    hat of "an old man without a hat" has the link (PART_OF, ["old", "man"]).
    of_one: True if one certain thing lacks the attributes ("the circle is not red"). False if there
    is no thing with this name and these attributes ("no red circle").
    text_spans: one pair per token, including "no" and "not".
    """

    head: str
    attributes: list[str]
    links: list[tuple[str, list[str]]]
    of_one: bool
    text_spans: list[CharacterSpan]

    @property
    def name(self) -> str:
        """The thing with its attributes: "red hat"."""
        return " ".join((*self.attributes, self.head))


@dataclass(slots=True)
class SceneGraph:
    """The scene graph of one text. `sentences` are the stripped sentences of the text.
    `sentence_idxs` are indices of this list.

    misplaced: spans of words that are impossible at their place (grammar.py).
    unasserted: spans of words that the text denies, doubts, asks about or leaves open by "or"
    (unasserted.py). The graph and `sentences` are without these words.
    denials: the things that the text states are absent (denial.py).
    hanging: the words that are claims only if a reference has certain words. Each entry is the span
    of a word with its needs (claims.py). A need is a list of base forms; a reference must have
    one of them. The circle of "They removed a red circle" has the entry ((19, 25), [["remov"]]).

    The last four are empty in published mode.
    """

    entities: list[Entity] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    misplaced: list[CharacterSpan] = field(default_factory=list)
    unasserted: list[CharacterSpan] = field(default_factory=list)
    denials: list[Denial] = field(default_factory=list)
    hanging: list[tuple[CharacterSpan, list[list[str]]]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Returns the graph in the published format, plus our own lists if the lists are not empty.

        Tuples stay tuples.
        """
        # dataclasses.asdict takes twice as long. pydantic would warn of a `Relation.source` that is
        # no RelationSource, which a graph of a published file may have.
        written = _GRAPH_READER.dump_python(self, warnings=False)
        # lists that the published format does not have
        for key in ("misplaced", "unasserted", "denials", "hanging"):
            if not written[key]:
                del written[key]
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "SceneGraph":
        """Returns the graph that `to_dict` wrote, also after a JSON round trip.

        Raises ValueError for data of another form.
        """
        return _GRAPH_READER.validate_python(data)


_GRAPH_READER = TypeAdapter(SceneGraph)


def pack_graph(graph: SceneGraph) -> bytes:
    """Returns the graph as JSON. The JSON takes a fifth of the graph's memory."""
    return _GRAPH_READER.dump_json(graph)


def unpack_graph(text: bytes) -> SceneGraph:
    """Returns the graph that `pack_graph` was given. The JSON is validated, which takes no longer
    than to read JSON into dicts.
    """
    return _GRAPH_READER.validate_json(text)


def move_places(graph: SceneGraph, origin: Sequence[int]) -> None:
    """Moves all spans of the graph from the text that was parsed to the text as written. For "A
    **red** kite" the span of "red" moves from (2, 5) to (4, 7).

    origin: for each character of the parsed text, its position in the text as written.
    """
    span_lists = [graph.misplaced, graph.unasserted]
    for entity in graph.entities:
        span_lists.append(entity.text_spans)
        span_lists += entity.attribute_text_spans.values()
    for relation in graph.relations:
        span_lists.append(relation.text_spans)
    for denial in graph.denials:
        span_lists.append(denial.text_spans)
    # in place: the lists belong to the graph
    for spans in span_lists:
        spans[:] = [_span_as_written(span, origin) for span in spans]
    graph.hanging[:] = [(_span_as_written(span, origin), needs) for span, needs in graph.hanging]


def _span_as_written(span: CharacterSpan, origin: Sequence[int]) -> CharacterSpan:
    """Returns the span in the text as written of a span in the parsed text.

    The new end follows from the span's last character. `origin` has no position for the end of the
    text, and removed characters behind the span do not belong to the span.

    origin: for each character of the parsed text, its position in the text as written.
    """
    start, end = span
    return origin[start], origin[end - 1] + 1
