"""The words that a text does not assert: the text denies the words, asks about them, leaves them
open by "or", or orders them.

    read = unasserted_words(words, claims_of(words))
    read.left_out, read.absent
    # "There is no red circle.": its words, and the denial of a red circle
    read.hanging                    # the needs of the other words that are in a frame (claims.py)

An unasserted word claims nothing, and it supports no claim of another text. A plain denial is
itself a claim: the claim that the thing is absent (denial.py).
"""

from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple

from spanreward.rewards.language.claims import ALTERNATIVES_NEED, UNMET_NEED, needs_of_words
from spanreward.rewards.language.denial import find_denying_words, things_stated_absent
from spanreward.rewards.language.retracted_parts import DENIED_NEED, QUESTION_NEED, ClaimNeeds
from spanreward.rewards.language.scene_graph import Denial, SceneGraph
from spanreward.rewards.language.words import Word


class Claims(NamedTuple):
    """The words of a text that deny, and the needs of each word (`needs_of_words`)."""

    denies: Set[Word]
    needs: Mapping[Word, ClaimNeeds]


class Unasserted(NamedTuple):
    """The result of `unasserted_words` for a text.

    left_out: the indices of the words that the text does not assert.
    absent: the things that the text states are absent.
    hanging: the needs of other words, by word.
    """

    left_out: frozenset[int] = frozenset()
    absent: Sequence[Denial] = ()
    hanging: Mapping[Word, ClaimNeeds] = MappingProxyType({})


def asserted_part(text: str, graph: SceneGraph) -> str:
    """Returns the text without the words that it does not assert: a text that only asks "Is there a
    dog?" gives "".

    A judge that reads this text need not separate claims from names in a frame ("think of a dog").
    The text also gives the judge no orders, such as "Imagine a dog".

    graph: the graph of the text in default mode.
    """
    if not graph.unasserted:
        return text
    # the graph's sentences are already without the words that are not asserted
    sentences = []
    for sentence in graph.sentences:
        # only the "?" of "Is there a dog?" may be left
        if any(map(str.isalnum, sentence)):
            sentences.append(sentence)
    return " ".join(sentences)


def claims_of(words: Sequence[Word]) -> Claims:
    """Returns the denying words of a whole text and the needs of each word (`needs_of_words`), in
    linear time.
    """
    denies = find_denying_words(words)
    return Claims(denies, needs_of_words(words, denies))


def unasserted_words(
    words: Sequence[Word], claims: Claims, alternatives: bool = False
) -> Unasserted:
    """Returns the words that a whole text does not assert, the things that the text states are
    absent, and the needs of other words.

    claims: the result of `claims_of` for the text.
    alternatives: True for a text that serves as a reference. A reference supports each alternative
    of an "or" and each word with another need. So only denied words and questions are left out, and
    `hanging` is empty.
    """
    denies, needs = claims
    # a word with one of these needs is left out
    unmet = {DENIED_NEED, QUESTION_NEED}
    if not alternatives:
        unmet |= {UNMET_NEED, ALTERNATIVES_NEED}
    left_out: set[Word] = set()
    denied: set[Word] = set()
    framed: dict[Word, ClaimNeeds] = {}
    for word, word_needs in needs.items():
        if not unmet.isdisjoint(word_needs):
            left_out.add(word)
            # "Is there no dog?" and "Let there be no dog" deny nothing
            is_claim = {QUESTION_NEED, UNMET_NEED}.isdisjoint(word_needs)
            if DENIED_NEED in word_needs and is_claim:
                denied.add(word)
        elif word_needs and not alternatives:
            framed[word] = word_needs
    places = frozenset(word.index for word in left_out)
    absent = list(things_stated_absent(words, denies, denied))
    return Unasserted(places, absent, framed)
