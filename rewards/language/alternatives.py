"""Which words of a sentence an "or" leaves open: all of the alternatives.

    left_open(["a", "red", "or", "blue", "circle"], ["DT", "JJ", "CC", "JJ", "NN"])       # {1, 2, 3}

If "either red or blue" asserted a colour, a list of all colours would always contain the right one.
"""

from collections.abc import Sequence

from spanreward.rewards.language.denial import BEFORE_NOUN, NOUNS, OPENS, clause_end
from spanreward.rewards.language.words import FINITE, word_set

OR = word_set("or and/or")
NO_ALTERNATIVE = word_set("so less more not")  # "two or so", "more or less", "whether or not"
ANYTHING = word_set("something anything nothing none")  # "there is a star or something else"
EITHER_ONE = word_set("side sides end ends hand of")  # "on either side"
ADJECTIVES = ("JJ", "JJR", "JJS", "CD", "VBN", "PRP$")
VERBS = ("VB", "VBZ", "VBP", "VBD", "VBG", "VBN", "MD")
PLACING = ("IN", "TO")
LISTED = (*NOUNS, *ADJECTIVES, "VBD", "RB")  # taggers give "right" and "left" many tags


def left_open(texts: Sequence[str], tags: Sequence[str]) -> set[int]:
    """Returns the places of the words that are alternatives.

    texts: the words of one sentence in lower case. tags: their parts of speech (Penn Treebank).
    """
    found: set[int] = set()
    begin = 0  # where the clause begins
    finite = False  # whether the clause has its verb
    there = False  # whether the clause says "there is"
    whether = False  # whether the sentence has "whether"
    either = None  # the place of an "either" without its "or"
    reached = 0  # the end of the last alternatives
    for at, text in enumerate(texts):
        behind = texts[at + 1] if at + 1 < len(texts) else ""
        if text == "either" and behind not in EITHER_ONE:
            either = at
        if text in OR and behind == "not" and not whether:
            found.update(range(begin, at + 2))
        if text in OR and at >= reached and behind and behind not in NO_ALTERNATIVE:
            start, end = left_of(texts, tags, at), right_of(texts, tags, at)
            wild = behind in ANYTHING and there
            if not at or wild or (finite and is_clause(tags, at + 1)):
                start, end = begin, clause_end(texts, tags, at + 1)
            found.update(range(start if either is None else either, end))
            either, reached = None, end
        if text in OPENS and text not in OR:
            begin, finite, there = at + 1, False, False
        finite = finite or tags[at] in FINITE
        there = there or tags[at] == "EX"
        whether = whether or text == "whether"
    return found


def is_clause(tags: Sequence[str], at: int) -> bool:
    """Whether a subject and its verb begin at this place."""
    if at < len(tags) and tags[at] == "EX":
        return True
    end = noun_end(tags, at)
    return end > at and end < len(tags) and tags[end] in FINITE


def left_of(texts: Sequence[str], tags: Sequence[str], at: int) -> int:
    """Returns the start of the alternative before "or", and of those before it in a list with commas."""
    place = at - 1
    if place > 0 and texts[place] == ",":  # "a star, or a square"
        place -= 1
    if place < 0:
        return at
    start = item_start(tags, place)
    placed = at + 1 < len(tags) and tags[at + 1] in PLACING
    if placed and start and tags[start - 1] in PLACING:  # "in the corner or at the edge"
        return start - 1
    while start > 1 and texts[start - 1] == "," and tags[start - 2] in LISTED:
        earlier = item_start(tags, start - 2)
        phrase = start < place and tags[start] in ("DT", "RB")  # "on the table, a cup or a glass", "possibly a cup or"
        if tags[start] == "VBG":  # "a wet street, suggesting rain or snow"
            break
        if phrase and (tags[start] == "RB" or (earlier and tags[earlier - 1] in PLACING)):
            break
        start, place = earlier, start - 2
    return start


def item_start(tags: Sequence[str], place: int) -> int:
    """Returns the start of the list item that ends at this place: a noun phrase, or the word alone."""
    return noun_start(tags, place) if tags[place] in NOUNS else place


def right_of(texts: Sequence[str], tags: Sequence[str], at: int) -> int:
    """Returns the end of the alternative after "or"."""
    place = at + 1
    before = tags[at - 1] if at else ""
    if tags[place] in VERBS and tags[place] not in ADJECTIVES:
        return place + 1 if before in VERBS else clause_end(texts, tags, place)
    if tags[place] in PLACING:
        place += 1
    if before not in NOUNS and place < len(tags) and tags[place] in (*ADJECTIVES, *NOUNS):
        end = place + 1
        while end < len(tags) and tags[end] in ADJECTIVES:  # "or dark blue"
            end += 1
        return end
    return max(noun_end(tags, place), place + 1)


def noun_start(tags: Sequence[str], place: int) -> int:
    """Returns the start of the noun phrase of the word at this place."""
    while place and tags[place - 1] in (*NOUNS, *BEFORE_NOUN):
        place -= 1
    return place


def noun_end(tags: Sequence[str], place: int) -> int:
    """Returns the end of the noun phrase that begins at this place."""
    while place < len(tags) and tags[place] in BEFORE_NOUN:
        place += 1
    while place < len(tags) and tags[place] in NOUNS:
        place += 1
    return place
