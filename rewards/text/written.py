r"""The plain text that every metric and every judge reads of what was written: content stays, and
markup goes.

    reading = read_text("A **red** kite<box>[[12, 30, 45, 60]]</box> flies.</s>")
    reading.plain                       # "A red kite flies."
    reading.written(2, 5)               # (4, 7): where "red" was written

Markup earns and costs nothing: Markdown, HTML tags, grounding, special tokens, reasoning, the
syntax of JSON, labels such as "Caption:". What a reader is not shown reaches no judge: comments,
struck-out text, attributes, targets of links. What a reader is shown stays, also a title or a JSON
key that says more than which part of a description follows ("Not in the picture:"). Texts are read
in one pass, in linear time. Where removed markup leaves new markup behind ("<<b>b>"), spaces
replace it. So a second reading changes nothing.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from spanreward.rewards.text.shown import shown

# characters [start, end) to keep, or a text and its place
Piece = tuple[int, int] | tuple[str, int]

_WORD = re.compile(r"[^\W_]+")
_PARTS = frozenset(  # words of labels and titles that only say which part of a description follows
    _WORD.findall(
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
_DENIED = re.compile(r"\b(?:no|not|none|never|nothing|without|false|untrue|wrong|or|if)\b")
# a name of numbers
_PLACE = r"(?=\w*(?:box|quad|point|poly|loc|coord|det|click|rect|region))(?!\w*end\b)\w++"
_NUMBER = r"(?:[xywh]\w?\s*[:=]\s*)?-?\d+(?:\.\d+)?"
_NEXT = r"(?:\s*[,;]\s*|\s+|\s*[\])]\s*[,;]?\s*[\[(]\s*(?:[\[(]\s*)?)"
_COUNTED = re.compile(r"[a-z]?\d+[a-z]?|[a-h]|one|two|three|four|five|six")  # "2", "S2", "0s"
_BLANK = r"[^\S\n]*+"
# a bullet or a picture, no quotation mark
_SIGN = r"[^\w\s\x00-\x7f\u201c\u201d\u201e\u00ab\u300c\u2018\u2019]{1,3}"
BLOCK = (
    "p|div|br|hr|li|[uod]l|d[dt]|h[1-6]|table|t[rdh]|section|article|header|footer|main|blockquote|pre|figure|figcaption"
    "|details|summary|body|html|answer|final_answer|output|response|result|caption|description|conclusion"
)
_JSON = re.compile(
    r"""\{\s*(["'])(?:(?!\1)[^\\\n]|\\.)*+\1\s*:
    | \[\s*(?:\{\s*["'] | (["'])(?:(?!\2)[^\\\n]|\\.)*+\2\s*[,\]])""",
    re.X,
)
_JSON_TOKEN = re.compile(
    r"""\s*+(?: (?P<open>[\[{]) | (?P<close>[\]}]) | , | null | (?P<value>-?\d[\d.eE+-]*|true|false)
    | (["'])(?P<text>(?:(?!\4)[^\\]|\\(?:.|\Z)|\4(?!\s*(?:[,:}\]]|\Z)))*+)
        (?:\4(?P<key>\s*:)?|\Z))""",
    re.X | re.DOTALL | re.IGNORECASE,
)
_JSON_PLACE = re.compile(rf"_*{_PLACE}", re.IGNORECASE)
_NUMBERS = re.compile(r"[\d\s.,;()\[\]-]*")
_LINE = re.compile(  # at the start of a line
    rf"""{_BLANK}(?:
    (?:(?:[-*_=~\u2500-\u257f]{_BLANK}){{3,}}+ | \|?{_BLANK}:?-{{2,}}[-|:\ \t]*+
    | (?:```+|~~~+){_BLANK}[\w+\#.-]*+){_BLANK}(?=\n|\Z)
    | (?:>|(?:[-*+]|{_SIGN})[^\S\n]|\(?\d{{1,2}}[.)](?=[^\S\n])
        |[\u2460-\u2473]|\[[ x]\](?=\s)|\|){_BLANK}
    | (?:\#{{1,6}}(?=\s){_BLANK}|<h[1-6]>|(?=\*\*|__|[^\n]{{1,60}}\n[=-]{{3}}))
      [*_]{{0,3}}(?P<title>[^\n*_\#<]{{1,60}}?)[ \t*_:\#]{{0,9}}(?=\n|</h)
    | [*_]{{0,3}}(?P<label>\w(?:[\w /&'\u2019!,.()\#-]|:(?=\d\d)){{0,60}}?)[*_]{{0,3}}{_BLANK}
      (?:[:\uff1a][*_]{{0,3}}(?![/\d])|[|\u2014\u2013-](?=[^\S\n]))
    | \#{{1,6}}(?=\s){_BLANK})""",
    re.X | re.IGNORECASE,
)
_TOKEN = re.compile(
    rf"""(?=[\n\\&<~{{}}\[(!`$*_|◁【\]])(?: (?P<line>\n) | (?P<brace>\}})
    # escapes and entities
    | (?P<code>(?:\\u[0-9a-f]{{4}})+) | \\(?P<break>n|r|t)(?:(?-i:(?![a-z]))|(?<=[.!?:;,"]\\n))
    | (?P<command>\\[a-z]+\*?\{{)
    | \\(?:[\[\]()]|(?P<escaped>[!-/:-@^_`{{|}}~]))? | &(?P<entity>\#?\w{{1,31}};)
    # what a reader is not shown
    | <!--.*?(?:-->|\Z) | ~~(?=\S).*?~~ | <[!?][a-z][^<>]*>
    | <(?P<gone>head|script|style|template|del|strike)\b[^<>]*>.*?(?:</(?P=gone)\s*>|\Z)
    | <(?P<unseen>[a-z]\w*)\b[^<>]*(?:display:\s*none|visibility:\s*hidden|\shidden\b)[^<>]*>
        .*?(?:</(?P=unseen)\s*>|\Z)
    | !\[[^\[\]\n]*\]\([^()\n]*\)
    # places
    | <[|\uff5c]?{_PLACE}[|\uff5c]?(?:\s[^<>]*)?>(?:[\d\s.,;()\[\]-]*+(?=<[/|\uff5c]|\Z))?
    | \{{?(?:<\d{{1,4}}>)+\}}?
    | (?:[\[({{【]\s*){{1,3}}{_NUMBER}(?:{_NEXT}{_NUMBER}){{3,}}\s*[\])}}】]{{1,3}}
    # special tokens
    | <\|(?:im_start|start_header_id|start)\|>(?:assistant|system|user)?
    | <start_of_turn>(?:model|user)?
    | <[|\uff5c][^<>\n]{{0,64}}?[|\uff5c]> | <0x[0-9a-f]{{2}}> | ◁/?\w+▷ | <</?SYS>>
    | \[/?(?:INST|IMG|CLS|SEP|PAD|UNK|MASK|BOS|EOS|IMG_BREAK|IMG_END|SYSTEM_PROMPT|THINK)\]
    # tags
    | </?(?:(?P<block>{BLOCK})(?=[\s/>])|[a-z][\w:./-]*+(?=[\s>]))
        (?:(?:[^<>"']|"[^<"]*"|'[^'<]*')*+|[^<>]*)>
    # Markdown
    | \[\^?(?=[^\[\]\n]*\]\([^()\n]*\)) | \]\([^()\n]*\) | \[\^\w{{1,9}}\]
    | \|(?={_BLANK}(?:\n|\Z)) | (?P<bar>(?<=[^\S\n])\|(?=[^\S\n]))
    | `+(?:json(?=\s*[\[{{]))? | ~~+ | (?<!\$)\$++(?=\\) | (?<=\}})\$+
    | (?<![\s\d])\*+ | \*\*+ | \*(?![\s\d]) | (?<![^\W_])_++(?=\S) | (?<=[^\s_])_++(?![^\W_]))""",
    re.X | re.IGNORECASE | re.DOTALL,
)
_SAID: dict[str, Callable[[str], str]] = {  # what a token becomes, nothing if it is not here
    "code": lambda said: bytes.fromhex(said.replace("\\u", "")).decode(
        "utf-16-be", "surrogatepass"
    ),
    "break": lambda said: " " if said == "t" else "\n",
    "escaped": str,
    "entity": lambda said: html.unescape(f"&{said}"),
    "block": lambda said: "\n",
    "bar": lambda said: ",",
}
_QUOTED = re.compile(r"""\s*["“”„«»「『]([^"“”„«»「」『』]*)["”“»«」』]([.!]?)\s*""")
_FOLLOWING = re.compile(r"\s*([^\n]{1,200})")
_MARKED = re.compile(
    r"[<*_`\[{}(【|~\\&◁\u2500-\u257f]|^[^\S\n]*(?:[-+>=#\"“”„«»「『\u2460-\u2473]|\(?\d{1,2}[.)]|[=-]{3}"
    r"|\w[\w /&'\u2019!,.()\#-]{0,60}(?:[:\uff1a]|[^\S\n][\u2014\u2013-][^\S\n])"
    rf"|{_SIGN}[^\S\n]|(?:user|system|assistant)$)|assistantfinal",
    re.MULTILINE,
)
_LEFT = re.compile(r"[<>*_`\[\](){}|~\\#&◁$!]")


@dataclass(frozen=True, slots=True)
class Reading:
    """A plain text, and for each of its characters the place of the written one that it comes from,
    in order.
    """

    plain: str
    origin: Sequence[int]

    def written(self, start: int, end: int) -> tuple[int, int]:
        """Returns where the plain characters [start, end), at least one, were written."""
        return self.origin[start], self.origin[end - 1] + 1


def read_text(text: str) -> Reading:
    """Returns the plain text of any text, with the origin of its characters.

    A plain text is returned itself.
    """
    whole = Reading(text, range(len(text)))
    once = _read(whole) if _MARKED.search(text) else whole
    if once.plain == text:
        return whole
    again = _read(once)
    return (
        once
        if again.plain == once.plain
        else _read(Reading(_LEFT.sub(" ", once.plain), once.origin))
    )


def _read(reading: Reading) -> Reading:
    """Returns the reading of a plain text, without white space before what is dropped at its
    end.
    """
    last = reading.origin[-1:]
    for pieces in (shown, _without_json, _without_markup, _without_quotes):
        text, origin = reading.plain, reading.origin
        kept: list[str] = []
        places: list[int] = []
        for one, other in pieces(text):
            kept.append(one if isinstance(one, str) else text[one:other])
            places += [origin[other]] * len(one) if isinstance(one, str) else origin[one:other]
        reading = Reading("".join(kept), places)
    end = len(reading.plain if reading.origin[-1:] == [*last] else reading.plain.rstrip())
    return Reading(reading.plain[:end], reading.origin[:end])


def _without_json(text: str) -> Iterator[Piece]:
    """Yields the values of JSON after their keys: those of an object each on a line, short ones of
    a list in a row.
    """
    at = 0
    while start := _JSON.search(text, at):
        yield at, start.start()
        at, is_place = start.start(), False
        joint = "\n" if at else ""
        within: list[str] = []
        while (token := _JSON_TOKEN.match(text, at)) and (within or token["open"]):
            at = token.end()
            begin, end = token.span("value" if token["text"] is None else "text")
            if token["key"]:
                is_place = _JSON_PLACE.match(text, begin, end) is not None
                if not is_place:
                    yield from ((joint, begin), (begin, end), (": ", end))
                    joint = ""
            elif begin < end and not (is_place and _NUMBERS.fullmatch(text, begin, end)):
                yield from ((joint, begin), (begin, end))
                joint = "\n" if within[-1] == "{" or text[end - 1] in ".!?" else ", "
            elif token["open"]:
                within.append(token["open"])
            elif token["close"]:
                within.pop()
                joint = joint and "\n"
                if not within:
                    break
        yield "\n" * (at < len(text)), at - 1
    yield at, len(text)


def _without_markup(text: str) -> Iterator[Piece]:
    """Yields the text without markup, without white space that it would leave twice, and without
    idle labels.
    """
    at, last, dropped, braces = 0, "\n", False, 0  # last: the last character that was yielded
    while at < len(text):
        line = _LINE.match(text, at) if last == "\n" else None
        if line and (line["label"] is None or _is_idle(line, "label")):
            end = (
                line.end()
                if line["title"] is None or _is_idle(line, "title")
                else line.start("title")
            )
            if end > at:
                at, dropped = end, True
                continue
        token = _TOKEN.search(text, at)
        kind = (token and token.lastgroup) or ""
        kept = kind == "line" or (kind == "brace" and not braces)
        end = len(text) if token is None else token.end() if kept else token.start()
        while dropped and at < end and text[at].isspace() and last in ("\n", text[at]):
            at += 1
        if at < end:
            yield at, end
            last, dropped = text[end - 1], False
        if token is None:
            break
        at = token.end()
        if not kept:
            dropped = True
            braces += (kind == "command") - (kind == "brace")
            said = _SAID[kind](token[kind]) if kind in _SAID else ""
            if said and said + last != "\n\n":
                yield said, token.start()
                last = said[-1]


def _without_quotes(text: str) -> Iterator[Piece]:
    """Yields the text without the quotation marks around all of it."""
    whole = _QUOTED.fullmatch(text)
    yield from (whole.span(1), whole.span(2)) if whole else ((0, len(text)),)


def _is_idle(line: re.Match[str], group: str) -> bool:
    """Whether a label or title only says which part follows, or what the line after it says
    anyway.
    """
    name = line[group].lower()
    after = _FOLLOWING.match(line.string, line.end())
    if after is None or _DENIED.search(name):
        return False
    following = {word.rstrip("s") for word in _WORD.findall(after[1].lower())}
    expected = _PARTS | following
    for word in _WORD.findall(name):
        if _COUNTED.fullmatch(word):
            continue
        if expected.isdisjoint({word, word.rstrip("s")}):
            return False
    return True
