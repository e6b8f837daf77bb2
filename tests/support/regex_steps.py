"""Counts the steps of a regular expression on a text, as `re` would take them: it backtracks and
remembers nothing.

`re` itself tells no count. This is a small machine over the parse tree of `re`: `Machine(pattern)
`Machine(pattern).steps(text)` is how often it looked at a character, a branch or a place. Neither a clock nor the machine
that the test runs on has a part in it.
"""

import re
from re import _compiler, _parser  # type: ignore[attr-defined]
from typing import Any

Node = tuple[Any, Any]
SINGLE = ("LITERAL", "NOT_LITERAL", "ANY", "IN")
REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
UNROLLED = 100  # a repeat of a group is as many copies


def tree_of(pattern: re.Pattern[Any]) -> Any:
    return _parser.parse(pattern.pattern, pattern.flags)


def single(name: str, value: Any, flags: int) -> re.Pattern[Any]:
    """Returns the pattern of a part that takes one character."""
    state = _parser.State()
    state.flags = flags
    return _compiler.compile(_parser.SubPattern(state, [_node(name, value)]), flags)  # type: ignore[no-any-return]


class Machine:
    """A pattern as a list of instructions, run with a stack of places to go back to."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        tree = tree_of(pattern)
        self.state = tree.state
        self.flags = pattern.flags
        self.count = 0
        self.program: list[tuple[str, Any, Any, Any]] = []
        self.registers = 2 * tree.state.groups
        self._add(tree, self.flags)
        self._emit("done")

    def steps(self, text: Any, anchored: bool, most: int) -> int:
        """Returns how many steps a match at the start, or a search, takes, at most `most`."""
        self.count = 0
        place = 0
        while place <= len(text) and self.count <= most:
            end = self.run(text, place, most)
            if anchored:
                break
            if end is not None and end > place:
                place = end
            else:
                place += 1
        return self.count

    def run(self, text: Any, start: int, most: int) -> int | None:
        """Returns the end of the match that starts here, None without one or after `most` steps."""
        stack: list[tuple[int, int, tuple[int, ...], int]] = []
        program = self.program
        at, place, registers = 0, start, (-1,) * self.registers
        count = self.count
        while count <= most:
            count += 1
            name, first, second, third = program[at]
            fits = True
            if name == "split":
                stack.append((second, place, registers, 0))
                at = first
                continue
            elif name == "one":
                fits = first(text, place) is not None
                place += 1
            elif name == "run":  # greedy, of one character at a time: back to each shorter one
                match = first(text, place)
                fits = match is not None
                if match is not None:
                    end = match.end()
                    count += end - place
                    if not third and end > place + second:
                        stack.append((-at - 1, place + second, registers, end - 1))
                    place = end
            elif name == "at":
                fits = first(text, place) is not None
            elif name == "jump":
                at = first
                continue
            elif name == "save":
                registers = (*registers[:first], place, *registers[first + 1 :])
            elif name == "moved":  # a repeat of nothing goes on no further
                fits = registers[first] != place
            elif name == "height":
                registers = (*registers[:first], len(stack), *registers[first + 1 :])
            elif name == "cut":
                del stack[registers[first] :]
            elif name == "back":
                place = registers[first]
            elif name == "behind":
                place -= first
                fits = place >= 0
            elif name == "again":
                begin, end = registers[first], registers[first + 1]
                count += max(0, end - begin)
                fits = begin >= 0 and text[place : place + end - begin] == text[begin:end]
                place += end - begin
            elif name == "done":
                self.count = count
                return place
            else:
                fits = False
            if fits:
                at += 1
                continue
            if not stack:
                break
            at, place, registers, longest = stack.pop()
            if at < 0:
                if longest > place:
                    stack.append((at, place, registers, longest - 1))
                place = longest
                at = -at
        self.count = count
        return None

    def _emit(self, name: str, first: Any = 0, second: Any = 0, third: Any = 0) -> int:
        self.program.append((name, first, second, third))
        return len(self.program) - 1

    def _register(self) -> int:
        self.registers += 1
        return self.registers - 1

    def _compiled(self, nodes: list[Node], flags: int) -> re.Pattern[Any]:
        part = _parser.SubPattern(self.state, nodes)
        return _compiler.compile(part, flags)  # type: ignore[no-any-return]

    def _add(self, nodes: Any, flags: int) -> None:
        for node in nodes:
            self._add_node(str(node[0]), node[1], flags)

    def _add_node(self, name: str, value: Any, flags: int) -> None:
        if name in SINGLE:
            self._emit("one", self._compiled([_node(name, value)], flags).match)
        elif name == "AT":
            self._emit("at", self._compiled([_node(name, value)], flags).match)
        elif name == "SUBPATTERN":
            number, add, remove, body = value
            self._save(number, 0)
            self._add(body, (flags | add) & ~remove)
            self._save(number, 1)
        elif name == "BRANCH":
            self._branch(value[1], flags)
        elif name in REPEATS:
            low, high, body = value
            self._repeat(name, low, high, body, flags)
        elif name == "ATOMIC_GROUP":
            self._atomic(value, flags)
        elif name in ("ASSERT", "ASSERT_NOT"):
            direction, body = value
            self._look(name, direction, body, flags)
        elif name == "GROUPREF":
            self._emit("again", 2 * value)
        else:
            raise ValueError(f"a pattern has {name}, which this counter does not know.")

    def _save(self, number: int | None, end: int) -> None:
        if number is not None:
            self._emit("save", 2 * number + end)

    def _branch(self, branches: list[Any], flags: int) -> None:
        jumps = []
        for branch in branches[:-1]:
            split = self._emit("split")
            self._add(branch, flags)
            jumps.append(self._emit("jump"))
            self.program[split] = ("split", split + 1, len(self.program), 0)
        self._add(branches[-1], flags)
        for jump in jumps:
            self.program[jump] = ("jump", len(self.program), 0, 0)

    def _repeat(self, name: str, low: int, high: Any, body: Any, flags: int) -> None:
        possessive = name == "POSSESSIVE_REPEAT"
        single = len(body) == 1 and str(body[0][0]) in SINGLE
        if single and name != "MIN_REPEAT":
            least = _parser.SubPattern(self.state, list(body))
            run = self._compiled([_node("POSSESSIVE_REPEAT", (low, high, least))], flags)
            self._emit("run", run.match, low, possessive)
            return
        height = self._register()
        if possessive:
            self._emit("height", height)
        for _ in range(low):
            self._add(body, flags)
        if high is _parser.MAXREPEAT:
            self._loop(name, body, flags)
        else:
            self._optional(name, min(high - low, UNROLLED), body, flags)
        if possessive:
            self._emit("cut", height)

    def _loop(self, name: str, body: Any, flags: int) -> None:
        begun = self._register()
        split = self._emit("split")
        self._emit("save", begun)
        self._add(body, flags)
        self._emit("moved", begun)
        self._emit("jump", split)
        self._set_split(split, name, split + 1, len(self.program))

    def _optional(self, name: str, copies: int, body: Any, flags: int) -> None:
        splits = []
        for _ in range(copies):
            splits.append(self._emit("split"))
            self._add(body, flags)
        for split in splits:
            self._set_split(split, name, split + 1, len(self.program))

    def _set_split(self, split: int, name: str, into: int, past: int) -> None:
        if name == "MIN_REPEAT":
            self.program[split] = ("split", past, into, 0)
        else:
            self.program[split] = ("split", into, past, 0)

    def _atomic(self, body: Any, flags: int) -> None:
        height = self._register()
        self._emit("height", height)
        self._add(body, flags)
        self._emit("cut", height)

    def _look(self, name: str, direction: int, body: Any, flags: int) -> None:
        height, place = self._register(), self._register()
        self._emit("height", height)
        self._emit("save", place)
        split = self._emit("split")
        if direction < 0:
            self._emit("behind", body.getwidth()[0])
        self._add(body, flags)
        self._emit("cut", height)
        if name == "ASSERT":
            self._emit("back", place)
            jump = self._emit("jump")
            self.program[split] = ("split", split + 1, len(self.program), 0)
            self._emit("fail")
            self.program[jump] = ("jump", len(self.program), 0, 0)
        else:
            self._emit("fail")
            self.program[split] = ("split", split + 1, len(self.program), 0)


def _node(name: str, value: Any) -> Node:
    return getattr(_parser, name), value
