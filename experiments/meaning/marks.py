# ruff: noqa: RUF001 -- characters that look alike are what this is about
"""Marked words in texts with markup, emoji and combining marks, and texts for a table's cells."""

import random
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from experiments.meaning.markup import WRAPPERS, Wrapper, wrap
from experiments.meaning.pairs import COUNT, around, fitting, suits, texts_of

BEFORE = {
    "nothing before": ("",),
    "emoji before": ("😀 ", "👩‍🚒👨‍👩‍👧 ", "🇫🇷🇮🇹: ", "❤️ ", "1️⃣ "),
    "combining marks before": (
        "Cafe\u0301: ",
        "Z\u0351a\u0327l\u0334go: ",
        "नमस्ते, ",
        "ไม่ใช่ ",
        "dừa: ",
    ),
    "wide characters before": ("ＡＢＣ： ", "𝐁𝐨𝐥𝐝: ", "ﬁne: ", "İstanbul: ", "Straße ﬀ: "),
}
CELLS = (
    "None",
    "none",
    "NA",
    "N/A",
    "nan",
    "NaN",
    "null",
    "True",
    "false",
    "007",
    "1e3",
    "1.0",
    "1.10",
    "+5",
    "-0",
    "inf",
    "0x10",
    "1_000",
    "1,200",
    "2021-03-04",
    "-",
    "=1+2",
    "'5",
    '"',
    '"5"',
    "a;b",
    "a\tb",
    "a\nb",
    "a\r\nb",
    " 5",
    "5 ",
    "[1, 2]",
    '["a"]',
    '{"a": 1}',
    "\\N",
    "\\n",
    "#5",
    "#N/A",
    "५",
    "\u20285",
    "a\x0bb",
    "a\x85b",
    "(5)",
    "5\u00a0%",
)


@dataclass(frozen=True)
class Mark:
    """A marked word of a completion: its characters from start to end."""

    dimension: str
    text: str
    start: int
    end: int


def word_in(bare: str, text: str, rng: random.Random) -> tuple[int, int] | None:
    """Returns the range in the text of a word that both have once and that a reader is shown, or
    None without such a word. Names of LaTeX commands and struck-out words are not shown.
    """
    if "\\" in bare or "~~" in bare or "</" in bare:
        return None
    words = [word for word in re.findall(r"\w+", bare) if len(word) > 1]
    rng.shuffle(words)
    for word in words:
        in_markup = any(word in spelling for wrapper in WRAPPERS for spelling in wrapper.spellings)
        in_escape = word.isdigit() and "\\u" in text
        if text.count(word) == 1 and bare.count(word) == 1 and not in_markup and not in_escape:
            return text.index(word), text.index(word) + len(word)
    return None


def all_marks(seed: int = 0, count: int = COUNT) -> list[Mark]:
    """Returns marked words: for each wrapper, and for what stands before them."""
    marks: list[Mark] = []
    for texts in ("answer", "caption"):
        for wrapper in WRAPPERS:
            rng = random.Random(f"{seed} marks {texts} {wrapper.name}")
            marks.extend(in_wrapper(wrapper, texts, rng, count // 2))
    for name, starts in BEFORE.items():
        rng = random.Random(f"{seed} marks {name}")
        marks.extend(after(name, starts, rng, count))
    return marks


def in_wrapper(wrapper: Wrapper, texts: str, rng: random.Random, count: int) -> Iterator[Mark]:
    """Yields marked words of texts in this wrapper and others."""
    made = 0
    for tries, (dimension, _, bare) in enumerate(texts_of(texts, rng)):
        if made == count or tries == 200 * count:
            return
        if not suits(dimension, wrapper, bare, texts):
            continue
        usable = fitting(dimension, (bare, bare), texts)
        text = wrap(bare, around([wrapper], usable, rng), texts, rng)
        place = word_in(bare, text, rng)
        if place is not None:
            made += 1
            yield Mark(wrapper.name, text, *place)


def after(name: str, starts: tuple[str, ...], rng: random.Random, count: int) -> Iterator[Mark]:
    """Yields marked words of captions that stand after such characters, some in markup."""
    made = 0
    for dimension, _, bare in texts_of("caption", rng):
        if made == count:
            return
        usable = fitting(dimension, (bare, bare), "caption")
        text = wrap(bare, around([], usable, rng), "caption", rng)
        place = word_in(bare, text, rng)
        if place is None or text.startswith(("#", "-", ">", "|", "`", "*", "{", "1.", "<", "~")):
            continue  # what has to stand at the start of a line
        start = unicodedata.normalize("NFC", rng.choice(starts))
        if name == "combining marks before":
            start = unicodedata.normalize("NFD", start)
        made += 1
        yield Mark(name, start + text, place[0] + len(start), place[1] + len(start))
