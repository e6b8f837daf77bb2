"""Code is statements and no puzzles: what is on its way out may only fall."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.paths import ROOT

FOLDERS = ("rewards", "training", "spanreward")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult)
VAGUE = {"asked", "found", "one", "own", "paid", "said", "shown", "told"}  # names for anything
Trees = dict[str, ast.Module]


@pytest.fixture(scope="module")
def trees() -> Trees:
    parsed = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parsed[str(path.relative_to(ROOT))] = ast.parse(path.read_text())
    return parsed


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yields what stands in the node, however deep."""
    nodes = ast.walk(node)
    next(nodes)
    yield from nodes


def nested(tree: ast.Module, kinds: Any) -> Iterator[ast.AST]:
    """Yields the nodes of these kinds in which another one stands."""
    for node in ast.walk(tree):
        parts = inside(node) if isinstance(node, kinds) else ()
        if any(isinstance(part, kinds) for part in parts):
            yield node


def nested_comprehensions(tree: ast.Module) -> Iterator[ast.AST]:
    return nested(tree, COMPREHENSIONS)


def nested_conditionals(tree: ast.Module) -> Iterator[ast.AST]:
    return nested(tree, ast.IfExp)


def hidden_assignments(tree: ast.Module) -> Iterator[ast.AST]:
    """Yields `:=` outside the tests of `if` and `while`."""
    tested: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While):
            tested.update(map(id, ast.walk(node.test)))
    for node in ast.walk(tree):
        if isinstance(node, ast.NamedExpr) and id(node) not in tested:
            yield node


def arithmetic_on_booleans(tree: ast.Module) -> Iterator[ast.AST]:
    """Yields `a * (b > c)` and `(a in b) - (c in d)`."""
    for node in ast.walk(tree):
        sides: tuple[ast.AST, ...] = ()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC):
            sides = node.left, node.right
        if any(isinstance(side, ast.Compare) for side in sides):
            yield node


def vague_names(tree: ast.Module) -> Iterator[ast.AST]:
    """Yields the places where a vague name is bound."""
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        if name in VAGUE:
            yield node


def one_word_names(tree: ast.Module) -> Iterator[ast.AST]:
    """Yields the functions and constants of a module whose name is one word: `READ`, `_rate`."""
    for node in tree.body:
        names = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        for name in names:
            word = name.strip("_")
            is_type = word[:1].isupper() and not word.isupper()
            is_ours = not name.startswith("__") and word not in ("log", "main")
            if is_ours and not is_type and "_" not in word and len(word) > 1:
                yield node


@pytest.mark.parametrize(
    ("puzzles", "most"),
    [
        (nested_conditionals, 0),
        (hidden_assignments, 0),
        (arithmetic_on_booleans, 0),
        (nested_comprehensions, 0),
        (vague_names, 25),
        (one_word_names, 71),
    ],
)
def test_statements_are_no_puzzles(
    puzzles: Callable[[ast.Module], Iterator[ast.AST]], most: int, trees: Trees
) -> None:
    places = []
    for path, tree in trees.items():
        for node in puzzles(tree):
            places.append(f"{path}:{node.lineno}")  # type: ignore[attr-defined]
    assert len(places) <= most, "\n".join(places)


@pytest.mark.parametrize(
    ("code", "puzzles"),
    [
        ("[[b for b in a] for a in c]", nested_comprehensions),
        ("a if b else c if d else e", nested_conditionals),
        ("[b for a in c if (b := a)]", hidden_assignments),
        ("a * (b > c)", arithmetic_on_booleans),
        ("said = 1", vague_names),
        ("def f(told): ...", vague_names),
        ("def _rate(): ...", one_word_names),
        ("READ: int = 1", one_word_names),
        ("READ_ROWS = NOUNS = 2", one_word_names),
    ],
)
def test_a_puzzle_is_found(code: str, puzzles: Callable[[ast.Module], Iterator[ast.AST]]) -> None:
    assert len(list(puzzles(ast.parse(code)))) == 1


def test_a_plain_test_is_no_puzzle() -> None:
    code = "if a := b(): ...\nwhile c := d(): ...\ne = [f for f in g]\nh = i if j else k"
    code += "\nROW_LIMIT, Row, T, log = 1, 2, 3, 4\ndef main(): ..."
    for puzzles in (one_word_names, hidden_assignments, nested_comprehensions, nested_conditionals):
        assert list(puzzles(ast.parse(code))) == []
