"""Coreference clusters, and the words of each cluster. A cluster is a group of mentions of one
thing.

A cluster is a list of mentions. A mention is a pair (first, last) of word numbers, both inclusive.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from spanreward.rewards.language.words import NOUN_TAGS, Word

Cluster = Sequence[Sequence[int]]
RUN_BREAKS = ("\u2019s", "'s", "s", "-")


@dataclass(slots=True)
class References:
    """The clusters of a text. `cluster_of` maps a word's index to the word's cluster. `words_of`
    maps a cluster to the indices of its words.

    A cluster is named by its number in the list of clusters. The cluster "left" has every "our
    left" of the text, and the cluster "right" has every "our right".
    """

    cluster_of: dict[int, int | str] = field(default_factory=dict)
    words_of: dict[int | str, list[int]] = field(default_factory=dict)


def words_of_clusters(words: Sequence[Word], clusters: Sequence[Cluster]) -> References:
    """Returns the words of each cluster, and the cluster of each word.

    If several mentions contain a word, the cluster of the shortest mention gets the word. The first
    of equally short mentions decides.

    The "left" of each "our left" gets the cluster "left" as its cluster, and "right" the same way.
    If a mention contains such a word, the mention's cluster keeps it in `words_of` as well.

    Raises ValueError for a mention outside the text.
    """
    references = References()
    lengths: dict[int, int] = {}  # by word: the length of the shortest mention so far
    for number, cluster in enumerate(clusters):
        # a single mention refers to no other mention
        if len(cluster) < 2:
            continue
        for first, last in cluster:
            if not 0 <= first <= last < len(words):
                raise ValueError(
                    f"mention [{first}, {last}] does not lie in a text of {len(words)} tokens"
                )
            length = last - first + 1
            for index in _representative_indices(words, first, last):
                if index not in lengths or length < lengths[index]:
                    lengths[index] = length
                    references.cluster_of[index] = number
    # the words of each cluster, in text order
    for index in sorted(references.cluster_of):
        word_cluster = references.cluster_of[index]
        references.words_of.setdefault(word_cluster, []).append(index)
    _add_sides_of_viewer(words, references)
    return references


def _add_sides_of_viewer(words: Sequence[Word], references: References) -> None:
    """Adds the clusters "left" and "right" to the references: every "our left" of the text means
    the same place.
    """
    for before, word in pairwise(words):
        side = word.text.lower()
        if before.text.lower() == "our" and side in ("left", "right"):
            references.cluster_of[word.index] = side
            references.words_of.setdefault(side, []).append(word.index)


def _representative_indices(words: Sequence[Word], first: int, last: int) -> list[int]:
    """Returns the indices of the words that represent a mention: its first run of nouns ("hat" for
    "the man's red hat"). A mention without nouns is represented by its first pronoun, or without
    pronouns by all its words.

    first, last: the numbers of the mention's first and last word.
    """
    sentence = words[first].sentence
    mention = [word for word in words[first : last + 1] if word.sentence == sentence]
    run: list[Word] = []
    for word in mention:
        if word.pos in NOUN_TAGS:
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
