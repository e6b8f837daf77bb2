# ruff: noqa: RUF001 -- characters that look alike are what this is about
"""Ways to write an answer or a caption that change its markup and nothing else."""

import html
import json
import random
import string
from dataclasses import dataclass

SLOT = "«»"
MARKDOWN = "*_`[]~\n"
LATEX = '~<>|`_{}"\\\n'  # what has another meaning in LaTeX, or none


@dataclass(frozen=True)
class Wrapper:
    """One kind of markup.

    Args:
        kind: "markup", which no reader is shown; "prose" around an answer, which a metric that
            looks for the answer leaves out; "spelling", another way to write the same.
        level: where it stands among others; a higher one stands further out.
        avoid: characters with which it would mean something else.
        texts: "answer" or "caption" if it fits only one of the two.
        letters: it fits only texts that begin with a letter and have two: "- 5" is no list.
        block: it fills lines of its own.
    """

    name: str
    kind: str
    level: int
    spellings: tuple[str, ...]
    avoid: str = ""
    texts: str = ""
    letters: bool = False
    block: bool = False


BOXES = (
    r"\boxed{«»}",
    r"$\boxed{«»}$",
    r"\[\boxed{«»}\]",
    r"\fbox{«»}",
    r"$$\boxed{«»}$$",
)
HTML = (
    "<b>«»</b>",
    "<strong>«»</strong>",
    "<em>«»</em>",
    "<u>«»</u>",
    '<span style="color:red">«»</span>',
    "<font color='red'>«»</font>",
    '<a href="https://example.org/x">«»</a>',
)
HTML_BLOCKS = (
    "<p>«»</p>",
    "<div>«»</div>",
    "<h2>«»</h2>",
    "<ul><li>«»</li></ul>",
    "<table><tr><td>«»</td></tr></table>",
    "«»<br>",
    "<!-- an answer --><p>«»</p>",
)
THOUGHTS = (
    "<think>I look at the picture.</think>«»",
    "<think>\nThe picture is clear.\n</think>\n\n«»",
    "<think>Is it so? It is.</think>\n<answer>«»</answer>",
)
TOKENS = (
    "«»<|im_end|>",
    "<|im_start|>assistant\n«»<|im_end|>",
    "«»</s>",
    "«»<|endoftext|>",
    "«»<|eot_id|>",
    "«»<eos>",
    "«»<|end|>",
    "<|assistant|>\n«»",
)
WRAPPERS = (
    Wrapper("HTML entities", "markup", 0, (SLOT,), avoid="\\"),
    Wrapper("zero-width characters", "markup", 0, (SLOT,)),
    Wrapper("no-break spaces", "markup", 0, (SLOT,)),
    Wrapper("Markdown escapes", "markup", 0, (SLOT,), avoid="\\`<&\n"),
    Wrapper("full-width digits", "spelling", 0, (SLOT,), avoid="\\"),
    Wrapper("typographic quotes", "spelling", 0, (SLOT,)),
    Wrapper(
        "LaTeX text",
        "markup",
        1,
        (r"\text{«»}", r"\textbf{«»}", r"\mbox{«»}"),
        LATEX + "^",
        "answer",
    ),
    Wrapper("LaTeX fonts", "markup", 1, (r"\mathrm{«»}", r"\mathbf{«»}"), "~`\"&%#'|\n ", "answer"),
    Wrapper("LaTeX box", "markup", 2, BOXES, '~`"\n', "answer"),
    Wrapper("LaTeX dollars", "markup", 2, ("$«»$", "$$«»$$"), '~`"\n ', "answer"),
    Wrapper("LaTeX brackets", "markup", 2, (r"\(«»\)", r"\[«»\]"), '~`"\n ', "answer"),
    Wrapper("bold", "markup", 3, ("**«»**", "__«»__"), MARKDOWN),
    Wrapper("italic", "markup", 3, ("*«»*", "_«»_", "***«»***"), MARKDOWN),
    Wrapper("code", "markup", 3, ("`«»`", "`` «» ``"), "`\n"),
    Wrapper("link", "markup", 3, ("[«»](https://example.org/x)", "[«»](a.png)"), MARKDOWN),
    Wrapper("HTML tags", "markup", 3, HTML, "<>&\n"),
    Wrapper("heading", "markup", 4, ("# «»", "## «»", "### «»"), "\n", block=True),
    Wrapper("list", "markup", 4, ("- «»", "* «»", "1. «»"), "\n", letters=True, block=True),
    Wrapper("quote", "markup", 4, ("> «»",), "\n", letters=True, block=True),
    Wrapper(
        "code fence",
        "markup",
        4,
        ("```\n«»\n```", "```text\n«»\n```", "~~~\n«»\n~~~"),
        "`~",
        block=True,
    ),
    Wrapper("table", "markup", 4, ("| «» |\n|---|", "| «» |\n| :-: |"), "|\n", block=True),
    Wrapper("HTML blocks", "markup", 4, HTML_BLOCKS, "<>&\n"),
    Wrapper(
        "Answer: label",
        "markup",
        4,
        ("Answer: «»", "**Answer:** «»", "Final answer: «»", "answer: «»", "Answer:\n«»"),
        avoid="\n",
        texts="answer",
    ),
    Wrapper(
        "Caption: label",
        "markup",
        4,
        ("Caption: «»", "**Caption:** «»", "Description: «»", "Caption:\n«»"),
        texts="caption",
    ),
    Wrapper(
        "The answer is",
        "prose",
        4,
        (
            "The answer is «».",
            "The answer is: «»",
            "The final answer is «».",
            "So the answer is «».",
        ),
        "\n",
        "answer",
    ),
    Wrapper("final period", "prose", 4, ("«».",), "\n", "answer"),
    Wrapper("quotation marks", "markup", 4, ('"«»"', "“«»”", "««»»"), "\"'“”«»\n"),
    Wrapper(
        "answer tag", "markup", 5, ("<answer>«»</answer>", "<answer> «» </answer>"), texts="answer"
    ),
    Wrapper("think tag", "markup", 5, THOUGHTS),
    Wrapper("JSON", "markup", 6, (SLOT,)),
    Wrapper("chat tokens", "markup", 7, TOKENS),
    Wrapper("byte order mark", "markup", 7, ("\ufeff«»",)),
    Wrapper("outer spaces", "markup", 7, ("  «»", "\n\n«»\n", "«» \n\n")),
)
FOR_WORDS = {"heading", "The answer is", "final period", "typographic quotes"}
ESCAPED = "*_#$-+>"
IN_MATHS = {"LaTeX text", "LaTeX fonts", "LaTeX box", "LaTeX dollars", "LaTeX brackets"}
APART = (  # what cannot stand together
    ({"HTML entities", "Markdown escapes", "full-width digits"}, IN_MATHS | {"code", "code fence"}),
    ({"code", "code fence"}, IN_MATHS | {"HTML tags", "bold", "italic", "link"}),
    ({"code"}, {"code fence"}),
    ({"LaTeX dollars", "LaTeX brackets"}, {"LaTeX text", "quotation marks"}),
    ({"heading", "list", "quote", "code fence", "table"}, {"answer tag", "think tag", "JSON"}),
    ({"answer tag", "think tag"}, {"JSON"}),
    ({"HTML entities", "Markdown escapes"}, {"JSON"}),
    ({"HTML blocks"}, {"bold", "italic", "code", "link", "Markdown escapes"}),
)


