"""A word's base form by rule, without context: good enough to tell "circles" from "squares".

    lemmas("sits in the corners")      # {"sit", "in", "corner"}

Not English morphology: both sides of a comparison go through the same rules, so what matters is that forms of one word
meet. A final "e" is dropped for that reason ("rides", "riding" -> "rid").
"""

import re
from functools import lru_cache

IRREGULAR = {
    form: lemma
    for lemma, forms in {
        "be": "am are is was were been being 's",
        "have": "has had having",
        "hold": "held",
        "wear": "wore worn",
        "stand": "stood",
        "sit": "sat",
        "li": "lie lies lay lying lain",
        "man": "men",
        "woman": "women",
        "child": "children",
        "person": "people persons",
        "foot": "feet",
        "tooth": "teeth",
        "mouse": "mice",
        "leaf": "leaves",
        "grey": "gray",
    }.items()
    for form in forms.split()
}
_NUMBERS = "zero one two three four five six seven eight nine ten"
IRREGULAR |= {word: str(number) for number, word in enumerate(_NUMBERS.split())}

SILENT = frozenset(("a", "an", "the", "-", "'s", "of", "very"))

_PLURALS = "men women children people persons feet teeth mice leaves these those"
IRREGULAR_PLURALS = frozenset(_PLURALS.split())

_WORD = re.compile(r"[^\W_]+|'s|-")
_VOWEL = re.compile("[aeiouy]")


@lru_cache(maxsize=65536)
def lemmas(text: str) -> frozenset[str]:
    """The base forms of a phrase's words; articles and "of" are left out unless there is nothing else."""
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    return frozenset(lemma(word) for word in words if word not in SILENT) or frozenset(lemma(word) for word in words)


@lru_cache(maxsize=65536)
def lemma(word: str) -> str:
    """The base form of one lower-case word."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and _VOWEL.search(stem) and not word.endswith("eed"):
            double = len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz"
            return (stem[:-1] if double else stem).removesuffix("e")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def is_plural(word: str) -> bool:
    """True for "stars" and "people", False for "star" and "glass": by ending, without context."""
    word = word.lower()
    return word in IRREGULAR_PLURALS or (word.endswith("s") and lemma(word) == lemma(word[:-1]))
