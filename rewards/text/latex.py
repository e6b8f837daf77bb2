r"""LaTeX in a text as a person reads it: "\boxed{\frac{3}{8}}" is "3/8", and "2\sqrt{3}" is "2√3".

What only wraps or styles goes ("\text{}", "$..$"). A command that names a sign becomes this sign.
Any other command is content, and stays as it was written. A part of several signs gets parentheses:
"\frac{x + 1}{2}" is "(x + 1)/2".
"""

import re
from collections.abc import Generator, Iterator
from html.entities import html5

from spanreward.rewards.text.pieces import LATEX, Piece

_WRAPPER = re.compile(
    r"(?:text|math)(?:bf|it|rm|sf|tt|sc|sl|up|md|normal|cal|bb|frak|scr|strut)?|[fhm]box|boxed"
    r"|framebox|emph|underline|operatorname|pmb|boldsymbol|bm|title|caption"
    r"|(?:sub)*(?:section|paragraph)|ensuremath"
)
_IDLE = re.compile(  # commands without a sign, beside a delimiter or alone
    r"left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|limits|nolimits|centering|noindent"
)
_SPACING_COMMANDS = frozenset(
    ("quad", "qquad", "space", "item", "newline", "par", "hfill", "enspace")
)
_FUNCTION = re.compile(  # written as it is called
    r"(?:arc)?(?:cos|sin|tan)|(?:cos|sin|tan|cot)h?|csc|sec|exp|l[gn]|log|lim|max|min|inf|sup|gcd"
    r"|arg|dim|ker|b?mod"
)
_ACCENTS = frozenset(("dot", "tilde", "acute", "grave", "breve", "check", "ring"))
# beside those that HTML calls by the same name, as it does most signs of mathematics
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
Steps = Generator[Piece, None, int]  # pieces, and then where the text goes on
_ROOT_SIGNS = {"": "√", "2": "√", "3": "∛", "4": "∜"}
_LATEX_TOKEN = re.compile(
    r"""(?=[\\^_{}$])(?:
    (?P<degree>\^\s*(?:\{\s*\\{1,2}circ\s*\}|\\{1,2}circ(?![a-zA-Z])))
    | (?P<script>[\^_])\{
    | \\{1,2}(?P<environment>(?:begin|end)\{[a-zA-Z]{1,20}\*?\})
    | \\{1,2}[dtc]?frac\s*(?P<above>\d)\s*(?P<below>\d)
    | \\{1,2}(?P<command>[a-zA-Z]+)
    | \\(?P<opens>[(\[])(?=(?P<math>[^\\]*+(?:\\[^()\[\]][^\\]*+)*+)\\[)\]])
    | (?P<grouping>(?<=\d)\\,(?=\d{3}(?!\d))) | (?P<thin>\\[,;:])
    | (?<![$\\])(?P<dollars>\$\$?)(?!\$)
        (?=(?P<formula>(?:[^$\\]|\\.){1,1000}+)(?P=dollars)(?![$\d]))
    | (?P<comma>\{,\}) | (?P<sign>\$\$?|[{}]|\\[)\]]) )""",
    re.VERBOSE,
)
_GROUP = re.compile(r"[^\S\n]*\{[^\S\n]*")
_INDEX = re.compile(r"\s*\[(\w)\]")
_SINGLE = re.compile(
    r"\s*[-+\u2212]?(?:\w{1,40}(?:[.,]\w{1,40})?|\\{1,2}[a-zA-Z]{1,20}"
    r"|\\{1,2}sqrt\{\w{1,20}\})\s*\}"
)
_FORMULA = re.compile(r"[\\^{]|\w_\w")
_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_MAYBE_LATEX = re.compile(r"\\[a-zA-Z(\[,;:]|[\^_]\{|\$")


def is_command(name: str) -> bool:
    """Whether LaTeX has a command of this name, as far as it is read here."""
    if name in _SIGN_OF_COMMAND or f"{name};" in html5:
        return True
    if name in _SPACING_COMMANDS or name in _ACCENTS:
        return True
    if name in ("frac", "tfrac", "sqrt"):
        return True
    if _WRAPPER.fullmatch(name) or _IDLE.fullmatch(name):
        return True
    return _FUNCTION.fullmatch(name) is not None


def without_latex(text: str) -> Iterator[Piece]:
    """Yields the text with signs in place of LaTeX, and without what only wraps."""
    if _MAYBE_LATEX.search(text):
        yield from _Latex(text).pieces()
    else:
        yield 0, len(text)


