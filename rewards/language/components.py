"""The components of a sentence: the groups of words from which entities, attributes and relations
are made.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum

from spanreward.rewards.language.rules import Rules
from spanreward.rewards.language.scene_graph import CharacterSpan
from spanreward.rewards.language.words import NOUN_TAGS, Word

ADJECTIVAL_DEPS = ("amod", "nmod", "compound")
AFTER_VERB = ("prt", "compound:prt", "advmod")  # "looks up", "sits there"
_PREPOSITION_DEPS = ("prep", "case", "conj", "agent")

Kind = Enum("Kind", "NOUN ADJECTIVE VERB PREPOSITION ADVERB")
# The role of a link: what the target is to the component that has the link. SUBJ: its subject.
Role = Enum("Role", "MOD_OF HAS_MOD SUBJ SUBJ_OF DOBJ DOBJ_OF PHEAD HAS_PREP POBJ POBJ_OF")


@dataclass(eq=False, slots=True)
class Component:
    """A group of words that belong together, in text order: a noun with its compounds, a verb with
    its particle, and so on.

    Attributes:
        anchor: the word that heads the others.
        silent: whether the anchor is a copula ("is"). Such a component has subjects and
            prepositions like a verb, but its text leaves out the copula.
        hyphenated: whether hyphens join the words ("snow-covered").
        id: the component's place among the components of the text; -1 until all are found.
        links: the linked components, each with its role.
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
        """The words of the component in text order, without a silent anchor."""
        # most components are one word
        if len(self.words) == 1 and not self.silent:
            return self.anchor.text
        text = " ".join(word.text for word in self._text_words)
        return text.replace(" - ", "-") if self.hyphenated else text

    @property
    def spans(self) -> list[CharacterSpan]:
        """The characters of each word of `text`, one span per word."""
        return [(word.start, word.end) for word in self._text_words]

    @property
    def _text_words(self) -> list[Word]:
        """The words that `text` and `spans` have: all words except a silent anchor."""
        if self.silent:
            return [word for word in self.words if word is not self.anchor]
        return self.words

    def linked(self, role: Role) -> list["Component"]:
        """Returns the linked components with this role, in the order of the links. With Role.SUBJ a
        verb's component returns its subjects.
        """
        return [target for target, own_role in self.links if own_role is role]


Places = dict[int, Component]  # from the index of a word to the component that has the word


def find_components(words: Sequence[Word], places: Places, rules: Rules) -> list[Component]:
    """Returns the components of one sentence, and adds the words of the components to `places`. "A
    dog sits on a red box" gives "dog", "box", "red", "sits" and "on".

    No word is in two components. The kinds are found in the published order, nouns first, and each
    kind takes only words that no earlier kind has taken.

    words: the words of the sentence.
    places: from the index of each word of the text to the component of the word.
    """
    finder = _Finder(words, places, rules)
    finder.add_nouns()
    finder.add_adjectives()
    finder.add_verbs()
    finder.add_prepositions()
    finder.add_adverbs()
    return finder.components


class _Finder:
    """Finds the components of one sentence, kind by kind.

    Attributes:
        adjectival: the indices of the nouns that describe other nouns ("oak" in "oak table").
        hyphenated: the other parts of each hyphenated word, by its anchor: "snow-covered" is
            "covered" with ["snow", "-"].
        anchors: the words of the sentence that may head a component: all words except those other
            words of hyphenated words.
        components: the components so far.
    """

    def __init__(self, words: Sequence[Word], places: Places, rules: Rules) -> None:
        self.places = places
        self.rules = rules
        self.adjectival = {word.index for word in words if _is_adjectival(word)}
        self.hyphenated = _hyphenated_words(words) if rules.hyphens else {}
        self._in_hyphenated: set[Word] = set()
        for other_words in self.hyphenated.values():
            self._in_hyphenated.update(other_words)
        self.anchors = [word for word in words if word not in self._in_hyphenated]
        self.components: list[Component] = []

    def _free_anchors(self) -> Iterator[Word]:
        """Yields the anchors that are in no component yet. A word may join a component while the
        words before it are read.
        """
        for word in self.anchors:
            if word.index not in self.places:
                yield word

    def _add(self, kind: Kind, anchor: Word, absorbed: Sequence[Word] = ()) -> Component:
        """Adds a component of the anchor and the absorbed words, and returns the component.

        The anchor of a hyphenated word brings the other parts of the word: "covered" brings "snow"
        and "-". An absorbed word is left out if it is in a component already, or if it is a part of
        a hyphenated word.
        """
        members = [anchor, *self.hyphenated.get(anchor, ())]
        for word in absorbed:
            if word.index not in self.places and word not in self._in_hyphenated:
                members.append(word)
        if len(members) > 1:
            members.sort(key=lambda word: word.index)
        component = Component(kind, anchor, members, hyphenated=anchor in self.hyphenated)
        self.components.append(component)
        for word in members:
            self.places[word.index] = component
        return component

    def add_nouns(self) -> None:
        """Adds the nouns and pronouns, each with its compounds that do not describe it."""
        for word in self._free_anchors():
            if word.index in self.adjectival or not _is_noun(word):
                continue
            compounds = []
            for child in _compound_children(word):
                if child.pos in NOUN_TAGS and child.index not in self.adjectival:
                    compounds.append(child)
            self._add(Kind.NOUN, word, compounds)

    def add_adjectives(self) -> None:
        """Adds the adjectives, numbers, owners ("his"), and the nouns that describe ("oak")."""
        for word in self._free_anchors():
            if word.index in self.adjectival or _is_adjective(word, self.rules):
                absorbed = _absorbed_by_adjective(word, self.adjectival)
                self._add(Kind.ADJECTIVE, word, absorbed)

    def add_verbs(self) -> None:
        """Adds the verbs with their particles ("looks up"), and the copulas ("is")."""
        for word in self._free_anchors():
            if self.rules.copula_relations and word.is_copula:
                copula = self._add(Kind.VERB, word)
                copula.silent = True
            elif word.pos == "VERB" and word.dep != "amod":
                particles = []
                for child in word.children:
                    if child.index > word.index and child.dep in AFTER_VERB:
                        particles.append(child)
                self._add(Kind.VERB, word, particles)

    def add_prepositions(self) -> None:
        """Adds the prepositions, one word each."""
        for word in self._free_anchors():
            if word.pos == "ADP" and word.dep in _PREPOSITION_DEPS:
                self._add(Kind.PREPOSITION, word)

    def add_adverbs(self) -> None:
        """Adds the adverbs, each with the adverbs that modify it ("very slowly")."""
        for word in self._free_anchors():
            if word.pos != "ADV":
                continue
            absorbed = _absorbed_by_adverb(word, self.places)
            if absorbed is not None:
                self._add(Kind.ADVERB, word, absorbed)