def needs(name: str, text: str) -> bool:
    """Says whether the text has what the wrapper of this name changes, and nothing it would spoil."""
    if name == "no-break spaces":
        return " " in text.strip()
    if name == "Markdown escapes":
        return any(mark in text for mark in ESCAPED)
    if name == "full-width digits":
        return any(digit in text for digit in string.digits)
    if name == "typographic quotes":
        return "'" in text or text.count('"') > 1
    if name in ("The answer is", "final period"):
        return text[-1] not in ".!?…,;:"
    if name == "zero-width characters":
        return "\n" not in text
    return True


def legible(text: str) -> bool:
    """Says whether the text has more than ASCII's punctuation."""
    return any(character.isalnum() or not character.isascii() for character in text)


def fits(wrapper: Wrapper, text: str, texts: str) -> bool:
    """Says whether the wrapper around the text is markup alone to a careful reader."""
    if wrapper.texts and wrapper.texts != texts:
        return False
    avoid = wrapper.avoid
    if "\\" in text:  # a writer of LaTeX sets spaces in formulas
        avoid = avoid.replace(" ", "")
    if not set(avoid).isdisjoint(text):
        return False
    if "</" in text and (wrapper.level <= 2 or "code" in wrapper.name):
        return False  # the tag would be shown as it is written
    if wrapper.letters and not (text[0].isalpha() and len(text) > 1):
        return False
    if wrapper.name in FOR_WORDS | IN_MATHS and not legible(text):
        return False
    return needs(wrapper.name, text)


