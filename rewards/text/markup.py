"""Removes markup: Markdown, HTML, boxes, special tokens, escapes and labels without content."""

import html
import re
from collections.abc import Callable, Iterator

from spanreward.rewards.text.markers import LINE_MARKER, Markers, lone_stars
from spanreward.rewards.text.pieces import (
    BOXES,
    ESCAPES,
    HIDDEN,
    HTML,
    LABELS,
    MARKDOWN,
    PLACE_NAME,
    TOKENS,
    Dropped,
    Piece,
)

_LABEL_WORD = re.compile(r"[^\W_]+")
_PART_NAMES = frozenset(  # words of labels and titles that only name a part of a description
    _LABEL_WORD.findall(
        """
        caption description answer response output result text assistant image picture photo scene
        summary overview title final short brief detailed full alt generated main key primary other
        additional visual sky people person object subject foreground background setting location
        place environment surroundings time day weather lighting color colour palette mood
        atmosphere tone style composition layout perspective detail element feature action activity
        animal vehicle building nature clothing appearance position pose overall general note
        observation content item part sure certainly here is s and of the a an this my in for step
        frame figure region sentence fact segment clip shot panel view second word from to at fig
        timestamp english
        """
    )
)
DENYING_WORD = re.compile(
    r"\b(?:no|not|none|never|nothing|without|false|untrue|wrong|or|if|absent|missing|lack\w*"
    r"|exclud\w*|invisible|incorrect|remov\w*|ruled|denied)\b"
)
_PLACE_NUMBER = r"(?:[xywh]\w?\s*+[:=]\s*+)?+-?\d++(?:\.\d++)?+"
_JOINT_PATTERN = r"(?:\s*+[,;]\s*+|\s++|\s*+[\])]\s*+(?:[,;]\s*+)?[\[(]\s*+(?:[\[(]\s*+)?+)"
_COUNTING_WORD = re.compile(r"[a-z]?\d+[a-z]?|[a-h]|one|two|three|four|five|six")  # "2", "S2", "0s"
_LINE_BLANK = r"[^\S\n]*+"
BLOCK_TAGS = (
    "p|div|br|hr|li|[uod]l|d[dt]|h[1-6]|table|t[rdh]|section|article|header|footer|main|blockquote|pre|figure|figcaption"
    "|details|summary|body|html|answer|final_answer|output|response|result|caption|description|conclusion"
)
# the beginning of a tag's attributes; without it, "<y and z>" of "x <y and z> w" would be a tag
_ATTRIBUTES_AHEAD = r"(?=\s*/?>|\s+[\w:@.-]++\s*+=|\s+(?:hidden|open|checked|disabled)\b)"
_LINE_START = re.compile(  # at the start of a line
    rf"""{_LINE_BLANK}(?:
    (?:(?:[-*_=~\u2500-\u257f]{_LINE_BLANK}){{3,}}+ | \|?{_LINE_BLANK}:?-{{2,}}+[-|:\ \t]*+
    | (?<=\n)\|{_LINE_BLANK}:?-:?{_LINE_BLANK}\|[-|:\ \t]*+
    | (?:```+|~~~+){_LINE_BLANK}[\w+\#.-]*+){_LINE_BLANK}(?=\n|\Z)
    | (?P<marker>{LINE_MARKER}){_LINE_BLANK}
    | (?:\#{{1,6}}(?=\s){_LINE_BLANK}|<h[1-6]>|(?=\*\*|__|[^\n]{{1,60}}\n[=-]{{3}}))
      [*_]{{0,3}}(?P<title>[^\n*_\#<]{{1,60}}?)[ \t*_:\#]{{0,9}}(?=\n|</h)
    | [*_]{{0,3}}(?P<label>\w(?:[\w /&'\u2019!,.()\#-]|:(?=\d\d)){{0,60}}?)[*_]{{0,3}}{_LINE_BLANK}
      (?:[:\uff1a][*_]{{0,3}}(?![/\\\d])|[|\u2014\u2013-](?=[^\S\n]))
    | \#{{1,6}}(?=\s){_LINE_BLANK})""",
    re.X | re.IGNORECASE,
)
_MARKUP_TOKEN = re.compile(
    rf"""(?=[\n\\&<~{{\[(!`*_|◁【\]])(?: (?P<line>\n)
    # escapes and entities
    | (?P<code>(?:\\u[0-9a-f]{{4}})+) | \\(?P<break>n|r|t)(?:(?-i:(?![a-z]))|(?<=[.!?:;,"]\\n))
    | \\(?P<escaped>[!-/:-@\[\]^_`{{|}}~]) | \\(?=[\s\\]|\Z) | &(?P<entity>\#?\w{{1,31}};)
    # what a reader is not shown
    | (?P<hidden> <!--.*?(?:-->|\Z) | ~~(?=\S).*?~~ | <[!?][a-z][^<>]*>
    | <(?P<gone>head|script|style|template|del|strike)\b[^<>]*>.*?(?:</(?P=gone)\s*>|\Z)
    | <(?P<unseen>[a-z]\w*)\b[^<>]*(?:display:\s*none|visibility:\s*hidden|\shidden\b)[^<>]*>
        .*?(?:</(?P=unseen)\s*>|\Z)
    | !\[[^\[\]\n]*\]\([^()\n]*\) )
    # places
    | (?P<place> <[|\uff5c]?{PLACE_NAME}[|\uff5c]?(?:\s[^<>]*)?>
        (?:[\d\s.,;()\[\]-]*+(?=<[/|\uff5c]|\Z))?
    | </{PLACE_NAME}> | \{{?(?:<\d{{1,4}}>)+\}}?
    | (?:[\[({{【]\s*+){{1,3}}{_PLACE_NUMBER}(?:{_JOINT_PATTERN}{_PLACE_NUMBER}){{3,}}
          \s*+[\])}}】]{{1,3}} )
    | (?P<special> <\|(?:im_start|start_header_id|start)\|>(?:assistant|system|user)?
    | <start_of_turn>(?:model|user)?
    | <[|\uff5c][^<>\n]{{0,64}}?[|\uff5c]> | <0x[0-9a-f]{{2}}> | ◁/?\w+▷ | <</?SYS>>
    | (?P<picture>(?<=\w[ ])<\|?(?:image|img|picture)[ _-]?(?P<number>\d{{1,3}})\|?>)
    | </?(?!(?:{BLOCK_TAGS})>)(?=[a-z]*[_\d])[a-z]\w*> | <(?:pad|bos|eos|unk|mask|sep|cls|s)>
    | \[/?(?:INST|IMG|CLS|SEP|PAD|UNK|MASK|BOS|EOS|THINK|(?-i:[A-Z]+(?:_[A-Z\d]+)+))\] )
    | (?P<script> <(?P<side>su[pb])\b[^<>]*>\s*
        (?P<index>[-+\u2212]?[\d]{{1,20}}[-+]?|[-+\u2212]|[a-z])\s*
        </(?P=side)\s*> )
    | (?P<tag> </?(?:(?P<block>{BLOCK_TAGS})(?=[\s/>])|[a-z][\w:./-]*+{_ATTRIBUTES_AHEAD})
        (?:(?:[^<>"']|"[^<"]*"|'[^'<]*')*+|[^<>]*)> )
    # Markdown
    | \[\^?(?=[^\[\]\n]*\]\([^()\n]*\)) | \]\([^()\n]*\) | \[\^\w{{1,9}}\]
    | (?P<edge>\|(?={_LINE_BLANK}(?:\n|\Z))) | (?P<bar>(?<=[^\S\n])\|(?=[^\S\n]))
    | `+(?:json(?=\s*[\[{{]))? | ~~+
    | (?P<star>(?<![\s\d])\*+ | \*\*+ | \*(?![\s\d]))
    | (?<![^\W_])_++(?=\S) | (?<=[^\s_])_++(?![^\W_])
    | (?P<blank>_++(?!\S)))""",
    re.X | re.IGNORECASE | re.DOTALL,
)