def _absorbed_by_adjective(word: Word, adjectival: Set[int]) -> list[Word]:
    """Returns the children of an adjective that join its component: its compounds, and nouns that
    describe ("oak" in "oak wood table").

    adjectival: the indices of the nouns in the sentence that describe other nouns.
    """
    absorbed = []
    for child in word.children:
        is_compound = child.dep.startswith("compound")
        may_describe = child.pos in ("ADJ", "ADV", *NOUN_TAGS)
        if (is_compound and may_describe) or child.index in adjectival:
            absorbed.append(child)
    return absorbed


def _compound_children(word: Word) -> list[Word]:
    """Returns the children with a dependency "compound"."""
    return [child for child in word.children if child.dep.startswith("compound")]


def _absorbed_by_adverb(word: Word, places: Places) -> list[Word] | None:
    """Returns the words that join the component of an adverb: the adverbs below it and its
    modifiers, ["very"] for "slowly" in "very slowly". Modifiers of any part of speech join together
    with an adverb. Without an adverb only small words and adjectives join, and no nouns.

    Returns None for an adverb below another adverb that has no component yet, such as "very".
    """
    modifiers = []
    adverbs = []
    for child in word.children:
        if child.dep == "amod" or child.dep.startswith("compound"):
            modifiers.append(child)
        is_adverb = child.pos == "ADV" and child.dep == "advmod"
        if is_adverb and child.index not in places:
            adverbs.append(child)
    if adverbs:
        return adverbs + modifiers
    modifies_adverb = word.dep == "advmod" and word.head.pos == "ADV"
    if modifies_adverb and word.head.index not in places:
        return None
    return [child for child in modifiers if child.pos in ("ADV", "ADP", "PART", "ADJ")]


def _is_adjectival(word: Word) -> bool:
    """Whether a word is a noun that describes another noun ("oak" in "oak table")."""
    if word.pos not in NOUN_TAGS or word.dep not in ADJECTIVAL_DEPS:
        return False
    return word.head is not word and word.head.pos in NOUN_TAGS


def _is_noun(word: Word) -> bool:
    """Whether a word is a noun or pronoun that names a thing. False for an owner ("his")."""
    if word.dep == "poss":
        return False
    # the parser tags the "orange" of "red and orange" as a noun
    if word.dep == "conj" and word.head.pos == "ADJ":
        return False
    return word.pos == "PRON" or word.pos in NOUN_TAGS


def _is_adjective(word: Word, rules: Rules) -> bool:
    """Whether a word describes a noun or is the owner of a noun ("his")."""
    # the tagger tags a lone "-" as an adjective
    if rules.hyphens and not any(map(str.isalnum, word.text)):
        return False
    if word.pos in ("ADJ", "NUM"):
        return True
    if word.dep == "poss":
        return True
    if word.dep == "conj" and word.head.pos == "ADJ":
        return True
    if word.pos == "VERB":
        return word.dep == "amod"  # "a broken cup"
    # "above" in "the sky above"
    return word.pos == "ADV" and word.dep == "advmod" and word.head.pos == "NOUN"


def _hyphenated_words(words: Sequence[Word]) -> dict[Word, list[Word]]:
    """Returns the anchor of each hyphenated word, with the other words: "snow-covered" gives
    "covered" with "snow" and "-".
    """
    # the runs of words that hyphens join without spaces: "state-of-the-art" is one run
    runs: list[list[Word]] = []
    for before, hyphen, after in zip(words, words[1:], words[2:], strict=False):
        is_tight = before.end == hyphen.start and hyphen.end == after.start
        if hyphen.text != "-" or not is_tight:
            continue
        if runs and runs[-1][-1] is before:
            runs[-1] += [hyphen, after]
        else:
            runs.append([before, hyphen, after])
    joined = {}
    for run in runs:
        anchor = _anchor_of(run)
        joined[anchor] = [word for word in run if word is not anchor]
    return joined


def _anchor_of(run: Sequence[Word]) -> Word:
    """Returns the word that stands for a hyphenated word in the parse tree: "covered" for
    "snow-covered". If several words of the run have their head outside the run, this is the last of
    them. If no word has, this is the last word.

    run: the words and hyphens of one hyphenated word.
    """
    for word in reversed(run):
        is_root = word.head is word  # the head of a sentence is its own head
        if is_root or word.head not in run:
            return word
    return run[-1]