def together(wrappers: list[Wrapper]) -> bool:
    """Says whether the wrappers can stand around one another."""
    names = {wrapper.name for wrapper in wrappers}
    levels = {wrapper.level for wrapper in wrappers}
    if len(levels) < len(wrappers):
        return False
    clashes = [some for some, others in APART if names & some and names & others]
    return not clashes


def entities(text: str, rng: random.Random) -> str:
    """Returns the text with <, >, & and one other character written as HTML entities."""
    places = [place for place, character in enumerate(text) if character.isascii()]
    chosen = rng.choice(places) if places else -1
    pieces = []
    for place, character in enumerate(text):
        if character in '<>&"':
            pieces.append(html.escape(character))
        elif place == chosen and not character.isspace():
            pieces.append(rng.choice((f"&#{ord(character)};", f"&#x{ord(character):x};")))
        else:
            pieces.append(character)
    return "".join(pieces)


def escapes(text: str) -> str:
    """Returns the text with Markdown's marks escaped, as CommonMark has it."""
    pieces = []
    for character in text:
        if character in ESCAPED:
            pieces.append("\\")
        pieces.append(character)
    return "".join(pieces)


def invisible(text: str, rng: random.Random) -> str:
    """Returns the text with one to three invisible characters."""
    places = [0, len(text)] + [place for place, character in enumerate(text) if character == " "]
    for place in sorted(rng.sample(places, min(len(places), rng.randint(1, 3))), reverse=True):
        text = text[:place] + rng.choice("\u200b\u2060\ufeff") + text[place:]
    return text


def wide(text: str) -> str:
    """Returns the text with full-width digits."""
    for digit in string.digits:
        text = text.replace(digit, chr(ord(digit) - ord("0") + ord("０")))
    return text


def typographic(text: str) -> str:
    """Returns the text with typographic apostrophes and quotation marks."""
    text = text.replace("'", "’")
    while text.count('"') >= 2:
        text = text.replace('"', "“", 1).replace('"', "”", 1)
    return text


def as_json(text: str, texts: str, rng: random.Random) -> str:
    """Returns a JSON object with the text."""
    form = rng.choice(("plain", "lines", "fence", "plain"))
    if form == "plain":
        return json.dumps({texts: text}, ensure_ascii=rng.random() < 0.3)
    lines = json.dumps({texts: text}, indent=2, ensure_ascii=False)
    if form == "lines":
        return lines
    return f"```json\n{lines}\n```"


def wrap(text: str, wrappers: list[Wrapper], texts: str, rng: random.Random) -> str:
    """Returns the text in all wrappers, the lowest level innermost."""
    if any(wrapper.name in IN_MATHS for wrapper in wrappers):
        for mark in "%#&$":
            text = text.replace(mark, f"\\{mark}")
    for wrapper in sorted(wrappers, key=lambda wrapper: wrapper.level):
        if wrapper.name == "HTML entities":
            text = entities(text, rng)
        elif wrapper.name == "Markdown escapes":
            text = escapes(text)
        elif wrapper.name == "zero-width characters":
            text = invisible(text, rng)
        elif wrapper.name == "no-break spaces":
            text = text.replace(" ", rng.choice("\u00a0\u202f"))
        elif wrapper.name == "full-width digits":
            text = wide(text)
        elif wrapper.name == "typographic quotes":
            text = typographic(text)
        elif wrapper.name == "JSON":
            text = as_json(text, texts, rng)
        else:
            text = rng.choice(wrapper.spellings).replace(SLOT, text)
    return text