def _unicode_escapes(codes: str) -> str:
    r"""Returns the characters of codes such as "\u00e9". Two codes can be one character."""
    digits = codes.replace("\\u", "")
    return bytes.fromhex(digits).decode("utf-16-be", "surrogatepass")


def _line_break(letter: str) -> str:
    r"""Returns the white space for the escape of this letter: "\n" for "n" and "r", " " for "t"."""
    return " " if letter == "t" else "\n"


def _sign_of_entity(name: str) -> str:
    """Returns the sign of an HTML entity: `"amp;"` gives `"&"`."""
    return html.unescape(f"&{name}")


def _comma_for_bar(_: str) -> str:
    """Returns a comma, which replaces the bar between two cells of a table."""
    return ","


# the replacement of a token, by the token's name; other tokens are dropped without a replacement
_TOKEN_REPLACEMENTS: dict[str, Callable[[str], str]] = {
    "code": _unicode_escapes,
    "break": _line_break,
    "escaped": str,
    "entity": _sign_of_entity,
    "bar": _comma_for_bar,
}
_TOKEN_KINDS = {  # the kind of each token, by the token's name; other tokens are Markdown
    "code": ESCAPES,
    "break": ESCAPES,
    "escaped": ESCAPES,
    "entity": HTML,
    "script": HTML,
    "picture": TOKENS,
    "tag": HTML,
    "hidden": HIDDEN,
    "place": BOXES,
    "special": TOKENS,
}
_ANY_TAG = re.compile(r"<[^<>\n]*>")
_TO_SUPERSCRIPT = str.maketrans(
    "0123456789+-\u2212",
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u207b",
)
_TO_SUBSCRIPT = str.maketrans(
    "0123456789+-\u2212",
    "\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089\u208a\u208b\u208b",
)
# the bar of a table and the brace of a formula; a line that has only these signs has no content
_SIGNS_WITHOUT_CONTENT = " }|"
_REST_OF_LINE = re.compile(r"\s*([^\n]{1,200})")


