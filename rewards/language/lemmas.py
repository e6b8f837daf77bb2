"""The base form of a word, found by rules without context.

    lemmas_of_phrase("sits in the corners")      # {"sit", "in", "corner"}

A base form need not be a real word: "rides" and "riding" give "rid". All forms of one word only
have to give the same base form, because both sides of a comparison use these rules.
"""

import re
from functools import lru_cache

from spanreward.rewards.language.words import DIGITS_OF_WORDS, word_set

# Groups of forms, the base form first: verbs | nouns | words with two spellings or a short form.
# The regular forms "being" and "lying" are listed because the rules do not find "be" and "lie".
_IRREGULAR_FORMS = """
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

# most parts of a hyphenated word that is cut into parts, not counting SMALL_PARTS
MOST_PARTS = 2
SMALL_PARTS = word_set("a an the and or of in on to by with at")
_EDGE_SIGNS = re.compile(r"^[\W_]+|[\W_]+$")
_VOWEL = re.compile("[aeiouy]")


@lru_cache(maxsize=8192)
def lemmas_of_phrase(text: str) -> frozenset[str]:
    """Returns the base forms of the words of a phrase. Articles and words such as "of" are left
    out, unless the phrase has no other words.

    White space and hyphens separate words: "red.zebra" is one word, and "snow-covered" is two
    words.
    """
    lowered = text.lower().replace("\u2019", "'")
    words: list[str] = []
    for word in lowered.split():
        words += _parts_of_word(word)
    content = [word for word in words if word not in SILENT_WORDS]
    return frozenset(map(lemma_of_word, content or words))


def _parts_of_word(word: str) -> list[str]:
    """Returns the parts between the hyphens of a lower-case word: ["red", "brown"] for
    "(red-brown)". Signs around the word and a final "'s" are removed.

    A word with more than MOST_PARTS parts is one part. Small words (SMALL_PARTS) do not count.
    """
    # an "'s" that a tokenizer separated is a form of "be", and must not be removed as an ending
    if word == "'s":
        return [word]
    trimmed = _EDGE_SIGNS.sub("", word).removesuffix("'s")
    parts = [part for part in trimmed.split("-") if part]
    counted = [part for part in parts if part not in SMALL_PARTS]
    if len(counted) <= MOST_PARTS:
        return parts
    return ["-".join(parts)]


@lru_cache(maxsize=8192)
def lemma_of_word(word: str) -> str:
    """Returns the base form of one lower-case word."""
    return IRREGULAR.get(word) or _base_form_by_ending(word)


@lru_cache(maxsize=8192)
def nouns_of_adjective(word: str) -> frozenset[str]:
    """Returns base forms of nouns from which an adjective may come: "snow" for "snowy", "wood" for
    "wooden".

    Many results are no words ("pony" gives "pon"), so look the results up among the words of a
    text.
    """
    stems = []
    for ending in ("y", "en", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            stems.append(stem)
            # "sunny" from "sun", but "grassy" from "grass": both are tried
            if stem[-1] == stem[-2]:
                stems.append(stem[:-1])
    return frozenset(_base_form_by_ending(stem) for stem in stems)


def _base_form_by_ending(word: str) -> str:
    """Returns the base form of one lower-case word by its ending alone: "pony" for "ponies", "run"
    for "running", "box" for "boxes".

    The two functions below also remove a final "e", because "riding" has lost its "e": "ride" and
    "riding" give "rid".
    """
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    return _stem_of_verb(word) or _without_plural_ending(word)


def _stem_of_verb(word: str) -> str:
    """Returns the base form of a word with the ending "ing" or "ed": "run" for "running", "rid" for
    "riding". Returns "" for other words, such as "string" and "seed".
    """
    if word.endswith("ing"):
        stem = word.removesuffix("ing")
    elif word.endswith("ed") and not word.endswith("eed"):
        stem = word.removesuffix("ed")
    else:
        return ""
    # the "ing" of "string" and "bring" is no ending
    if len(stem) <= 2 or not _VOWEL.search(stem):
        return ""
    is_doubled = len(stem) > 3 and stem[-1] == stem[-2]
    # the "ll", "ss" and "zz" of "falling", "passing" and "buzzing" belong to the base form
    if is_doubled and stem[-1] not in "lsz":
        stem = stem[:-1]  # "runn"
    return stem.removesuffix("e")


def _without_plural_ending(word: str) -> str:
    """Returns the word without the "s" of a plural and without a final "e": "box" for "boxes",
    "plat" for "plates" and for "plate". Short words stay as they are: "gas", "toe".
    """
    is_plain_word = word.endswith(("ss", "us", "is"))  # "glass", "bus", "tennis"
    if word.endswith("s") and len(word) > 3 and not is_plain_word:
        word = word[:-1]
    if len(word) > 3:
        return word.removesuffix("e")
    return word


def _groups_of_forms(text: str) -> list[list[str]]:
    """Returns the groups of words that ";" separates. A group is a base form, followed by its other
    forms.
    """
    return [group.split() for group in text.split(";")]


_VERBS, _NOUNS, _SPELLINGS = map(_groups_of_forms, _IRREGULAR_FORMS.split("|"))


def _irregular_forms() -> dict[str, str]:
    """Returns the base form of each irregular form, as a dict: "sat" gives "sit", "men" gives "man"
    and "two" gives "2". The rules about endings do not find the base forms of these words.
    """
    base_of_form = {}
    for base, *forms in _VERBS + _NOUNS + _SPELLINGS:
        # The rules shorten the base form "ride" to "rid". "rode" must give "rid" too, because all
        # forms of a word must give the same text.
        shortened_base = _base_form_by_ending(base)
        for form in forms:
            base_of_form[form] = shortened_base
    base_of_form.update(DIGITS_OF_WORDS)
    return base_of_form


def _irregular_plurals() -> frozenset[str]:
    """Returns plurals that are not just the word with an "s": "men", "knives"."""
    plurals = ["these", "those"]
    for _, *forms in _NOUNS:
        plurals += forms
    return frozenset(plurals)


IRREGULAR = _irregular_forms()
IRREGULAR_PLURALS = _irregular_plurals()


@lru_cache(maxsize=8192)
def is_plural(word: str) -> bool:
    """Whether a word is a plural: True for "stars" and "people", False for "star" and "glass".

    Only the form of the word decides.
    """
    word = word.lower()
    if word in IRREGULAR_PLURALS:
        return True
    # this excludes "glass", because "glass" and "glas" have different base forms
    return word.endswith("s") and lemma_of_word(word) == lemma_of_word(word[:-1])
