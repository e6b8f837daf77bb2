"""A word's base form by rule, without context.

    lemmas("sits in the corners")      # {"sit", "in", "corner"}

The rules only make the forms of one word equal, as both sides go through them: "rides" and "riding"
give "rid".
"""

import re
from functools import lru_cache

from spanreward.rewards.language.words import DIGITS, word_set

# Groups of forms, the base form first: verbs | nouns | words with two spellings or a short form.
# "being" and "lying" stand here although they are regular: the rules would not give "be" and "lie".
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
    lowered = text.lower().replace("\u2019", "'")
    words: list[str] = []
    for word in lowered.split():
        words += _parts_of_word(word)
    content = [word for word in words if word not in SILENT_WORDS]
    return frozenset(map(lemma, content or words))


def _parts_of_word(word: str) -> list[str]:
    """Returns the parts between the hyphens of a lower-case word, without signs around it and "'s"
    at its end. A word of many parts is not cut.
    """
    # a form of "be" that a tokenizer cut off; as an ending it would vanish
    if word == "'s":
        return [word]
    trimmed = _EDGES.sub("", word).removesuffix("'s")
    parts = [part for part in trimmed.split("-") if part]
    content = [part for part in parts if part not in SMALL_PARTS]
    if len(content) <= MOST_PARTS:
        return parts
    return ["-".join(parts)]


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
            # "sunny" from "sun", but "grassy" from "grass": both are tried
            if stem[-1] == stem[-2]:
                stems.append(stem[:-1])
    return frozenset(_regular(stem) for stem in stems)


def _regular(word: str) -> str:
    """Returns the base form of one lower-case word by its ending alone.

    A final "e" goes everywhere, since "riding" has lost it: "ride" and "riding" give "rid".
    """
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        if not word.endswith(ending) or word.endswith("eed"):
            continue
        stem = word.removesuffix(ending)
        # in "string" and "bring" it is no ending
        if len(stem) > 2 and _VOWEL.search(stem):
            is_doubled = len(stem) > 3 and stem[-1] == stem[-2]
            # the "ll", "ss" and "zz" of "falling", "passing" and "buzzing" are the base form's
            if is_doubled and stem[-1] not in "lsz":
                stem = stem[:-1]  # "runn"
            return stem.removesuffix("e")
    has_es = word.endswith(("sses", "shes", "ches", "xes", "zes", "oes"))
    if has_es and len(word) > 5:
        return word[:-2]
    is_plain_word = word.endswith(("ss", "us", "is"))  # "glass", "bus", "tennis"
    if word.endswith("s") and len(word) > 3 and not is_plain_word:
        word = word[:-1]
    if len(word) > 3:
        return word.removesuffix("e")
    return word


def _groups_of_forms(text: str) -> list[list[str]]:
    """Returns the groups of words that ";" separates, each the base form and then its forms."""
    return [group.split() for group in text.split(";")]


_VERBS, _NOUNS, _SPELLINGS = map(_groups_of_forms, _FORMS.split("|"))


def _irregular_forms() -> dict[str, str]:
    """Returns the base form of each form that the rules cannot find."""
    base_of_form = {}
    for base, *forms in _VERBS + _NOUNS + _SPELLINGS:
        for form in forms:
            # the base form as the rules leave it, as they leave the word itself
            base_of_form[form] = _regular(base)
    base_of_form.update(DIGITS)
    return base_of_form


def _irregular_plurals() -> frozenset[str]:
    """Returns plurals that are more than the word with an "s": "men", "knives"."""
    plurals = ["these", "those"]
    for _, *forms in _NOUNS:
        plurals += forms
    return frozenset(plurals)


IRREGULAR = _irregular_forms()
IRREGULAR_PLURALS = _irregular_plurals()


@lru_cache(maxsize=8192)
def is_plural(word: str) -> bool:
    """True for "stars" and "people", False for "star" and "glass".

    It looks at the word's form alone.
    """
    word = word.lower()
    if word in IRREGULAR_PLURALS:
        return True
    # "glass" has another base form than "glas"
    return word.endswith("s") and lemma(word) == lemma(word[:-1])
