r"""Reads LaTeX in a text as a person does: "\boxed{\frac{3}{8}}" is "3/8", "2\sqrt{3}" is "2√3".

Commands and signs that only wrap or style a text are dropped ("\text{}", "$..$"). A command that
names a sign becomes the sign. Any other command is kept as it was written. An argument of several
signs gets parentheses: "\frac{x + 1}{2}" is "(x + 1)/2".
"""

import re
from collections.abc import Generator, Iterator
from html.entities import html5
from typing import NamedTuple

from spanreward.rewards.text.pieces import LATEX, Piece

_WRAPPING_COMMAND = re.compile(
    r"(?:text|math)(?:bf|it|rm|sf|tt|sc|sl|up|md|normal|cal|bb|frak|scr|strut)?|[fhm]box|boxed"
    r"|framebox|emph|underline|operatorname|pmb|boldsymbol|bm|title|caption"
    r"|(?:sub)*(?:section|paragraph)|ensuremath"
)
# commands that show nothing: for the size of delimiters, and for the layout
_LAYOUT_COMMAND = re.compile(
    r"left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|limits|nolimits|centering|noindent"
)
_SPACING_COMMANDS = frozenset(
    ("quad", "qquad", "space", "item", "newline", "par", "hfill", "enspace")
)
_FUNCTION_COMMAND = re.compile(  # functions that are printed by their name: "\sin" is "sin"
    r"(?:arc)?(?:cos|sin|tan)|(?:cos|sin|tan|cot)h?|csc|sec|exp|l[gn]|log|lim|max|min|inf|sup|gcd"
    r"|arg|dim|ker|b?mod"
)
_FRACTION_COMMAND = re.compile(r"d?t?c?frac")  # "\dfrac" is "\frac" in another size
_ACCENT_COMMANDS = frozenset(("dot", "tilde", "acute", "grave", "breve", "check", "ring"))
# The names of signs that HTML does not have or calls otherwise. Most signs of mathematics have the
# same name in LaTeX and in HTML, so `html5` is asked for any other name.
_SIGN_OF_COMMAND = {
    "cdot": "·",
    "circ": "∘",
    "degree": "°",
    "textdegree": "°",
    "infty": "∞",
    "to": "→",
    "gets": "←",
    "ldots": "…",
    "dots": "…",
    "cdots": "⋯",
    "neq": "≠",
    "implies": "⇒",
    "iff": "⇔",
    "land": "∧",
    "lor": "\u2228",
    "neg": "¬",
    "euro": "€",
    "pounds": "£",
}
# yields pieces, and returns the offset to read on from
PiecesAndOffset = Generator[Piece, None, int]
_ROOT_SIGNS = {"": "√", "2": "√", "3": "∛", "4": "∜"}
_LATEX_TOKEN = re.compile(
    r"""(?=[\\^_{}$])(?:
    (?P<degree>\^\s*(?:\{\s*\\{1,2}circ\s*\}|\\{1,2}circ(?![a-zA-Z])))
    | (?P<script>[\^_])\{
    | \\{1,2}(?P<environment>(?:begin|end)\{[a-zA-Z]{1,20}\*?\})
    | \\{1,2}[dtc]?frac\s*(?P<above>\d)\s*(?P<below>\d)
    | \\{1,2}(?P<command>[a-zA-Z]+)
    | \\(?P<opens>[(\[])(?=(?P<bracketed>[^\\]*+(?:\\[^()\[\]][^\\]*+)*+)\\[)\]])
    | (?P<grouping>(?<=\d)\\,(?=\d{3}(?!\d))) | (?P<thin>\\[,;:])
    | (?<![$\\])(?P<dollars>\$\$?)(?!\$)
        (?=(?P<between_dollars>(?:[^$\\]|\\.){1,1000}+)(?P=dollars)(?![$\d]))
    | (?P<comma>\{,\}) | (?P<sign>\$\$?|[{}]|\\[)\]]) )""",
    re.VERBOSE,
)
_GROUP_START = re.compile(r"[^\S\n]*\{[^\S\n]*")
_ROOT_INDEX = re.compile(r"\s*\[(\w)\]")
_SINGLE_ARGUMENT = re.compile(
    r"\s*[-+\u2212]?(?:\w{1,40}(?:[.,]\w{1,40})?|\\{1,2}[a-zA-Z]{1,20}"
    r"|\\{1,2}sqrt\{\w{1,20}\})\s*\}"
)
_FORMULA_SIGN = re.compile(r"[\\^{]|\w_\w")
_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_MAYBE_LATEX = re.compile(r"\\[a-zA-Z(\[,;:]|[\^_]\{|\$")


def is_command(name: str) -> bool:
    r"""Whether this is the name of a LaTeX command that this module knows: "frac" of "\frac"."""
    if name in _SIGN_OF_COMMAND or f"{name};" in html5:
        return True
    if name in _SPACING_COMMANDS or name in _ACCENT_COMMANDS:
        return True
    if name in ("frac", "tfrac", "sqrt"):
        return True
    if _WRAPPING_COMMAND.fullmatch(name) or _LAYOUT_COMMAND.fullmatch(name):
        return True
    return _FUNCTION_COMMAND.fullmatch(name) is not None


