"""Coreference clusters as a map from words to what they speak of.

A cluster is a list of mentions, a mention a pair (first, last) of word numbers, both inclusive.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rewards.language.words import NOUNS, Word

Cluster = Sequence[Sequence[int]]
RUN_BREAKS = ("\u2019s", "'s", "s", "-")


@dataclass(slots=True)
class References:
    """`cluster_of` numbers the cluster of a word; `words_of` lists a cluster's words; the viewer's sides apart."""

    cluster_of: dict[int, int] = field(default_factory=dict)
    words_of: dict[int, list[int]] = field(default_factory=dict)
    left: int = -1
    right: int = -1


def resolve(words: Sequence[Word], clusters: Sequence[Cluster]) -> References:
    """Give every word at most one cluster: the one whose mention around it is shortest, ties to the first."""
    found = References()
    lengths: dict[int, int] = {}
    for number, cluster in enumerate(clusters):
        if len(cluster) < 2:
            continue
        for first, last in cluster:
            if not 0 <= first <= last < len(words):
                raise ValueError(f"mention [{first}, {last}] does not lie in a text of {len(words)} tokens")
            length = last - first + 1
            for index in _representatives(words, first, last):
                if index not in lengths or length < lengths[index]:
                    lengths[index] = length
                    found.cluster_of[index] = number
    for index in sorted(found.cluster_of):
        found.words_of.setdefault(found.cluster_of[index], []).append(index)
    found.left = _add_side(words, found, "left")
    found.right = _add_side(words, found, "right")
    return found


def _representatives(words: Sequence[Word], first: int, last: int) -> list[int]:
    """The words that stand for a mention: its first run of nouns, or its first pronoun, or all of it."""
    run: list[int] = []
    pronouns: list[int] = []
    everything: list[int] = []
    for word in words[first : last + 1]:
        if word.sentence != words[first].sentence:
            continue
        if word.pos in NOUNS:
            run.append(word.index)
        elif run and word.text in RUN_BREAKS:
            run = []
        elif run:
            break
        if word.pos == "PRON":
            pronouns.append(word.index)
        everything.append(word.index)
    return run or pronouns[:1] or everything


def _add_side(words: Sequence[Word], found: References, side: str) -> int:
    """Cluster all "our left" (or right) of a text; the number is only taken when there is one."""
    number = 1 + max(found.words_of, default=-1)
    for before, word in pairwise(words):
        if before.text.lower() == "our" and word.text.lower() == side:
            found.cluster_of[word.index] = number
            found.words_of.setdefault(number, []).append(word.index)
    return number
