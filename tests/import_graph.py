"""Who imports whom.

A room is a folder, or a file that lies directly in the one above. An arrow from one room to
another is one import or more. Every import counts, also under `TYPE_CHECKING` and inside a
function: a reader follows those too.
"""

import ast
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.support.paths import ROOT

TOPS = ("rewards", "training", "spanreward")
PREFIX = "spanreward."

Graph = dict[str, set[str]]


def files_of(tree: Path) -> dict[str, Path]:
    """Every file of the package by its module's name, without `spanreward.`."""
    names = {}
    for top in TOPS:
        for path in sorted((tree / top).rglob("*.py")):
            parts = path.relative_to(tree).with_suffix("").parts
            names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imported(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """The modules that a file imports from, each with the names that it takes."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found.append((node.module or "", tuple(alias.name for alias in node.names)))
        elif isinstance(node, ast.Import):
            found += [(alias.name, ()) for alias in node.names]
    return found


def file_graph(tree: Path = ROOT) -> Graph:
    """The files that each file imports, itself aside."""
    files = files_of(tree)
    graph: Graph = {name: set() for name in files}
    for name, path in files.items():
        for module, taken in imported(path):
            if not module.startswith(PREFIX) and module != "spanreward":
                continue
            ours = module.removeprefix(PREFIX)
            submodules = {f"{ours}.{one}" for one in taken} & files.keys()
            graph[name] |= submodules or ({ours} & files.keys())
        graph[name].discard(name)
    return graph


def room_of(module: str, folder: str) -> str | None:
    """The room inside the folder that a module lies in, None for one that lies elsewhere."""
    inside = module.removeprefix(f"{folder}.")
    return None if inside == module else inside.partition(".")[0]


def room_graph(files: Mapping[str, set[str]], folder: str) -> Graph:
    """The rooms of a folder that each room imports, itself aside."""
    rooms: Graph = {}
    for module, uses in files.items():
        if room := room_of(module, folder):
            found = {other for one in uses if (other := room_of(one, folder))}
            rooms[room] = rooms.get(room, set()) | (found - {room})
    return rooms


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Circles of imports: each found one loses its last arrow before the next search."""
    left = {name: set(uses) for name, uses in graph.items()}
    found = []
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            circle = list(reversed(error.args[1]))  # each imports the next
            found.append(circle)
            left[circle[0]].discard(circle[1])
        else:
            return found
