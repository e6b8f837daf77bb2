"""The F1 of two bags of words, a baseline for judges.

bag_f1("a red circle", ["A circle."])      # 0.67: best single reference, stop words left out

A judge that reads the text must do clearly better than this baseline on the same records.
"""

import re
from collections import Counter
from collections.abc import Sequence

_STOP_WORDS = "a an and are at be by for from in is it of on or that the this to with"
STOP_WORDS = frozenset(_STOP_WORDS.split())
BAG_WORD = re.compile(r"[a-z0-9]+")


def content_words(text: str) -> list[str]:
    """Returns the lower-case words without stop words, in order, with repeats: "A dog and the red
    dog" gives ["dog", "red", "dog"].
    """
    return [word for word in BAG_WORD.findall(text.lower()) if word not in STOP_WORDS]


def bag_f1(text: str, references: Sequence[str]) -> float:
    """Returns the F1, in [0, 1], of the text's content words against the best single reference.

    A word that occurs twice counts twice.
    """
    words_of_references = [content_words(reference) for reference in references]
    return best_f1(content_words(text), words_of_references)


def best_f1(words: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Returns the highest F1 of the words with any single reference, in [0, 1]: 2/3 for the words
    ["red", "circle"] and the reference ["circle"].

    words: the words of the text. references: the words of each reference. A word that occurs twice
    counts twice. The F1 is 0 if the text has no words or the row has no references.
    """
    counts = Counter(words)
    scores = []
    for reference in references:
        shared = (counts & Counter(reference)).total()
        total = len(words) + len(reference)
        # two empty texts have F1 0: `max` avoids a division by 0
        scores.append(2 * shared / max(total, 1))
    return max(scores, default=0)
