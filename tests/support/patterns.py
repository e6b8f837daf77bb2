"""Finds the regular expressions that a module keeps, writes out or builds."""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from tests.import_graph import PREFIX, files_of
from tests.support.paths import ROOT

FUNCTIONS = frozenset(("compile", "match", "search", "fullmatch", "sub", "subn", "split"))
FUNCTIONS |= {"finditer", "findall"}
AT_ONE_PLACE = frozenset(("match", "fullmatch"))


class Use(NamedTuple):
    """anchored: whether it is only tried at one place of a text, and never searched for."""

    where: str
    pattern: re.Pattern[Any]
    anchored: bool


class Call(NamedTuple):
    """A call of a function of `re`. where: `module:function`, with the name of the innermost."""

    where: str
    function: str
    pattern: ast.expr


TREES = {name: ast.parse(path.read_text()) for name, path in files_of(ROOT).items()}


def modules_with_patterns() -> list[str]:
    return [name for name, tree in TREES.items() if any(_calls(name, tree))]


def module_of(name: str) -> Any:
    if name.startswith("spanreward"):
        return importlib.import_module(name)
    return importlib.import_module(PREFIX + name)


def kept_patterns(name: str) -> Iterator[Use]:
    """Yields the patterns that a module keeps under a name, also within other objects."""
    module = module_of(name)
    for key in _assigned(TREES[name]):
        methods = _methods()[name, key]
        anchored = bool(methods) and methods <= AT_ONE_PLACE
        for pattern in _within(vars(module).get(key)):
            yield Use(f"{name}:{key}", pattern, anchored)


def written_patterns(name: str) -> Iterator[Use]:
    """Yields the patterns that functions of a module write out."""
    for call in _calls(name, TREES[name]):
        if call.where.endswith(":"):
            continue  # the module keeps it
        pattern = _written(call, vars(module_of(name)))
        if pattern is not None:
            yield Use(call.where, re.compile(pattern), call.function in AT_ONE_PLACE)


def builders(name: str) -> set[str]:
    """Returns the functions of a module that build patterns, as `module:function`."""
    names = set()
    for call in _calls(name, TREES[name]):
        if not call.where.endswith(":") and _written(call, vars(module_of(name))) is None:
            names.add(call.where)
    return names


class Recorder:
    """Takes the place of `re` in a module and keeps the patterns that are used."""

    def __init__(self) -> None:
        self.uses: list[tuple[re.Pattern[Any], bool]] = []

    def __getattr__(self, name: str) -> Any:
        function = getattr(re, name)
        if name not in FUNCTIONS:
            return function

        def kept(pattern: Any, *given: Any, **options: Any) -> Any:
            flags = options.get("flags", given[0] if name == "compile" and given else 0)
            self.uses.append((re.compile(pattern, flags), name in AT_ONE_PLACE))
            return function(pattern, *given, **options)

        return kept


def _calls(name: str, tree: ast.AST, within: str = "") -> Iterator[Call]:
    for child in ast.iter_child_nodes(tree):
        inside = within
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = child.name
        if isinstance(child, ast.Call):
            match child.func:
                case ast.Attribute(ast.Name("re"), attribute) if attribute in FUNCTIONS:
                    yield Call(f"{name}:{inside}", attribute, child.args[0])
        yield from _calls(name, child, inside)


def _written(call: Call, names: dict[str, Any]) -> str | bytes | None:
    """Returns the pattern of a call, None where the function's own variables make it."""
    code = compile(ast.Expression(call.pattern), call.where, "eval")
    try:
        pattern = eval(code, names)
    except NameError:
        return None
    return pattern if isinstance(pattern, str | bytes) else None


def _assigned(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name):
                    yield node.id


def _within(thing: Any, depth: int = 4) -> Iterator[re.Pattern[Any]]:
    if isinstance(thing, re.Pattern):
        yield thing
    elif depth and isinstance(thing, list | tuple | set | frozenset):
        for item in thing:
            yield from _within(item, depth - 1)
    elif depth and isinstance(thing, dict):
        yield from _within(list(thing.values()), depth - 1)
    elif depth and type(thing).__module__.startswith("spanreward"):
        slots = getattr(type(thing), "__slots__", ())
        held = [getattr(thing, slot, None) for slot in slots]
        yield from _within([*held, *getattr(thing, "__dict__", {}).values()], depth - 1)


@cache
def _methods() -> dict[tuple[str, str], set[str]]:
    """Returns the methods called on each module's names; "other" for any other use."""
    methods: dict[tuple[str, str], set[str]] = defaultdict(set)
    for user, tree in TREES.items():
        nodes = list(ast.walk(tree))
        origin = dict(_imported(nodes))
        called: set[ast.AST] = set()
        for node in nodes:
            match node:
                case ast.Call(ast.Attribute(ast.Name(key), method)):
                    called.add(node.func.value)
                    methods[origin.get(key, (user, key))].add(method)
        for node in nodes:
            is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            if is_read and node not in called:
                methods[origin.get(node.id, (user, node.id))].add("other")
    return methods


def _imported(nodes: list[ast.AST]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yields the names that a module imports from ours, with whose names they are."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PREFIX):
            for alias in node.names:
                owner = (node.module or "").removeprefix(PREFIX)
                yield alias.asname or alias.name, (owner, alias.name)
