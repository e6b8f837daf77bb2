"""The graphs of references, kept from call to call: a training run sees each reference many times.

known = KnownReferences()
new = [text for text in references if text not in known]
graphs = known.graphs_of(references, parsed)    # parsed: the graphs of the new references
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from spanreward.rewards.language.scene_graph import SceneGraph, pack_graph, unpack_graph
from spanreward.rewards.posh.row_answers import ReferenceGraphs

REMEMBERED_REFERENCES = 4096  # references whose graphs are kept for later calls, at most


class KnownReferences:
    """A cache of the graphs of references, packed to save memory. A full cache drops the graphs of
    the longest unused references.
    """

    def __init__(self) -> None:
        # by the reference's text, the least recently used first; the second packed graph is None if
        # the two graphs are equal
        self._packed: OrderedDict[str, tuple[bytes, bytes | None]] = OrderedDict()

    def __contains__(self, text: str) -> bool:
        return text in self._packed

    def graphs_of(
        self,
        references: Iterable[str],
        parsed: Mapping[str, tuple[SceneGraph, SceneGraph | None]],
    ) -> dict[str, ReferenceGraphs]:
        """Returns the two graphs of each reference, by the reference's text. The graphs of new
        references are kept for later calls.

        Args:
            references: distinct texts.
            parsed: the graphs of the new references, as `describe_both` returns them.
        """
        graphs: dict[str, ReferenceGraphs] = {}
        for text in references:
            if text in self._packed:
                graphs[text] = _unpacked_graphs(*self._packed[text])
            else:
                graphs[text] = _graphs_of_reference(*parsed[text])
                self._packed[text] = _packed_graphs(*graphs[text])
            self._packed.move_to_end(text)  # used last
        while len(self._packed) > REMEMBERED_REFERENCES:
            self._packed.popitem(last=False)  # unused for the longest time
        return graphs


def _graphs_of_reference(graph: SceneGraph, supporting: SceneGraph | None) -> ReferenceGraphs:
    """Returns a reference's two graphs (see ReferenceGraphs) from those of `describe_both`."""
    # the first graph only asks questions, so it needs no `hanging`
    asking = replace(graph, hanging=[])
    if supporting is None:
        return asking, asking
    return asking, supporting


def _packed_graphs(graph: SceneGraph, supporting: SceneGraph) -> tuple[bytes, bytes | None]:
    """Returns a reference's graphs packed, with None for a second graph that equals the first."""
    if supporting is graph:
        return pack_graph(graph), None
    return pack_graph(graph), pack_graph(supporting)


def _unpacked_graphs(stored: bytes, supporting: bytes | None) -> ReferenceGraphs:
    """Returns the graphs that `_packed_graphs` packed."""
    graph = unpack_graph(stored)
    if supporting is None:
        return graph, graph
    return graph, unpack_graph(supporting)
