"""The components of a sentence: the groups of words that entities, attributes and relations are
made of.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from spanreward.rewards.language.rules import Rules
from spanreward.rewards.language.scene_graph import CharacterSpan
from spanreward.rewards.language.words import LEADS, NOUNS, Word

ADJECTIVAL_DEPS = ("amod", "nmod", "compound")
AFTER_VERB = ("prt", "compound:prt", "advmod")
LED = ("to", "from", "of")

Kind = Enum("Kind", "NOUN ADJECTIVE VERB PREPOSITION ADVERB")
# A role says what the target of a link is to the component that has the link.
Role = Enum("Role", "MOD_OF HAS_MOD SUBJ SUBJ_OF DOBJ DOBJ_OF PHEAD HAS_PREP POBJ POBJ_OF")


@dataclass(eq=False, slots=True)
class Component:
    """Words that make one piece, in text order: a noun with its compounds, a verb with its
    particle, and so on.

    Attributes:
        anchor: the word that heads the others.
        silent: whether the anchor is a copula, or "seen". It has subjects and prepositions like a
            verb, but relations leave it out.
        hyphenated: whether the words are said as one ("snow-covered").
        id: the component's place among those of the text; -1 until all are found.
    """

    kind: Kind
    anchor: Word
    words: list[Word]
    silent: bool = False
    hyphenated: bool = False
    id: int = -1
    links: list[tuple["Component", Role]] = field(default_factory=list, repr=False)

    @property
    def text(self) -> str:
        text = " ".join(word.text for word in self._said)
        return text.replace(" - ", "-") if self.hyphenated else text

    @property
    def spans(self) -> list[CharacterSpan]:
        return [(word.start, word.end) for word in self._said]

    @property
    def _said(self) -> list[Word]:
        return (
            [word for word in self.words if word is not self.anchor] if self.silent else self.words
        )

    def linked(self, role: Role) -> list["Component"]:
        return [target for target, own_role in self.links if own_role is role]


Places = dict[int, Component]  # by the index of a word, the component that has it


def find_components(words: Sequence[Word], places: Places, rules: Rules) -> list[Component]:
    """Returns the components of one sentence, nouns first, and adds their words to `places`.

    No word is in two.
    """
    adjectival = {word.index for word in words if _is_adjectival(word, rules)}
    hyphenated = _hyphenated(words) if rules.hyphens else {}
    joined = hyphenated | (_compound_prepositions(words) if rules.compound_prepositions else {})
    inner = {word for others in joined.values() for word in others}
    words = [word for word in words if word not in inner]
    found: list[Component] = []

    def take(kind: Kind, anchor: Word, absorbed: Sequence[Word] = ()) -> None:
        free = (word for word in absorbed if word.index not in places and word not in inner)
        members = [anchor, *joined.get(anchor, ()), *free]
        members.sort(key=lambda word: word.index)
        found.append(Component(kind, anchor, members, hyphenated=anchor in hyphenated))
        places.update((word.index, found[-1]) for word in members)

    for word in words:
        if word.index not in places and word.index not in adjectival and _is_noun(word, rules):
            compounds = [
                c for c in word.children if c.dep.startswith("compound") and c.pos in NOUNS
            ]
            take(Kind.NOUN, word, [child for child in compounds if child.index not in adjectival])
    for word in words:
        if word.index not in places and (_is_adjective(word, rules) or word.index in adjectival):
            parts = {
                c.index
                for c in word.children
                if c.dep.startswith("compound") and c.pos in ("ADJ", "ADV", *NOUNS)
            }
            take(Kind.ADJECTIVE, word, [c for c in word.children if c.index in parts | adjectival])
    for word in words:
        if word.index in places:
            continue
        if (rules.copula_relations and word.is_copula) or (rules.seen_is_there and word.is_seen):
            take(Kind.VERB, word)
            found[-1].silent = True
        elif word.pos == "VERB" and word.dep != "amod":
            take(
                Kind.VERB,
                word,
                [c for c in word.children if c.index > word.index and c.dep in AFTER_VERB],
            )
    for word in words:
        if (
            word.index not in places
            and word.pos == "ADP"
            and word.dep in ("prep", "case", "conj", "agent")
        ):
            take(Kind.PREPOSITION, word)
    for word in words:
        if word.pos != "ADV" or word.index in places:
            continue
        modifiers = [
            child
            for child in word.children
            if child.dep == "amod" or child.dep.startswith("compound")
        ]
        adverbs = [
            c
            for c in word.children
            if c.pos == "ADV" and c.dep == "advmod" and c.index not in places
        ]
        if adverbs:
            take(Kind.ADVERB, word, adverbs + modifiers)
        elif not (
            word.head.pos == "ADV" and word.dep == "advmod" and word.head.index not in places
        ):
            take(
                Kind.ADVERB,
                word,
                [child for child in modifiers if child.pos in ("ADV", "ADP", "PART", "ADJ")],
            )
    return found


def names_something(word: Word, rules: Rules) -> bool:
    """Whether an adjective can describe this word: a noun and, with the rule `side_nouns`, a
    side.
    """
    return word.pos in NOUNS or (rules.side_nouns and word.is_side)


def _is_adjectival(word: Word, rules: Rules) -> bool:
    """Whether it is a noun that describes another noun ("oak" in "oak table")."""
    describes = word.pos in NOUNS and word.dep in ADJECTIVAL_DEPS and word.head is not word
    return describes and names_something(word.head, rules)


def _is_noun(word: Word, rules: Rules) -> bool:
    if word.dep == "poss" or (
        word.dep == "conj" and word.head.pos == "ADJ" and not names_something(word.head, rules)
    ):
        return False
    return word.pos == "PRON" or names_something(word, rules)


def _is_adjective(word: Word, rules: Rules) -> bool:
    if rules.hyphens and not any(character.isalnum() for character in word.text):
        return False
    return (
        word.pos in ("ADJ", "NUM")
        or word.dep == "poss"
        or (word.dep == "conj" and word.head.pos == "ADJ")
        or (word.pos == "VERB" and word.dep == "amod")
        or _is_noun_adverb(word, rules)
    )


def _is_noun_adverb(word: Word, rules: Rules) -> bool:
    """True for "above" in "the sky above".

    With `sentence_adverbs` it is False for "possibly" in "possibly a park".
    """
    at_noun = word.pos == "ADV" and word.dep == "advmod" and word.head.pos == "NOUN"
    return at_noun and not (rules.sentence_adverbs and word.index < word.head.index)


def _hyphenated(words: Sequence[Word]) -> dict[Word, list[Word]]:
    """Returns the words that hyphens join others to, each with the others: "covered" with "snow"
    and "-".
    """
    runs: list[list[Word]] = []
    for before, hyphen, after in zip(words, words[1:], words[2:], strict=False):
        if hyphen.text == "-" and before.end == hyphen.start and hyphen.end == after.start:
            if runs and runs[-1][-1] is before:
                runs[-1] += [hyphen, after]
            else:
                runs.append([before, hyphen, after])
    joined = {}
    for run in runs:
        anchor = next(
            (word for word in reversed(run) if word.head not in run or word.head is word), run[-1]
        )
        joined[anchor] = [word for word in run if word is not anchor]
    return joined


def _compound_prepositions(words: Sequence[Word]) -> dict[Word, list[Word]]:
    """Returns the last words of prepositions of several words, each with the words before it: "to"
    with "next".
    """
    joined: dict[Word, list[Word]] = {}
    for before, lead, word in zip([None, *words], words, words[1:], strict=False):
        said = lead.text.lower(), word.text.lower()
        if word.pos != "ADP":
            continue
        if (
            said in (("front", "of"), ("top", "of"))
            and before is not None
            and before.text.lower() in ("in", "on")
        ):
            joined[word] = [before, lead]
        elif (
            said[0] in LEADS
            and said[1] in LED
            and lead.tag not in ("VBD", "VBP")
            and not lead.subjects
        ):
            joined |= {} if lead.has_child("det", "poss") else {word: [lead]}  # not "the left of"
        elif lead.pos == "ADP" and word.head is lead and not lead.has_child("pobj"):
            joined[word] = [*joined.pop(lead, ()), lead]  # "along with"
    return joined
