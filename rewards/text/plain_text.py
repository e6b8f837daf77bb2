"""Text without what hides words: "n\\u00ado", "\\uff4e\\uff4f", "n\\u043e" and "n\\u00f3" are all
read as "no".

    plain, origin = plain_text("n\\u00ado")      # "no", and [0, 2]: where each character stood

Compatibility forms become their usual letters (Unicode's NFKC), accents, format characters and
control characters go, and Cyrillic and Greek letters that look Latin become Latin. Markup goes
(written.py). Otherwise a text could name a thing as the parser reads it, and deny it as people read
it. "What appears to be" goes: a hedge is a claim.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from spanreward.rewards.text.written import read_text

# from Unicode's confusables.txt
_LOOK_ALIKE = str.maketrans("\u2010\u2011\u2019", "--'") | str.maketrans(
    "аеорсухіјѕԁһӏԛԝАВЕКМНОРСТУХІЈЅҮαοινρυκΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɑɡ",
    "aeopcyxijsdhlqwABEKMHOPCTYXIJSYaoivpukABEZHIKMNOPTYXiag",
)
_FILLERS = "\u115f\u1160\u3164\uffa0"  # letters without a glyph
MOST_PLAIN_CHARACTERS = 4  # letters that one character may become
_REMOVED = ("Cf", "Mn", "Me")  # Unicode's categories of format characters and combining marks
_HEDGE = re.compile(
    r"\bwhat (?:appears?|seems?) to be |\bwhat looks? like "
    r"|\bwhat (?:is|are) (?:probably|likely|possibly) "
)


def plain_text(text: str) -> tuple[str, Sequence[int]]:
    """Returns the text as it is read, and for each of its characters its place in the text as
    given.
    """
    reading = read_text(text)
    text = reading.plain
    hedges: set[int] = set()  # the places of their characters
    for hedge in _HEDGE.finditer(text):
        hedges.update(range(*hedge.span()))
    # nearly always, and without a look at each character
    if not hedges and text.isascii() and text.isprintable():
        return text, reading.origin
    pieces = []
    origin = []
    for number, (character, place) in enumerate(zip(text, reading.origin, strict=True)):
        if number in hedges:
            continue
        # one character may become none or several letters, all of which come from its place
        letters = unhidden(character)
        pieces.append(letters)
        origin += [place] * len(letters)
    return "".join(pieces), origin


@lru_cache(maxsize=8192)
def unhidden(character: str) -> str:
    """Returns the letters that a character is read as, "" for one that is not seen."""
    if character.isascii():
        return character if character.isprintable() or character.isspace() else ""
    if unicodedata.category(character) in _REMOVED or character in _FILLERS:
        return ""
    letters = unicodedata.normalize("NFKD", character).translate(_LOOK_ALIKE)
    # a Latin letter, perhaps with accents behind it, which go
    if letters[0].isascii():
        return "".join(letter for letter in letters if not unicodedata.combining(letter))
    # in other scripts an accent is part of the letter
    composed = unicodedata.normalize("NFKC", character)
    if len(composed) > MOST_PLAIN_CHARACTERS:
        return character  # U+FDFA would have 18 letters
    return composed
