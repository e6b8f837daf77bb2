"""Undoes tricks that hide words: "n\\u00ado", "\\uff4e\\uff4f", "n\\u043e" and "n\\u00f3" are all
read as "no".

    plain, origin = plain_text("n\\u00ado")      # "no", and [0, 2]: the offset of each character

Compatibility forms become their usual letters (Unicode's NFKC). Accents, format characters and
control characters are dropped. Cyrillic and Greek letters that look Latin become Latin. Markup is
dropped (written.py). Otherwise a policy could hide the "no" of "no dog" from the parser: people
would read a denial, and the metric would read a claim. Hedges such as "what appears to be" are
dropped: "what appears to be a dog" counts as a claim of a dog.
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
_HANGUL_FILLERS = "\u115f\u1160\u3164\uffa0"  # Unicode's Hangul fillers, letters that show nothing
MOST_PLAIN_CHARACTERS = 4  # a character that would become more letters is kept unchanged
# Unicode's categories of format characters and combining marks
_REMOVED_CATEGORIES = ("Cf", "Mn", "Me")
# words that weaken a claim: "what appears to be a dog"
_HEDGING_WORDS = re.compile(
    r"\bwhat (?:appears?|seems?) to be |\bwhat looks? like "
    r"|\bwhat (?:is|are) (?:probably|likely|possibly) "
)


def plain_text(text: str) -> tuple[str, Sequence[int]]:
    """Returns the plain text, and for each character of the plain text its offset in `text`:
    ("a dog", [0, 1, 21, 22, 23]) for "a what appears to be dog".

    A hedge, such as "what appears to be", is dropped: "what appears to be a dog" counts as a claim
    of a dog.
    """
    reading = read_text(text)
    text = reading.plain
    hedge_offsets: set[int] = set()  # the offset of every character of a hedge
    for hedge in _HEDGING_WORDS.finditer(text):
        hedge_offsets.update(range(hedge.start(), hedge.end()))
    # nearly all texts need no further change, which is fast to see
    if not hedge_offsets and text.isascii() and text.isprintable():
        return text, reading.origin
    pieces = []
    origin = []
    for number, (character, place) in enumerate(zip(text, reading.origin, strict=True)):
        if number in hedge_offsets:
            continue
        # a character may become no letter or several letters, all with the character's offset
        letters = visible_letters(character)
        pieces.append(letters)
        origin += [place] * len(letters)
    return "".join(pieces), origin


@lru_cache(maxsize=8192)
def visible_letters(character: str) -> str:
    """Returns the letters that a character is read as, "" for an invisible character.

    `"\uff4e"`, a wide n, gives `"n"`.
    """
    if character.isascii():
        return character if character.isprintable() or character.isspace() else ""
    if unicodedata.category(character) in _REMOVED_CATEGORIES or character in _HANGUL_FILLERS:
        return ""
    letters = unicodedata.normalize("NFKD", character).translate(_LOOK_ALIKE)
    # a Latin letter: drop its accents
    if letters[0].isascii():
        return "".join(letter for letter in letters if not unicodedata.combining(letter))
    # in other scripts an accent is part of the letter
    composed = unicodedata.normalize("NFKC", character)
    if len(composed) > MOST_PLAIN_CHARACTERS:
        return character  # U+FDFA, for example, would become 18 letters
    return composed