def without_markup(text: str) -> Iterator[Piece]:
    """Yields the pieces of the text, without markup and without labels that have no content: of
    "Caption: A **red** kite" the text "A red kite" is kept.

    White space on both sides of dropped markup is kept once.
    """
    return _MarkupReader(text).pieces()


class _MarkupReader:
    """Reads a text from its start to its end, and yields its pieces without markup.

    Attributes:
        at: the offset of the first character that is not read yet.
        last: the last character of the plain text so far.
        has_dropped: whether characters were dropped after `last`. White space that follows and
            repeats `last` is then dropped, too.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.last = "\n"
        self.has_dropped = False
        self.markers = Markers(text)
        self.lone_stars = lone_stars(text)

    def pieces(self) -> Iterator[Piece]:
        """Yields the pieces of the whole text, in order."""
        while self.at < len(self.text):
            opening = self._markup_of_line()
            if opening is not None:
                self.at = opening[1]
                self.has_dropped = True
                yield opening
                continue
            token = _MARKUP_TOKEN.search(self.text, self.at)
            if token is None:
                yield from self._keep_up_to(len(self.text))
            elif self._is_content(token):
                yield from self._keep_up_to(token.end())
            else:
                yield from self._keep_up_to(token.start())
                yield from self._replace(token)

    def _markup_of_line(self) -> Dropped | None:
        """Returns the piece of a bullet, a label or a title sign that is dropped at the start of a
        line: "- " of "- A kite". None elsewhere.
        """
        if self.last != "\n":
            return None
        line = _LINE_START.match(self.text, self.at)
        if line is None or not _is_markup(line, self.markers):
            return None
        end = line.end()
        # keep a title with content, but drop the signs before the title
        if line["title"] is not None and not _has_no_content(line, "title"):
            end = line.start("title")
        if end == self.at:
            return None
        is_name = line["label"] or line["title"]
        return self.at, end, LABELS if is_name else MARKDOWN

    def _is_content(self, token: re.Match[str]) -> bool:
        """Whether a match of `_MARKUP_TOKEN` is kept: a line break, or a sign that is no markup at
        its place, such as the star of "A* search".
        """
        kind = token.lastgroup
        if kind == "star":
            return token.start() in self.lone_stars
        if kind == "edge":  # a bar at the end of a line; a table has several lines with bars
            return self.markers.counts["|"] < 2
        return kind in ("line", "blank")

    def _keep_up_to(self, end: int) -> Iterator[Piece]:
        """Yields the characters up to the offset `end` as kept. White space behind dropped
        characters is skipped if it repeats the white space that was kept before them. At the start
        of a line all white space behind dropped characters is skipped.
        """
        text = self.text
        start = self.at
        if self.has_dropped:
            while start < end and text[start].isspace() and self.last in ("\n", text[start]):
                start += 1
        self.at = end
        if start < end:
            yield start, end
            self.last = text[end - 1]
            self.has_dropped = False

    def _replace(self, token: re.Match[str]) -> Iterator[Piece]:
        """Yields a token of markup as dropped, and then its replacement, if it has one: the sign of
        an entity such as "&amp;", or the line break of a tag such as "<br>".
        """
        kind = token.lastgroup or ""
        start, self.at = token.span()
        yield start, self.at, _TOKEN_KINDS.get(kind, MARKDOWN)
        if token["script"] or token["picture"]:
            yield _script_in_signs(token), start
            # as after a kept visible character, so that all white space behind the token is kept
            self.last = token[0][-1]
            self.has_dropped = False
            return
        # `_keep_up_to` skips white space behind the token that repeats the white space before it
        self.has_dropped = True
        replacement = ""
        if kind in _TOKEN_REPLACEMENTS:
            replacement = _TOKEN_REPLACEMENTS[kind](token[kind])
        elif kind == "tag" and token["block"]:
            replacement = "\n"
        # do not put a second line break in a row
        if replacement and replacement + self.last != "\n\n":
            yield replacement, start
            self.last = replacement[-1]


def _script_in_signs(token: re.Match[str]) -> str:
    """Returns the text for a placeholder of a picture, or for a raised or lowered sign.

    "<image2>" gives "picture 2", and "<sup>2</sup>" gives "\u00b2".
    """
    if token["picture"]:
        return f"picture {int(token['number'])}"
    index = token["index"]
    is_power = token["side"].lower() == "sup"
    # Unicode has raised and lowered digits, but not all letters: write "^n" and "_n"
    if index.isalpha():
        return ("^" if is_power else "_") + index
    return index.translate(_TO_SUPERSCRIPT if is_power else _TO_SUBSCRIPT)


def _is_markup(line: re.Match[str], markers: Markers) -> bool:
    """Whether the start of a line is markup: a bullet, a label without content, or other signs.

    line: a match of `_LINE_START`. True for a title, too: the caller decides about the title.
    """
    marker = line["marker"]
    if marker is None:
        return line["label"] is None or _has_no_content(line, "label")
    after = _REST_OF_LINE.match(line.string, line.end())
    has_content = after is not None and _ANY_TAG.sub("", after[1]).strip(_SIGNS_WITHOUT_CONTENT)
    if has_content:
        return markers.is_markup(marker, line.start("marker"))
    # without content behind the marker, a bullet is markup, and an emoji is the line's content
    is_emoji = not marker.strip().isascii()
    return not is_emoji


def _has_no_content(line: re.Match[str], group: str) -> bool:
    """Whether a label or title has no content beyond the line that follows.

    "Background:" only names a part of a description. "Colours:" before "red and blue colours"
    repeats the line. A name with a word that denies ("Not in the picture:") has content.

    line: a match of `_LINE_START`. group: "label" or "title".
    """
    after = _REST_OF_LINE.match(line.string, line.end())
    # a label before nothing is the content of its line
    if after is None or not _ANY_TAG.sub("", after[1]).strip():
        return False
    name = line[group].lower()
    if DENYING_WORD.search(name):
        return False
    words = _LABEL_WORD.findall(name)
    # numbers alone have no content before a colon and words ("Step 2: a kite" too, but not "5 - 3"
    # and "1: 4")
    if all(map(_COUNTING_WORD.fullmatch, words)):
        sign_behind_label = line[0].rstrip("*_")[-1]
        is_before_number = after[1][0].isdigit()
        return sign_behind_label in ":\uff1a" and not is_before_number
    # other words must name a part of a description or occur in the line, with or without a plural
    # "s": "Colours: red and blue colours"
    following_words = _LABEL_WORD.findall(after[1].lower())
    expected = _PART_NAMES.union(word.rstrip("s") for word in following_words)
    for word in words:
        if _COUNTING_WORD.fullmatch(word):
            continue
        if expected.isdisjoint({word, word.rstrip("s")}):
            return False
    return True