def without_latex(text: str) -> Iterator[Piece]:
    """Yields the pieces of the text, with signs in place of LaTeX commands and without wrappers."""
    if _MAYBE_LATEX.search(text):
        yield from _Latex(text).pieces()
    else:
        yield 0, len(text)


class _OpenArgument(NamedTuple):
    """An argument of a command whose closing brace is not read yet.

    closing: the sign that replaces the closing brace, ")" or "".
    behind: the sign to put behind the argument. The "/" of a fraction is always put. A space is put
        only if a letter, a digit or another argument follows.
    """

    closing: str
    behind: str


class _Latex:
    """Reads a text from its start to its end, and keeps track of open braces and formulas.

    The methods yield a Piece (start, end) for kept characters, (start, end, LATEX) for dropped
    ones, and (text, offset) for a text that is put at the offset.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        # the open braces, the last one last: an argument, or None for a brace that is kept
        self.braces: list[_OpenArgument | None] = []
        self.ends: set[int] = set()  # offsets of the signs that end an open formula

    def pieces(self) -> Iterator[Piece]:
        """Yields the pieces of the whole text, in order.

        Some helpers read more than their token. Such a helper returns the offset to read on from.
        """
        at = 0
        while token := _LATEX_TOKEN.search(self.text, at):
            start = token.start()
            yield at, start
            at = token.end()
            # one branch per kind of token
            if token["sign"] or start in self.ends:
                at = yield from self._read_end_sign(token)
            elif token["opens"] or token["dollars"]:
                yield from self._read_start_sign(token)
            elif token["command"]:
                at = yield from self._read_command(token)
            elif token["script"]:
                # the token is "^{" or "_{": the sign is kept, and the brace begins an argument
                brace = at - 1
                yield start, start + 1
                at = yield from self._read_argument(brace, behind=" ")
            elif token["above"]:
                # "\frac12" has digits in place of arguments
                yield start, at, LATEX
                yield self._space_before_fraction(start) + token["above"], token.start("above")
                yield "/" + token["below"], token.start("below")
            else:
                yield start, at, LATEX
                yield from self._sign_of_token(token)
        yield at, len(self.text)

    def _sign_of_token(self, token: re.Match[str]) -> Iterator[Piece]:
        """Yields the sign that replaces a degree, an environment, a comma or a thin space."""
        if token["grouping"]:
            return  # "3\,000" is one number
        sign = " "
        if token["degree"]:
            sign = "°"
        elif token["environment"]:
            sign = "\n"
        elif token["comma"]:
            sign = ","
        yield sign, token.start()

    def _read_command(self, token: re.Match[str]) -> PiecesAndOffset:
        """Yields the pieces that replace a command, and returns the offset to read on from:
        "\\quad" becomes a space, and "\\pi" becomes "π".

        The brace of a command's argument is dropped with the command, or is replaced.
        """
        name = token["command"]
        start, end = token.span()
        group = _GROUP_START.match(self.text, end)
        if _FRACTION_COMMAND.fullmatch(name) and group:
            yield start, end, LATEX
            yield self._space_before_fraction(start), start
            return (yield from self._read_argument(end, behind="/"))
        if name == "sqrt":
            return (yield from self._read_root(start, end))
        if _WRAPPING_COMMAND.fullmatch(name) and group:
            yield start, group.end(), LATEX
            self.braces.append(_OpenArgument("", ""))  # the closing brace will be dropped, too
            return group.end()
        if _FUNCTION_COMMAND.fullmatch(name):
            # "\sin{x}" becomes "sin x"
            yield start, token.start("command"), LATEX
            yield token.span("command")
            return (yield from self._read_argument(end, before=" ")) if group else end
        if _LAYOUT_COMMAND.fullmatch(name):
            # "\left." is an invisible delimiter, so the dot is dropped, too
            if name in ("left", "right") and self.text.startswith(".", end):
                end += 1
            yield start, end, LATEX
            return end
        if name in _SPACING_COMMANDS:
            yield start, end, LATEX
            yield " ", start
            return end
        return (yield from self._read_sign_command(name, start, end))

    def _read_sign_command(self, name: str, start: int, end: int) -> PiecesAndOffset:
        """Yields the sign of a command such as "\\pi", and returns the offset to read on from. A
        command that names no sign is kept.

        start, end: the characters of the command.
        """
        sign = _SIGN_OF_COMMAND.get(name) or html5.get(f"{name};", "")
        has_argument = _GROUP_START.match(self.text, end) is not None
        # "\tilde{n}" is an accent, and "\tilde" alone is a sign
        is_accent = has_argument and name in _ACCENT_COMMANDS
        names_sign = len(sign) == 1 and not sign.isspace()
        if is_accent or not names_sign:
            yield start, end
            return end
        yield start, end, LATEX
        yield sign, start
        if has_argument:
            end = yield from self._read_argument(end, behind=" ")
        return end

    def _read_root(self, start: int, end: int) -> PiecesAndOffset:
        """Yields the root sign and the start of the argument, and returns the offset to read on.

        start, end: the characters of the command. The pieces of "\\sqrt[3]{x}" begin with "∛".
        """
        index = _ROOT_INDEX.match(self.text, end)
        root = _ROOT_SIGNS.get(index[1] if index else "")
        # a fifth root has no sign in Unicode: keep the command
        if root is None:
            yield start, end
            return end
        if index:
            end = index.end()
        yield start, end, LATEX
        yield root, start
        while self.text[end : end + 1] == " ":
            end += 1
        if self.text.startswith("{", end):
            end = yield from self._read_argument(end, behind=" ")
        return end

    def _read_argument(self, at: int, *, before: str = "", behind: str = "") -> PiecesAndOffset:
        """Yields the opening brace of a command's argument as dropped, and returns the offset
        behind the brace. Around an argument of several signs parentheses are put: "\\sqrt{x + 1}"
        becomes "√(x + 1)".

        at: the offset of the brace.
        before: put before an argument of a single sign, such as the space of "sin x".
        behind: the sign to put behind the argument (`_OpenArgument`), such as "/" of a fraction.
        """
        group = _GROUP_START.match(self.text, at)
        assert group
        is_single = _SINGLE_ARGUMENT.match(self.text, group.end()) is not None
        yield at, group.end(), LATEX
        yield before if is_single else "(", group.end() - 1
        # what replaces the closing brace is kept until the brace is read
        closing = "" if is_single else ")"
        self.braces.append(_OpenArgument(closing, behind))
        return group.end()

    def _read_end_sign(self, token: re.Match[str]) -> PiecesAndOffset:
        """Yields a brace, or a sign that may end a formula, as kept or as dropped. Returns the
        offset to read on from.

        The brace that ends a command's argument is replaced. The sign that ends a formula is
        dropped. Any other brace or sign is kept.
        """
        start, end = token.span()
        sign = token["sign"]
        if sign == "{":
            self.braces.append(None)
        elif sign == "}":
            argument = self.braces.pop() if self.braces else None
            if argument is not None:
                return (yield from self._end_argument(start, end, argument))
        elif start in self.ends:
            yield start, end, LATEX
            return end
        yield start, end
        return end

    def _end_argument(self, start: int, end: int, argument: _OpenArgument) -> PiecesAndOffset:
        """Yields the replacement of an argument's closing brace, and returns the offset to read on
        from: for the first "}" of "\\frac{x + 1}{2}" the signs ")" and "/", and the offset behind
        the "{".

        start, end: the characters of the brace.
        """
        yield start, end, LATEX
        yield argument.closing, start
        following = self.text[end : end + 1]
        is_numerator = argument.behind == "/"
        if is_numerator:
            yield "/", start
            if _GROUP_START.match(self.text, end):
                return (yield from self._read_argument(end, behind=" "))  # the denominator
        elif argument.behind and following == "{":
            yield argument.behind, start
            return (yield from self._read_argument(end))
        elif argument.behind and following.isalnum():
            yield argument.behind, start
        return end

    def _read_start_sign(self, token: re.Match[str]) -> Iterator[Piece]:
        """Yields a sign that may begin a formula: "$", "$$", "\\(" or "\\[". The sign is dropped if
        a formula follows. In a price, such as "from $5 to $7", it is kept.
        """
        # the sign alone: `_LATEX_TOKEN` only looks ahead at the text behind the sign
        start, end = token.span()
        # the group that has the text between this sign and the sign that ends the formula
        group = "bracketed" if token["opens"] else "between_dollars"
        content = token[group]
        is_formula = _FORMULA_SIGN.search(content) or not _TWO_LETTERS.search(content)
        # prices have white space before the second "$", and a formula has none at its ends
        if token["dollars"] == "$":
            is_tight = content == content.strip() and "\n" not in content
            is_formula = is_formula and is_tight
        if is_formula or self._is_whole_text(token, token.end(group)):
            # the sign at this offset ends the formula, and is dropped when it is read
            self.ends.add(token.end(group))
            yield start, end, LATEX
        else:
            yield start, end

    def _is_whole_text(self, token: re.Match[str], end: int) -> bool:
        """Whether a formula is the whole text, maybe with a full stop: "$II$". In a longer text the
        letters of "$II$" count as a word between two prices, as in "from $5 to $7".

        token: the sign that opens the formula. end: the offset behind the formula's last character.
        """
        end += len(token["dollars"] or "\\]")  # behind the sign that closes the formula
        before = self.text[: token.start()].strip()
        behind = self.text[end:].strip()
        return not before and behind in ("", ".")

    def _space_before_fraction(self, start: int) -> str:
        """Returns a space if a letter or digit is right before the fraction at `start`, else "".

        Without the space, "2\\frac13" would be read as "21/3".
        """
        return " " if self.text[start - 1 : start].isalnum() else ""
