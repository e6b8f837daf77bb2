"""Text without what hides words: "n\\u00ado", "\\uff4e\\uff4f", "n\\u043e" and "n\\u00f3" are all read as "no".

    plain, origin = plain_text("n\\u00ado")      # "no", and [0, 2]: where each character stood

Compatibility forms become their usual letters (Unicode's NFKC), accents, format characters and control characters go,
and Cyrillic and Greek letters that look Latin become Latin. HTML comments and what Markdown strikes out become spaces,
and the bars of a Markdown table commas. Otherwise a text could name a thing as the parser reads it, and deny it as
people read it. "What appears to be" goes: a hedge is a claim.
"""

import re
import unicodedata
from collections.abc import Sequence

_LOOK_ALIKE = str.maketrans(  # from Unicode's confusables.txt
    "аеорсухіјѕԁһӏԛԝАВЕКМНОРСТУХІЈЅҮαοινρυκΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɑɡ", "aeopcyxijsdhlqwABEKMHOPCTYXIJSYaoivpukABEZHIKMNOPTYXiag"
)
_FILLERS = "\u115f\u1160\u3164\uffa0"  # letters without a glyph
LONGEST = 4  # letters that one character may become
_REMOVED = ("Cf", "Mn", "Me")
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|~~(?=\S).*?~~", re.DOTALL)
_HEDGE = re.compile(
    r"\bwhat (?:appears?|seems?) to be |\bwhat looks? like |\bwhat (?:is|are) (?:probably|likely|possibly) "
)
_ROW = re.compile(r"^[ \t]*\|[^\n]*$", re.MULTILINE)


def plain_text(text: str) -> tuple[str, Sequence[int]]:
    """Returns the text as it is read, and for each of its characters its place in the text as given."""
    text = _HIDDEN.sub(_blank, text)
    text = _ROW.sub(lambda row: row[0].replace("|", ",") if any(map(str.isalnum, row[0])) else _blank(row), text)
    hedges = {place for hedge in _HEDGE.finditer(text) for place in range(*hedge.span())}
    if not hedges and text.isascii() and text.isprintable():
        return text, range(len(text))
    pieces = ["" if place in hedges else _plain(character) for place, character in enumerate(text)]
    origin = [place for place, piece in enumerate(pieces) for _ in piece]
    return "".join(pieces), origin


def hides(text: str) -> bool:
    """Whether a text has words that people do not read: in HTML comments, or struck out."""
    return _HIDDEN.search(text) is not None


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _plain(character: str) -> str:
    if character.isascii():
        return character if character.isprintable() or character.isspace() else ""
    if unicodedata.category(character) in _REMOVED or character in _FILLERS:
        return ""
    letters = unicodedata.normalize("NFKD", character).translate(_LOOK_ALIKE)
    if letters[0].isascii():
        return "".join(letter for letter in letters if not unicodedata.combining(letter))
    composed = unicodedata.normalize("NFKC", character)
    return composed if len(composed) <= LONGEST else character  # U+FDFA has 18 letters
