r"""The plain text that every metric and every judge reads of what was written: content stays, and markup goes.

    reading = read_text("A **red** kite<box>[[12, 30, 45, 60]]</box> flies.</s>")
    reading.plain                       # "A red kite flies."
    reading.written(2, 5)               # (4, 7): where "red" was written

Markup costs nothing and earns nothing: Markdown, HTML tags, grounding, special tokens, a policy's reasoning, the syntax
of JSON, labels such as "Caption:". What a reader is not shown reaches no judge: comments, struck-out text, attributes,
targets of links. What a reader is shown stays: the text of links and of unknown tags, and a title or a JSON key that
says more than which part follows ("Not in the picture:").

Texts are read in one pass and in linear time. Where removed markup leaves new markup behind ("<<b>b>"), spaces replace
it. So a plain text stays as it is, and a second reading changes nothing.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Piece = tuple[int, int] | tuple[str, int]  # characters [start, end) to keep, or a text and its place

_PARTS = frozenset(  # words of labels and titles that only say which part of a description follows
    """caption captions description answer response output result text assistant image picture photo photograph scene
    summary overview title final short brief detailed long dense full alt generated main key primary other additional
    visual sky people person object objects subject subjects foreground background setting location place environment
    surroundings time day weather lighting light color colors colour colours palette mood atmosphere tone style theme
    composition layout perspective detail details element elements feature features action actions activity activities
    animal animals vehicle vehicles building buildings architecture nature landscape clothing appearance expression
    position positions pose overall general note notes observations context content contents item items first second
    here is s and of the a an this my in for""".split()
)
_DENIED = re.compile(r"(?i)\b(?:no|not|none|never|nothing|without|false|untrue|wrong|or|if)\b")
_WORD = re.compile(r"[^\W_]+")
_PLACE = r"(?=\w*(?:box|quad|point|poly|loc|coord|det))(?!\w*end\b)\w++"  # names of what holds the numbers of a place
_NUMBER = r"-?\d+(?:\.\d+)?"
_NEXT = r"(?:\s*[,;]\s*|\s+|\s*[\])]\s*[,;]?\s*[\[(]\s*(?:[\[(]\s*)?)"
_THINK = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)"
_BLANK = r"[^\S\n]*+"
_BLOCKS = """p div br hr li ul ol dl dt dd h1 h2 h3 h4 h5 h6 table thead tbody tr td th section article header footer main
blockquote pre figure figcaption details summary body html answer final_answer output response result caption
description conclusion"""

_THOUGHTS = re.compile(
    rf"(?P<open><{_THINK}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>)"
    rf"|</{_THINK}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final<\|message\|>",
    re.IGNORECASE,
)
_JSON = re.compile(
    r"""\{\s*(["'])(?:(?!\1)[^\\\n]|\\.)*+\1\s*: | \[\s*(?:\{\s*["'] | (["'])(?:(?!\2)[^\\\n]|\\.)*+\2\s*[,\]])""", re.X
)
_JSON_TOKEN = re.compile(
    r"""\s*+(?: (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<comma>,) | null | (?P<value>-?\d[\d.eE+-]*|true|false)
    | (["'])(?P<text>(?:(?!\5)[^\\]|\\(?:.|\Z)|\5(?!\s*(?:[,:}\]]|\Z)))*+)(?:\5(?P<key>\s*:)?|\Z))""",
    re.X | re.DOTALL | re.IGNORECASE,
)
_NUMBERS = re.compile(r"[\d\s.,;()\[\]-]*")
_NAMES_PLACE = re.compile(rf"_*{_PLACE}", re.IGNORECASE)

_LINE = re.compile(  # at the start of a line
    rf"""{_BLANK}(?:
    (?:(?:[-*_=]{_BLANK}){{3,}}+ | \|?{_BLANK}:?-{{2,}}[-|:\ \t]*+ | (?:```+|~~~+){_BLANK}[\w+\#.-]*+){_BLANK}(?=\n|\Z)
    | (?P<mark>(?:>|[-*+•◦▪●·–][^\S\n]|\(?\d{{1,2}}[.)](?=[^\S\n])|\[[ x]\](?=\s)){_BLANK})
    | (?P<row>\|)
    | (?:\#{{1,6}}(?=\s){_BLANK}|(?=\*\*|__))[*_]{{0,3}}(?P<title>[^\n*_\#]{{1,60}}?)[ \t*_:\#]{{0,9}}(?=\n)
    | [*_]{{0,3}}(?P<label>\w[\w /&'’-]{{0,60}}?)[*_]{{0,3}}{_BLANK}[:：][*_]{{0,3}}(?!/)
    | \#{{1,6}}(?=\s){_BLANK})""",
    re.X | re.IGNORECASE,
)
_TOKEN = re.compile(
    rf"""(?=[\n\\&<~{{}}\[(!`$*_|◁\]])(?:
    (?P<line>\n) | (?P<bar>\|) | (?P<brace>\}})
    # escapes and entities
    | (?P<code>(?:\\u[0-9a-f]{{4}})+) | \\(?P<break>n|r|t)(?:(?![a-z])|(?<=[.!?:;,"]\\n)) | (?P<command>\\[a-z]+\*?\{{)
    | \\(?:[\[\]()]|(?P<escaped>[!-/:-@^_`{{|}}~]))? | &(?P<entity>\#?\w{{1,31}};)
    # what a reader is not shown
    | <!--.*?(?:-->|\Z) | ~~(?=\S).*?~~ | <(?P<gone>script|style|template|del|strike)\b[^<>]*>.*?(?:</(?P=gone)\s*>|\Z)
    | <(?P<unseen>[a-z]\w*)\b[^<>]*(?:display:\s*none|visibility:\s*hidden|\shidden\b)[^<>]*>.*?(?:</(?P=unseen)\s*>|\Z)
    | !\[[^\[\]\n]*\]\([^()\n]*\)
    # places
    | <[|｜]?{_PLACE}[|｜]?(?:\s[^<>]*)?>(?:[\d\s.,;()\[\]-]*+(?=<[/|｜]|\Z))? | \{{?(?:<\d{{1,4}}>)+\}}?
    | (?:[\[(]\s*){{1,3}}{_NUMBER}(?:{_NEXT}{_NUMBER}){{3,}}\s*[\])]{{1,3}}
    # special tokens
    | <[|｜]/?(?:im_start|start_header_id|start)[|｜]>(?:assistant|system|user)? | <start_of_turn>(?:model|user)?
    | <[|｜][^<>\n]{{0,64}}?[|｜]> | <0x[0-9a-f]{{2}}> | ◁/?\w+▷ | <</?SYS>>
    | \[/?(?:INST|IMG|CLS|SEP|PAD|UNK|MASK|BOS|EOS|IMG_BREAK|IMG_END|SYSTEM_PROMPT|THINK)\]
    # tags
    | </?(?:(?P<block>{"|".join(_BLOCKS.split())})(?=[\s/>])|[a-z][\w:./-]*+(?=[\s>]))
      (?:(?:[^<>"']|"[^<"]*"|'[^'<]*')*+|[^<>]*)>
    # Markdown
    | \[\^?(?=[^\[\]\n]*\]\([^()\n]*\)) | \]\([^()\n]*\) | \[\^\w{{1,9}}\]
    | `+(?:json(?=\s*[\[{{]))? | ~~+ | (?<!\$)\$++(?=\\) | (?<=\}})\$+
    | (?<![\s\d])\*+ | \*\*+ | \*(?![\s\d]) | (?<![^\W_])_++(?=\S) | (?<=[^\s_])_++(?![^\W_]))""",
    re.X | re.IGNORECASE | re.DOTALL,
)
_REST = re.compile(r"[^\S\n]*(?:\n|\Z)")
_FOLLOWING = re.compile(r"\s*([^\n]{1,200})")
_MARKED = re.compile(
    r"[<*_`\[{}|~\\&◁]|^[^\S\n]*(?:[-+>=#•◦▪●·–]|\(?\d{1,2}[.)]|\w[\w /&'’-]{0,60}[:：])", re.MULTILINE
)
_LEFT = re.compile(r"[<>*_`\[\](){}|~\\#&◁$!]")


@dataclass(frozen=True, slots=True)
class Reading:
    """A plain text, and for each of its characters the place of the written one that it comes from, in order."""

    plain: str
    origin: Sequence[int]

    def written(self, start: int, end: int) -> tuple[int, int]:
        """Returns where the plain characters [start, end), at least one, were written."""
        return self.origin[start], self.origin[end - 1] + 1


def read_text(text: str) -> Reading:
    """Returns the plain text of any text, with the origin of its characters. A plain text is returned itself."""
    whole = Reading(text, range(len(text)))
    if not _MARKED.search(text):
        return whole
    once = _read(whole)
    if once.plain == text:
        return whole
    if _read(once).plain != once.plain:  # removed markup left new markup behind
        once = _read(Reading(_LEFT.sub(" ", once.plain), once.origin))
    return once


def _read(reading: Reading) -> Reading:
    """Returns the reading of a plain text, without white space before what is dropped at its end."""
    last = reading.origin[-1:]
    for pieces in (_without_thoughts, _without_json, _without_markup):
        text, origin = reading.plain, reading.origin
        kept: list[str] = []
        places: list[int] = []
        for one, other in pieces(text):
            if isinstance(one, str):
                kept.append(one)
                places += [origin[other]] * len(one)
            else:
                kept.append(text[one:other])
                places += origin[one:other]
        reading = Reading("".join(kept), places)
    end = len(reading.plain if reading.origin[-1:] == list(last) else reading.plain.rstrip())
    return Reading(reading.plain[:end], reading.origin[:end])


def _without_thoughts(text: str) -> Iterator[Piece]:
    """Yields what is shown: not what stands between tags of reasoning, nor before a first end tag without a start."""
    shown, thinking, ended = 0, False, False
    for tag in _THOUGHTS.finditer(text):
        if tag["open"]:
            if not thinking:
                yield shown, tag.start()
            thinking = True
        elif thinking or not ended:
            shown, thinking, ended = tag.end(), False, True
    if not thinking:
        yield shown, len(text)


def _without_json(text: str) -> Iterator[Piece]:
    """Yields the values of JSON after their keys: those of an object each on a line, short ones of a list in a row."""
    at = 0
    while start := _JSON.search(text, at):
        yield at, start.start()
        at, is_place = start.start(), False
        within: list[str] = []
        joint = "\n" if at else ""
        while token := _JSON_TOKEN.match(text, at):
            at = token.end()
            begin, end = token.span("value" if token["text"] is None else "text")
            if token["key"]:
                is_place = _NAMES_PLACE.match(text, begin, end) is not None
                if not is_place:
                    yield joint, begin
                    yield from (
                        (" ", place) if text[place] == "_" else (place, place + 1) for place in range(begin, end)
                    )
                    yield ": ", end
                    joint = ""
            elif begin < end and not (is_place and _NUMBERS.fullmatch(text, begin, end)):
                yield joint, begin
                yield begin, end
                joint = "\n" if within[-1] == "{" or text[end - 1] in ".!?" else ", "
            elif token["open"]:
                within.append(token["open"])
            elif token["close"]:
                within.pop()
                joint = joint and "\n"
            if not within:
                break
        yield "\n", at - 1
    yield at, len(text)


class _Plain:
    """The pieces of a plain text, without the white space that a dropped piece would leave twice."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[Piece] = []
        self.last = "\n"  # character
        self.dropped = False

    def keep(self, start: int, end: int) -> None:
        """Adds the characters [start, end) as they are."""
        while self.dropped and start < end and self.text[start].isspace() and self.last in "\n" + self.text[start]:
            start += 1
        if start < end:
            self.pieces.append((start, end))
            self.last, self.dropped = self.text[end - 1], False

    def put(self, said: str, place: int) -> None:
        """Adds a text for what stands at the place: a line break only where a line does not begin anyway."""
        if said and (said != "\n" or self.last != "\n"):
            self.pieces.append((said, place))
            self.last = said[-1]
        self.dropped = True


def _without_markup(text: str) -> Iterator[Piece]:
    """Yields the text without Markdown, tags, special tokens and places, and without labels that say nothing."""
    plain = _Plain(text)
    at, in_row, braces = 0, False, 0
    while at < len(text):
        line = _LINE.match(text, at) if plain.last == "\n" else None
        if line and (line["label"] is None or _says_nothing(line, "label")):
            in_row = in_row or line["row"] is not None
            says = line["title"] is not None and not _says_nothing(line, "title")
            at = line.start("title") if says else line.end()
            plain.put("", at)
            continue
        token = _TOKEN.search(text, at)
        plain.keep(at, token.start() if token else len(text))
        if token is None:
            break
        at = token.end()
        match token.lastgroup:
            case "line":
                in_row = False
                plain.keep(token.start(), at)
            case "bar" if in_row:
                plain.put("" if _REST.match(text, at) else ",", token.start())
            case "brace" if braces:
                braces -= 1
                plain.put("", at)
            case "bar" | "brace":
                plain.keep(token.start(), at)
            case "command":
                braces += 1
                plain.put("", at)
            case "code":
                code = token["code"].replace("\\u", "")
                plain.put(bytes.fromhex(code).decode("utf-16-be", "surrogatepass"), token.start())
            case "break" | "block":
                plain.put(" " if token["break"] == "t" else "\n", token.start())
            case "escaped":
                plain.put(token["escaped"], token.start() + 1)
            case "entity":
                plain.put(html.unescape(token[0]), token.start())
            case _:
                plain.put("", at)
    yield from plain.pieces


def _says_nothing(line: re.Match[str], group: str) -> bool:
    """Whether a label or title only says which part follows, or what the line after it says anyway."""
    after = _FOLLOWING.match(line.string, line.end())
    if not after or _DENIED.search(line[group]):
        return False
    said = {word.rstrip("s") for word in _WORD.findall(after[1].lower())}
    words = _WORD.findall(line[group].lower())
    return all(word in _PARTS or word.isdigit() or word.rstrip("s") in said for word in words)
