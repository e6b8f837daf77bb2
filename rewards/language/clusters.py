"""Coreference clusters, and which words each of them holds.

A cluster is a list of mentions. A mention is a pair (first, last) of word numbers, both inclusive.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from spanreward.rewards.language.words import NOUNS, Word

Cluster = Sequence[Sequence[int]]
RUN_BREAKS = ("\u2019s", "'s", "s", "-")


@dataclass(slots=True)
class References:
    """The clusters of a text: `cluster_of` maps a word to its cluster, `words_of` maps a cluster to
    its words.

    A cluster is its number, or "left" or "right" for every "our left" and "our right".
    """

    cluster_of: dict[int, int | str] = field(default_factory=dict)
    words_of: dict[int | str, list[int]] = field(default_factory=dict)


def resolve(words: Sequence[Word], clusters: Sequence[Cluster]) -> References:
    """Gives every word at most one cluster: that of the shortest mention around it, and of equal
    ones the first.

    Raises ValueError for a mention outside the text.
    """
    references = References()
    lengths: dict[int, int] = {}  # of the shortest mention around each word until now
    # every mention claims its words, and a shorter one takes them over
    for number, cluster in enumerate(clusters):
        # one mention alone refers to nothing
        if len(cluster) < 2:
            continue
        for first, last in cluster:
            if not 0 <= first <= last < len(words):
                raise ValueError(
                    f"mention [{first}, {last}] does not lie in a text of {len(words)} tokens"
                )
            length = last - first + 1
            for index in _representatives(words, first, last):
                if index not in lengths or length < lengths[index]:
                    lengths[index] = length
                    references.cluster_of[index] = number
    # the words of each cluster, in text order
    for index in sorted(references.cluster_of):
        word_cluster = references.cluster_of[index]
        references.words_of.setdefault(word_cluster, []).append(index)
    # "our left" is one place in the whole text, whatever the mentions say of it
    for before, word in pairwise(words):
        if before.text.lower() != "our":
            continue
        side = word.text.lower()
        if side in ("left", "right"):
            references.cluster_of[word.index] = side
            references.words_of.setdefault(side, []).append(word.index)
    return references


def _representatives(words: Sequence[Word], first: int, last: int) -> list[int]:
    """Returns the words that stand for a mention: its first run of nouns, else its first pronoun,
    else all words.
    """
    sentence = words[first].sentence
    mention = [word for word in words[first : last + 1] if word.sentence == sentence]
    run: list[Word] = []
    for word in mention:
        if word.pos in NOUNS:
            run.append(word)
        elif run and word.text in RUN_BREAKS:
            run = []  # "the man's hat" is the hat
        elif run:
            break
    representatives = run
    if not representatives:
        representatives = [word for word in mention if word.pos == "PRON"][:1]
    if not representatives:
        representatives = mention
    return [word.index for word in representatives]
