"""Words that a text does not assert: it denies them, asks about them, leaves them open by "or", or
orders them.

    read = unasserted(words, claims_of(words))
    read.left_out, read.absent
    # "There is no red circle.": its words, and the denial of a red circle
    read.hanging                    # what the other words need that are said in a frame (claims.py)

An unasserted word claims nothing, and it supports no claim of another text. A plain denial is a
claim of its own: that the thing is not there (denial.py).
"""

from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple

from spanreward.rewards.language.claims import NEVER, OPEN, hanging
from spanreward.rewards.language.denial import absences, denying
from spanreward.rewards.language.retracted_parts import DENIED_NEED, QUESTION_NEED, Needs
from spanreward.rewards.language.scene_graph import Denial, SceneGraph
from spanreward.rewards.language.words import Word


class Claims(NamedTuple):
    """denies: the words that deny. needs: what each word of the text needs."""

    denies: Set[Word]
    needs: Mapping[Word, Needs]


class Unasserted(NamedTuple):
    """left_out: places of words that it does not assert. absent: what it denies. hanging: the
    others' needs.
    """

    left_out: frozenset[int] = frozenset()
    absent: Sequence[Denial] = ()
    hanging: Mapping[Word, Needs] = MappingProxyType({})


def asserted(text: str, graph: SceneGraph) -> str:
    """Returns the text without what it does not assert. graph: that of the text, in default mode.

    A judge that reads this need not tell a claim from a frame around a name, and reads no order
    that a text gives it.
    """
    if not graph.unasserted:
        return text
    sentences = []
    for sentence in graph.sentences:
        # of "Is there a dog?" the mark alone may be left
        if any(map(str.isalnum, sentence)):
            sentences.append(sentence)
    return " ".join(sentences)


def claims_of(words: Sequence[Word]) -> Claims:
    """Reads a whole text, in linear time."""
    denies = denying(words)
    return Claims(denies, hanging(words, denies))


def unasserted(words: Sequence[Word], claims: Claims, alternatives: bool = False) -> Unasserted:
    """Returns what a whole text does not assert. claims: those of its words.

    alternatives: whether alternatives joined by "or" count as asserted. A reference supports each
    of its alternatives, and what it frames.
    """
    denies, needs = claims
    # the needs that no reference meets
    unmet = {DENIED_NEED, QUESTION_NEED}
    if not alternatives:
        unmet |= {NEVER, OPEN}
    left_out: set[Word] = set()
    denied: set[Word] = set()
    framed: dict[Word, Needs] = {}
    for word, word_needs in needs.items():
        if not unmet.isdisjoint(word_needs):
            left_out.add(word)
            # "Is there no dog?" and "Let there be no dog" deny nothing
            is_claim = {QUESTION_NEED, NEVER}.isdisjoint(word_needs)
            if DENIED_NEED in word_needs and is_claim:
                denied.add(word)
        elif word_needs and not alternatives:
            framed[word] = word_needs
    places = frozenset(word.index for word in left_out)
    absent = list(absences(words, denies, denied))
    return Unasserted(places, absent, framed)
