"""The words of a parsed text, detached from spaCy.

The files that find components and relations work on Words alone.
"""

from dataclasses import dataclass, field

from spacy.tokens import Doc

NOUNS = ("NOUN", "PROPN")
SUBJECTS = ("nsubj", "nsubjpass")
OBJECTS = ("dobj", "obj")
PREPOSITION_OBJECTS = ("pobj", "obj")
FINITE = ("VBZ", "VBP", "VBD", "MD")  # the tags of a verb that has its tense
_NUMBERS_TO_TEN = "zero one two three four five six seven eight nine ten"
DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS_TO_TEN.split())}
SIDES = ("left", "right", "top", "bottom", "middle", "center", "centre", "front", "back")


def word_set(words: str) -> frozenset[str]:
    """Returns the words of a string, which are separated by white space."""
    return frozenset(words.split())


ARTICLES = frozenset(("a", "an", "the"))
HEDGES = word_set("possibly perhaps probably likely apparently seemingly maybe")
# how a thing lies and who has it; what shows it; nouns that stand for the noun after "of"
POSTURES = word_set("be sit stand rest lie locate place position situate appear exist hang remain")
HAVING = word_set("have hold wear carry contain include feature")
PICTURES = word_set(
    "picture image photo photograph scene drawing text answer response description caption"
)
QUANTITIES = word_set(
    "group couple pair bunch lot number variety row set crowd herd flock both some all most many"
)
PARTS = word_set("top front back side middle part end rest")
# "next to", "far from", "left of"
LEADS = word_set("next close adjacent near far opposite left right")
SEEING = word_set("see find spot view observe notice glimpse look seem make")
# verbs that fit every picture
NEUTRAL = POSTURES | HAVING | SEEING | word_set("show depict display reveal capture")
SHOWING = NEUTRAL - POSTURES | {"be", "exist", "appear"}
PLAIN = (
    QUANTITIES
    | PARTS
    | PICTURES
    | frozenset(SIDES)
    | word_set("one each corner edge side background foreground view")
)
_ADVERBS = """
    above here there nearby back below further away also then now directly just only together up
    down outside inside so too still very overhead ahead overall however additionally finally
    meanwhile where when
"""
ADVERBS = frozenset(SIDES) | LEADS | HEDGES | word_set(_ADVERBS)
# prepositions that say where a thing is or how it is placed
PLACING = word_set(
    """
    about above across against along amid amidst among around as at atop before behind below beneath
    beside between beyond by despite down for from in inside into near next off on onto out outside
    over past through throughout to together toward towards under underneath up upon with within
    """
)


@dataclass(eq=False, slots=True)
class Word:
    """One token.

    `start` and `end` are its characters; `children` are its direct dependents from left to right.
    """

    index: int
    text: str
    lemma: str
    pos: str
    tag: str
    dep: str
    start: int
    end: int
    sentence: int
    head: "Word" = field(init=False, repr=False)  # the root of a sentence is its own head
    children: list["Word"] = field(default_factory=list, repr=False)
    # the children that are subjects
    subjects: list["Word"] = field(default_factory=list, repr=False)

    @property
    def is_copula(self) -> bool:
        return self.lemma == "be" and self.dep not in ("aux", "auxpass")

    @property
    def is_relative(self) -> bool:
        """True for "who", "which", "that" and "whose" where they stand for a noun."""
        return self.tag in ("WDT", "WP", "WP$")

    def has_child(self, *deps: str) -> bool:
        return any(child.dep in deps for child in self.children)


def read_words(doc: Doc) -> tuple[list[Word], list[str]]:
    """Returns the words of a parsed text and its stripped sentences."""
    if not len(doc):
        return [], []
    sentences = list(doc.sents)
    # one look at all tokens takes a third of the time of each token's properties
    columns = [doc.to_array(name).tolist() for name in ("ORTH", "LEMMA", "POS", "TAG", "DEP")]
    strings = {number: doc.vocab.strings[number] for number in set().union(*columns)}
    texts, lemmas, parts, tags, deps = (
        list(map(strings.__getitem__, column)) for column in columns
    )
    starts = doc.to_array("IDX").tolist()
    steps = doc.to_array("HEAD").astype("int64").tolist()  # to each head
    words = []
    for number, sentence in enumerate(sentences):
        for index in range(sentence.start, sentence.end):
            word = Word(
                index=index,
                text=texts[index],
                lemma=lemmas[index].lower(),
                pos=parts[index],
                tag=tags[index],
                dep=deps[index],
                start=starts[index],
                end=starts[index] + len(texts[index]),
                sentence=number,
            )
            words.append(word)
    for word, step in zip(words, steps, strict=True):
        word.head = words[word.index + step]
        if word.head is not word:
            word.head.children.append(word)
            if word.dep in SUBJECTS:
                word.head.subjects.append(word)
    return words, [sentence.text.strip() for sentence in sentences]
