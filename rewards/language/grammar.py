"""Words whose part of speech (Penn Treebank) cannot stand where they do. They tell prose from words
in no order.

    misplaced(words)        # for "The large the circle is at": [(4, 13)], "large the"

In people's texts at most one word in 250 is misplaced, in heaps of words one in five: several close
together mean it.
"""

from collections.abc import Sequence

from spanreward.rewards.language.scene_graph import CharacterSpan
from spanreward.rewards.language.words import ARTICLES, FINITE, Word

PLACES = ("in", "at", "on", "of", "with")
NOT_AFTER_ARTICLE = (*FINITE, "IN", "TO", "EX", "DT", "CC", "PRP", "PRP$", "WDT", ",", ".")
# Words that the tagger takes for adjectives and that stand before an article: "such a", "half the".
BEFORE_ARTICLE = ("such", "half", "what", "many", "all", "both", "quite", "likely")
AFTER_THERE = (*FINITE, "RB", "VB", "VBG", "VBN", "TO")
# Only these words and tags can be misplaced: the others are passed over at once.
WATCHED = {*ARTICLES, *PLACES, "it", "there"}
WATCHED_TAGS = {*FINITE, "EX", "JJ", "CC"}
BEFORE_IT = (*FINITE, "IN", "VB", "VBG", "TO", "RB")


def misplaced(words: Sequence[Word]) -> list[CharacterSpan]:
    """Returns the characters of each misplaced word and the word after it, in text order."""
    spans = []
    for number, word in enumerate(words):
        if stands_wrongly(words, number):
            # the last word has none after it and stands alone
            following = words[min(number + 1, len(words) - 1)]
            spans.append((word.start, following.end))
    return spans


def stands_wrongly(words: Sequence[Word], number: int) -> bool:
    """Whether the word cannot stand before the next word, or between its neighbours.

    number: its place in `words`, which are those of a whole text.
    """
    word = words[number]
    text = word.text.lower()
    # most words are of no interest, and every word of every text passes here
    if text not in WATCHED and word.tag not in WATCHED_TAGS:
        return False
    next_text = ""
    if number + 1 < len(words):
        next_text = words[number + 1].text.lower()
    tag_before = tag_at(words, number - 1)
    next_tag = tag_at(words, number + 1)
    if text in ARTICLES:
        return next_tag in NOT_AFTER_ARTICLE  # "a is", "the in"
    if text in PLACES:
        return next_tag in FINITE or next_text in PLACES  # "in is", "in of"
    if text == "it":
        # "bottom it edge"
        return tag_before not in BEFORE_IT and next_tag in ("NN", "JJ", "IN", ".")
    # "there" as in "there is a dog": this comes before the "there" that says where
    if word.tag == "EX":
        # "there large", "small is there is"
        return next_tag not in AFTER_THERE or tag_before in ("VBZ", "VBP")
    if text == "there":
        return next_tag in ("DT", "JJ")  # "sits there the"
    if word.tag == "JJ":
        if next_text in ARTICLES:
            return text not in BEFORE_ARTICLE  # "large the"
        return _adjective_stands_wrongly(tag_before, next_tag)
    if word.tag in FINITE:
        return next_tag in ("VBZ", "VBP", "VBD")  # "is has"
    # what is left of WATCHED_TAGS: "and or"
    return word.tag == next_tag == "CC"


def _adjective_stands_wrongly(tag_before: str, next_tag: str) -> bool:
    """Whether an adjective cannot stand between words of these tags."""
    if next_tag == "PRP":
        return True  # "small it"
    if tag_before in ("NN", "NNS") and next_tag in ("VBZ", "VBD"):
        return True  # "star large is"
    if tag_before not in ("CC", "IN", "DT", ",") and next_tag in FINITE:
        return True  # "is small has"
    return tag_before == "JJ" and next_tag == "IN"  # "small large in"


def tag_at(words: Sequence[Word], number: int) -> str:
    """Returns the tag of a word, and "." outside the text, as if it stood between two others."""
    if 0 <= number < len(words):
        return words[number].tag
    return "."