class _Latex:
    """A text, and what is open at a place of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.braces: list[tuple[str, str] | None] = []  # None: of a brace that stays
        self.ends: set[int] = set()  # the signs that end a formula

    def pieces(self) -> Iterator[Piece]:
        """Yields the pieces of the whole text, in order. A step may read on, and says from where
        the next one goes on.
        """
        at = 0
        while token := _LATEX_TOKEN.search(self.text, at):
            start = token.start()
            yield at, start
            at = token.end()
            if token["sign"] or start in self.ends:
                at = yield from self._closed(token)
            elif token["opens"] or token["dollars"]:
                yield from self._opened(token)
            elif token["command"]:
                at = yield from self._command(token)
            elif token["script"]:
                yield start, start + 1
                at = yield from self._group(at - 1, "", " ")
            elif token["above"]:
                # "\frac12"
                yield start, at, LATEX
                yield self._gap(start) + token["above"], token.start("above")
                yield "/" + token["below"], token.start("below")
            else:
                yield start, at, LATEX
                yield from self._sign_of_token(token)
        yield at, len(self.text)

    def _sign_of_token(self, token: re.Match[str]) -> Iterator[Piece]:
        """Yields what stands in place of a token that always becomes the same."""
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

    def _command(self, token: re.Match[str]) -> Steps:
        """Yields what a command becomes, and returns where the text goes on."""
        text = self.text
        name = token["command"]
        start, end = token.span()
        group = _GROUP.match(text, end)
        sign = _SIGN_OF_COMMAND.get(name) or html5.get(f"{name};", "")
        # "\dfrac", "\tfrac" and "\cfrac" are set in another size
        plain_name = name.removeprefix("d").removeprefix("t").removeprefix("c")
        if plain_name == "frac" and group:
            yield start, end, LATEX
            yield self._gap(start), start
            return (yield from self._group(end, "", "", "/"))
        if name == "sqrt":
            return (yield from self._root(start, end))
        if _WRAPPER.fullmatch(name) and group:
            yield start, group.end(), LATEX
            self.braces.append(("", ""))  # its closing brace goes, and nothing takes its place
            return group.end()
        if _FUNCTION.fullmatch(name):
            # "\sin{x}" is "sin x"
            yield start, token.start("command"), LATEX
            yield token.span("command")
            if group:
                end = yield from self._group(end, " ", "")
            return end
        if _IDLE.fullmatch(name):
            # "\left." is a delimiter that is not shown
            if name in ("left", "right") and text.startswith(".", end):
                end += 1
            yield start, end, LATEX
            return end
        if name in _SPACING_COMMANDS:
            yield start, end, LATEX
            yield " ", start
            return end
        names_sign = len(sign) == 1 and not sign.isspace()
        is_accent = group is not None and name in _ACCENTS  # "\tilde{n}", and not "\tilde"
        if names_sign and not is_accent:
            yield start, end, LATEX
            yield sign, start
            if group:
                end = yield from self._group(end, "", " ")
            return end
        # content
        yield start, end
        return end

    def _root(self, start: int, end: int) -> Steps:
        """Yields what a root becomes, with its argument's start, and returns where the text goes
        on. start, end: of the command.
        """
        index = _INDEX.match(self.text, end)
        root = _ROOT_SIGNS.get(index[1] if index else "")
        # the fifth root has no sign
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
            end = yield from self._group(end, "", " ")
        return end

    def _group(self, at: int, before: str, after: str, between: str = "") -> Steps:
        """Yields the start of a command's argument, and returns where the text goes on.

        before: stands before a single sign, and after it where a letter follows. between: stands
        between this argument and the next.
        """
        group = _GROUP.match(self.text, at)
        assert group
        is_single = _SINGLE.match(self.text, group.end()) is not None
        yield at, group.end(), LATEX
        # the brace says, when it is closed, what takes its place and what stands behind it
        if is_single:
            yield before, group.end() - 1
            self.braces.append(("", between or after))
        else:
            yield "(", group.end() - 1
            self.braces.append((")", between or after))
        return group.end()

    def _closed(self, token: re.Match[str]) -> Steps:
        """Yields what a brace becomes, or a sign that may end a formula."""
        start, end = token.span()
        if token["sign"] == "{":
            self.braces.append(None)
            yield start, end
            return end
        if token["sign"] == "}":
            opened = self.braces.pop() if self.braces else None
            if opened is not None:
                return (yield from self._closed_argument(start, end, *opened))
        # no brace ends a formula
        elif start in self.ends:
            yield start, end, LATEX
            return end
        yield start, end
        return end

    def _closed_argument(self, start: int, end: int, close: str, then: str) -> Steps:
        """Yields what the closing brace of an argument becomes. start, end: of the brace. close,
        then: what takes its place, and what stands behind it where an argument or a letter follows.
        """
        yield start, end, LATEX
        yield close, start
        following = self.text[end : end + 1]
        if then == "/":
            # between what is above a fraction's line and what is below
            yield then, start
            if _GROUP.match(self.text, end):
                return (yield from self._group(end, "", " "))
        elif then and following == "{":
            yield then, start
            return (yield from self._group(end, "", ""))
        elif then and following.isalnum():
            yield then, start
        return end

    def _opened(self, token: re.Match[str]) -> Iterator[Piece]:
        """Yields nothing for a sign that opens a formula, and otherwise the sign."""
        group = "math" if token["opens"] else "formula"
        content = token[group]
        is_formula = _FORMULA.search(content) or not _TWO_LETTERS.search(content)
        # "from $5 to $7" is no formula: prices have a space before the second sign
        if token["dollars"] == "$":
            is_tight = content == content.strip() and "\n" not in content
            is_formula = is_formula and is_tight
        if is_formula or self._is_whole(token, token.end(group)):
            self.ends.add(token.end(group))
            yield *token.span(), LATEX
        else:
            yield token.span()

    def _is_whole(self, token: re.Match[str], end: int) -> bool:
        """Whether the formula that ends at an offset is the whole text: "$II$" is no price."""
        end += len(token["dollars"] or "\\]")  # with the sign that closes it
        before = self.text[: token.start()].strip()
        behind = self.text[end:].strip()
        return not before and behind in ("", ".")

    def _gap(self, start: int) -> str:
        """Returns a space between a number and a fraction that starts here: "2 1/3", and not
        "21/3".
        """
        return " " if self.text[start - 1 : start].isalnum() else ""
