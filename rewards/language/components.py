"""The components of a sentence: the groups of words that entities, attributes and relations are
made of.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from spanreward.rewards.language.rules import Rules
from spanreward.rewards.language.scene_graph import CharacterSpan
from spanreward.rewards.language.words import NOUNS, Word

ADJECTIVAL_DEPS = ("amod", "nmod", "compound")
AFTER_VERB = ("prt", "compound:prt", "advmod")

Kind = Enum("Kind", "NOUN ADJECTIVE VERB PREPOSITION ADVERB")
# A role says what the target of a link is to the component that has the link.
Role = Enum("Role", "MOD_OF HAS_MOD SUBJ SUBJ_OF DOBJ DOBJ_OF PHEAD HAS_PREP POBJ POBJ_OF")


@dataclass(eq=False, slots=True)
class Component:
    """Words that make one piece, in text order: a noun with its compounds, a verb with its
    particle, and so on.

    Attributes:
        anchor: the word that heads the others.
        silent: whether the anchor is a copula. It has subjects and prepositions like a verb, but
            relations leave it out.
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
        if len(self.words) == 1 and not self.silent:
            return self.anchor.text
        text = " ".join(word.text for word in self._said)
        return text.replace(" - ", "-") if self.hyphenated else text

    @property
    def spans(self) -> list[CharacterSpan]:
        return [(word.start, word.end) for word in self._said]

    @property
    def _said(self) -> list[Word]:
        if self.silent:
            return [word for word in self.words if word is not self.anchor]
        return self.words

    def linked(self, role: Role) -> list["Component"]:
        return [target for target, own_role in self.links if own_role is role]


Places = dict[int, Component]  # by the index of a word, the component that has it


def find_components(words: Sequence[Word], places: Places, rules: Rules) -> list[Component]:
    """Returns the components of one sentence, nouns first, and adds their words to `places`.

    No word is in two.
    """
    adjectival = {word.index for word in words if _is_adjectival(word)}
    joined = _hyphenated(words) if rules.hyphens else {}
    inner: set[Word] = set()
    for inner_words in joined.values():
        inner.update(inner_words)
    words = [word for word in words if word not in inner]
    components: list[Component] = []

    def take(kind: Kind, anchor: Word, absorbed: Sequence[Word] = ()) -> None:
        free = [word for word in absorbed if word.index not in places and word not in inner]
        members = [anchor, *joined.get(anchor, ()), *free]
        if len(members) > 1:
            members.sort(key=lambda word: word.index)
        components.append(Component(kind, anchor, members, hyphenated=anchor in joined))
        for word in members:
            places[word.index] = components[-1]

    for word in words:
        if word.index not in places and word.index not in adjectival and _is_noun(word):
            compounds = [child for child in _compounds(word) if child.pos in NOUNS]
            take(Kind.NOUN, word, [child for child in compounds if child.index not in adjectival])
    for word in words:
        if word.index not in places and (_is_adjective(word, rules) or word.index in adjectival):
            compounds = _compounds(word)
            parts = {child.index for child in compounds if child.pos in ("ADJ", "ADV", *NOUNS)}
            parts |= adjectival
            take(Kind.ADJECTIVE, word, [child for child in word.children if child.index in parts])
    for word in words:
        if word.index in places:
            continue
        if rules.copula_relations and word.is_copula:
            take(Kind.VERB, word)
            components[-1].silent = True
        elif word.pos == "VERB" and word.dep != "amod":
            behind = [child for child in word.children if child.index > word.index]
            take(Kind.VERB, word, [child for child in behind if child.dep in AFTER_VERB])
    for word in words:
        is_preposition = word.pos == "ADP" and word.dep in ("prep", "case", "conj", "agent")
        if is_preposition and word.index not in places:
            take(Kind.PREPOSITION, word)
    for word in words:
        if word.pos == "ADV" and word.index not in places:
            absorbed = _absorbed_by_adverb(word, places)
            if absorbed is not None:
                take(Kind.ADVERB, word, absorbed)
    return components


def _compounds(word: Word) -> list[Word]:
    return [child for child in word.children if child.dep.startswith("compound")]


def _absorbed_by_adverb(word: Word, places: Places) -> list[Word] | None:
    """Returns the words that belong to an adverb, None where it belongs to another that comes
    later.
    """
    modifiers = []
    adverbs = []
    for child in word.children:
        if child.dep == "amod" or child.dep.startswith("compound"):
            modifiers.append(child)
        if child.pos == "ADV" and child.dep == "advmod" and child.index not in places:
            adverbs.append(child)
    if adverbs:
        return adverbs + modifiers
    if word.head.pos == "ADV" and word.dep == "advmod" and word.head.index not in places:
        return None
    return [child for child in modifiers if child.pos in ("ADV", "ADP", "PART", "ADJ")]


def _is_adjectival(word: Word) -> bool:
    """Whether it is a noun that describes another noun ("oak" in "oak table")."""
    describes = word.pos in NOUNS and word.dep in ADJECTIVAL_DEPS and word.head is not word
    return describes and word.head.pos in NOUNS


def _is_noun(word: Word) -> bool:
    if word.dep == "poss" or (word.dep == "conj" and word.head.pos == "ADJ"):
        return False
    return word.pos == "PRON" or word.pos in NOUNS


def _is_adjective(word: Word, rules: Rules) -> bool:
    if rules.hyphens and not any(character.isalnum() for character in word.text):
        return False
    at_noun = word.dep == "advmod" and word.head.pos == "NOUN"  # "above" in "the sky above"
    return (
        word.pos in ("ADJ", "NUM")
        or word.dep == "poss"
        or (word.dep == "conj" and word.head.pos == "ADJ")
        or (word.pos == "VERB" and word.dep == "amod")
        or (word.pos == "ADV" and at_noun)
    )


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
        anchor = run[-1]
        for word in reversed(run):
            if word.head not in run or word.head is word:
                anchor = word
                break
        joined[anchor] = [word for word in run if word is not anchor]
    return joined
