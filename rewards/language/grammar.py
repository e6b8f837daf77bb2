"""Finds words whose part of speech (Penn Treebank) is impossible at their place. Many such words
show that a text is no prose but words in no order.

    misplaced_words(words)  # for "The large the circle is at": [(4, 13)], "large the"

In people's texts at most one word in 250 is misplaced. In heaps of words one word in five is
misplaced. So several misplaced words close together show a heap of words.
"""

from collections.abc import Sequence

from spanreward.rewards.language.scene_graph import CharacterSpan
from spanreward.rewards.language.words import ARTICLES, FINITE_VERB_TAGS, Word

PLACE_PREPOSITIONS = ("in", "at", "on", "of", "with")
NOT_AFTER_ARTICLE = (
    *FINITE_VERB_TAGS,
    "IN",
    "TO",
    "EX",
    "DT",
    "CC",
    "PRP",
    "PRP$",
    "WDT",
    ",",
    ".",
)
# Words with the tag of an adjective that may come before an article: "such a", "half the".
BEFORE_ARTICLE = ("such", "half", "what", "many", "all", "both", "quite", "likely")
AFTER_THERE = (*FINITE_VERB_TAGS, "RB", "VB", "VBG", "VBN", "TO")
# Only these words and tags can be misplaced. Other words are skipped at once.
WATCHED_WORDS = {*ARTICLES, *PLACE_PREPOSITIONS, "it", "there"}
WATCHED_TAGS = {*FINITE_VERB_TAGS, "EX", "JJ", "CC"}
BEFORE_IT = (*FINITE_VERB_TAGS, "IN", "VB", "VBG", "TO", "RB")


def misplaced_words(words: Sequence[Word]) -> list[CharacterSpan]:
    """Returns the misplaced words in text order. Each span covers a misplaced word and the word
    after it.
    """
    spans = []
    for number, word in enumerate(words):
        if is_misplaced(words, number):
            # the span of the last word of the text covers only this word
            following = words[min(number + 1, len(words) - 1)]
            spans.append((word.start, following.end))
    return spans


def is_misplaced(words: Sequence[Word], number: int) -> bool:
    """Whether a word cannot come before the next word, or cannot come between its two neighbours.

    words: the words of a whole text.
    number: the index of the word in `words`.
    """
    word = words[number]
    text = word.text.lower()
    # a fast exit for most words, because this function checks every word of every text
    if text not in WATCHED_WORDS and word.tag not in WATCHED_TAGS:
        return False
    next_text = ""
    if number + 1 < len(words):
        next_text = words[number + 1].text.lower()
    tag_before = tag_at(words, number - 1)
    next_tag = tag_at(words, number + 1)
    if text in ARTICLES:
        return next_tag in NOT_AFTER_ARTICLE  # "a is", "the in"
    if text in PLACE_PREPOSITIONS:
        return next_tag in FINITE_VERB_TAGS or next_text in PLACE_PREPOSITIONS  # "in is", "in of"
    if text == "it":
        # "bottom it edge"
        return tag_before not in BEFORE_IT and next_tag in ("NN", "JJ", "IN", ".")
    if word.tag == "EX" or text == "there":
        return _is_misplaced_there(word.tag, tag_before, next_tag)
    if word.tag == "JJ":
        if next_text in ARTICLES:
            return text not in BEFORE_ARTICLE  # "large the"
        return _is_misplaced_adjective(tag_before, next_tag)
    if word.tag in FINITE_VERB_TAGS:
        return next_tag in ("VBZ", "VBP", "VBD")  # "is has"
    # only the tag CC is left: "and or"
    return word.tag == next_tag == "CC"


def _is_misplaced_there(tag: str, tag_before: str, next_tag: str) -> bool:
    """Whether a "there" with this tag cannot come between two words with these tags. The tag EX is
    the "there" of "there is a dog", and other tags are the "there" of a place.
    """
    if tag == "EX":
        # "there large", "small is there is"
        return next_tag not in AFTER_THERE or tag_before in ("VBZ", "VBP")
    return next_tag in ("DT", "JJ")  # "sits there the"


def _is_misplaced_adjective(tag_before: str, next_tag: str) -> bool:
    """Whether an adjective cannot come between two words with these tags."""
    if next_tag == "PRP":
        return True  # "small it"
    if tag_before in ("NN", "NNS") and next_tag in ("VBZ", "VBD"):
        return True  # "star large is"
    if tag_before not in ("CC", "IN", "DT", ",") and next_tag in FINITE_VERB_TAGS:
        return True  # "is small has"
    return tag_before == "JJ" and next_tag == "IN"  # "small large in"


def tag_at(words: Sequence[Word], number: int) -> str:
    """Returns the tag of the word at an index. Outside the text the tag is ".", as if other
    sentences came before and after.
    """
    if 0 <= number < len(words):
        return words[number].tag
    return "."
