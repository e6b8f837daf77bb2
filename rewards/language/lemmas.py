"""A word's base form by rule, without context.

    lemmas("sits in the corners")      # {"sit", "in", "corner"}

The rules only make the forms of one word equal, as both sides go through them: "rides" and "riding"
give "rid".
"""

import re
from functools import lru_cache

from spanreward.rewards.language.words import DIGITS, word_set

# Groups of forms, the base form first: verbs | nouns | words with two spellings or a short form.
_FORMS = """
    be am are is was were been being 's; have has had having; lie lies lay lying lain; die dying;
    tie tied tying; blow blew blown; break broke broken; build built; catch caught; drive drove
    driven; eat ate eaten; fall fell fallen; feed fed; fight fought; fly flew flown; give gave
    given; go goes went gone; hang hung; hold held; keep kept; lead led; light lit; make made; ride
    rode ridden; ring rang rung; run ran; shake shook shaken; shine shone; sing sang sung; sit sat;
    sleep slept; stand stood; stick stuck; sweep swept; swim swam swum; swing swung; take took
    taken; throw threw thrown; wear wore worn; write wrote written |
    man men; woman women; child children; person people persons; foot feet; goose geese; half
    halves; knife knives; leaf leaves; loaf loaves; mouse mice; scarf scarves; shelf shelves; tooth
    teeth; wife wives; wolf wolves |
    grey gray; donut doughnut doughnuts; racket racquet racquets; tire tyre tyres; bike bicycle
    bicycles; fridge refrigerator refrigerators; phone telephone telephones; photo photograph
    photographs; plane airplane airplanes aeroplane aeroplanes; television tv tvs
"""

SILENT_WORDS = word_set("a an the 's of very")

# words of a hyphenated one, aside from those of SMALL_PARTS; one with more is a word of its own
MOST_PARTS = 2
SMALL_PARTS = word_set("a an the and or of in on to by with at")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_VOWEL = re.compile("[aeiouy]")


@lru_cache(maxsize=8192)
def lemmas(text: str) -> frozenset[str]:
    """Returns the base forms of a phrase's words, without articles and "of" unless the phrase has
    no other words.

    A word has no white space. "red.zebra" is one word, and "snow-covered" is two.
    """
    words: list[str] = []
    for word in text.lower().replace("\u2019", "'").split():
        words += _parts_of_word(word)
    content = [word for word in words if word not in SILENT_WORDS]
    return frozenset(map(lemma, content or words))


def _parts_of_word(word: str) -> list[str]:
    if word == "'s":
        return [word]
    trimmed = _EDGES.sub("", word).removesuffix("'s")
    parts = [part for part in trimmed.split("-") if part]
    content = [part for part in parts if part not in SMALL_PARTS]
    return parts if len(content) <= MOST_PARTS else ["-".join(parts)]


@lru_cache(maxsize=8192)
def lemma(word: str) -> str:
    """Returns the base form of one lower-case word."""
    return IRREGULAR.get(word) or _regular(word)


@lru_cache(maxsize=8192)
def kin(word: str) -> frozenset[str]:
    """Returns base forms of nouns that an adjective may come from: "snowy" from "snow", "wooden"
    from "wood".

    Many of them are no words ("pony" gives "pon"). Look them up only among words that a text has.
    """
    stems = []
    for ending in ("y", "en", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            stems.append(stem)
            if stem[-1] == stem[-2]:
                stems.append(stem[:-1])
    return frozenset(_regular(stem) for stem in stems)


def _regular(word: str) -> str:
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and _VOWEL.search(stem) and not word.endswith("eed"):
            if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
                stem = stem[:-1]  # "runn"
            return stem.removesuffix("e")
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "oes")) and len(word) > 5:
        return word[:-2]
    if word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


_VERBS, _NOUNS, _SPELLINGS = (
    [group.split() for group in part.split(";")] for part in _FORMS.split("|")
)
IRREGULAR = {
    form: _regular(base) for base, *forms in _VERBS + _NOUNS + _SPELLINGS for form in forms
} | DIGITS
IRREGULAR_PLURALS = frozenset(("these", "those", *(form for _, *forms in _NOUNS for form in forms)))


@lru_cache(maxsize=8192)
def is_plural(word: str) -> bool:
    """True for "stars" and "people", False for "star" and "glass".

    It looks at the word's form alone.
    """
    word = word.lower()
    return word in IRREGULAR_PLURALS or (word.endswith("s") and lemma(word) == lemma(word[:-1]))
