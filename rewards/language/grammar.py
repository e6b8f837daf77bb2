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
# adjectives to the tagger
BEFORE_ARTICLE = ("such", "half", "what", "many", "all", "both", "quite", "likely")
AFTER_THERE = (*FINITE, "RB", "VB", "VBG", "VBN", "TO")
WATCHED = {*ARTICLES, *PLACES, "it", "there"}
WATCHED_TAGS = {*FINITE, "EX", "JJ", "CC"}
BEFORE_IT = (*FINITE, "IN", "VB", "VBG", "TO", "RB")


def misplaced(words: Sequence[Word]) -> list[CharacterSpan]:
    """Returns the characters of each misplaced word and the word after it, in text order."""
    spans = []
    for number, word in enumerate(words):
        if stands_wrongly(words, number):
            following = words[min(number + 1, len(words) - 1)]
            spans.append((word.start, following.end))
    return spans


def stands_wrongly(words: Sequence[Word], number: int) -> bool:
    """Whether the word cannot stand before the next word, or between its neighbours."""
    word = words[number]
    text = word.text.lower()
    if text not in WATCHED and word.tag not in WATCHED_TAGS:
        return False
    behind = words[number + 1].text.lower() if number + 1 < len(words) else ""
    before, following = tag_at(words, number - 1), tag_at(words, number + 1)
    if text in ARTICLES:
        return following in NOT_AFTER_ARTICLE  # "a is", "the in"
    if text in PLACES:
        return following in FINITE or behind in PLACES  # "in is", "in of"
    if text == "it":
        return before not in BEFORE_IT and following in ("NN", "JJ", "IN", ".")  # "bottom it edge"
    if word.tag == "EX":
        # "there large", "small is there is"
        return following not in AFTER_THERE or before in ("VBZ", "VBP")
    if text == "there":
        return following in ("DT", "JJ")  # "sits there the"
    if word.tag == "JJ":
        if behind in ARTICLES:
            return text not in BEFORE_ARTICLE  # "large the"
        between = before in ("NN", "NNS") and following in ("VBZ", "VBD")  # "star large is"
        subject = before not in ("CC", "IN", "DT", ",") and following in FINITE  # "is small has"
        # "small large in"
        return between or subject or following == "PRP" or (before == "JJ" and following == "IN")
    if word.tag in FINITE:
        return following in ("VBZ", "VBP", "VBD")  # "is has"
    return word.tag == following == "CC"


def tag_at(words: Sequence[Word], number: int) -> str:
    """Returns the tag of a word, and "." outside the text."""
    return words[number].tag if 0 <= number < len(words) else "."
