"""The words of a parsed text, without spaCy's objects.

Components and relations are found from Words alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacy.tokens import Doc

NOUN_TAGS = ("NOUN", "PROPN")
SUBJECT_DEPENDENCIES = ("nsubj", "nsubjpass")
OBJECT_DEPENDENCIES = ("dobj", "obj")
PREPOSITION_OBJECTS = ("pobj", "obj")
FINITE_VERB_TAGS = ("VBZ", "VBP", "VBD", "MD")  # the tags of verbs with a tense
_NUMBERS_TO_TEN = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
]
DIGITS_OF_WORDS = {word: str(number) for number, word in enumerate(_NUMBERS_TO_TEN)}
SIDE_WORDS = (
    "left",
    "right",
    "top",
    "bottom",
    "middle",
    "center",
    "centre",
    "front",
    "back",
)


def word_set(words: str) -> frozenset[str]:
    """Returns the words of a string, which are separated by white space."""
    return frozenset(words.split())


ARTICLES = frozenset(("a", "an", "the"))
HEDGE_WORDS = word_set("possibly perhaps probably likely apparently seemingly maybe")
# verbs for the place or posture of a thing, which fit every picture
POSTURE_VERBS = word_set(
    "be sit stand rest lie locate place position situate appear exist hang remain"
)
# verbs whose object belongs to their subject
HAVING_VERBS = word_set("have hold wear carry contain include feature")
# nouns for a picture or for a text about a picture
PICTURE_NOUNS = word_set(
    "picture image photo photograph scene drawing text answer response description caption"
)
# nouns that add no thing to the noun after "of": "a group of men", "the top of a table"
QUANTITY_NOUNS = word_set(
    "group couple pair bunch lot number variety row set crowd herd flock both some all most many"
)
PART_NOUNS = word_set("top front back side middle part end rest")
# words before a preposition of place: "next to", "far from", "left of"
LEADING_WORDS = word_set("next close adjacent near far opposite left right")
SEEING_VERBS = word_set("see find spot view observe notice glimpse look seem make")
# verbs that fit every picture
NEUTRAL_VERBS = (
    POSTURE_VERBS | HAVING_VERBS | SEEING_VERBS | word_set("show depict display reveal capture")
)
# neutral verbs that state only that a thing is there: without most verbs of posture
SHOWING_VERBS = NEUTRAL_VERBS - POSTURE_VERBS | {"be", "exist", "appear"}
# words that alone name no thing
PLAIN_WORDS = (
    QUANTITY_NOUNS
    | PART_NOUNS
    | PICTURE_NOUNS
    | frozenset(SIDE_WORDS)
    | word_set("one each corner edge side background foreground view")
)
_ADVERB_LIST = """
    above here there nearby back below further away also then now directly just only together up
    down outside inside so too still very overhead ahead overall however additionally finally
    meanwhile where when
"""
ADVERBS = frozenset(SIDE_WORDS) | LEADING_WORDS | HEDGE_WORDS | word_set(_ADVERB_LIST)
# prepositions for the place of a thing
PLACING_PREPOSITIONS = word_set(
    """
    about above across against along amid amidst among around as at atop before behind below beneath
    beside between beyond by despite down for from in inside into near next off on onto out outside
    over past through throughout to together toward towards under underneath up upon with within
    """
)


@dataclass(eq=False, slots=True)
class Word:
    """One token of a text.

    `start` and `end` are its characters, [start, end) of the parsed text. `index` counts the tokens
    of the text and `sentence` counts the sentences, both from 0. `pos` is the part of speech of
    Universal Dependencies ("NOUN"). `tag` is the part of speech of the Penn Treebank ("NNS"). `dep`
    is the dependency of the word on its `head` ("nsubj"). `children` are its direct dependents from
    left to right.
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
        """True for the "is" of "the dog is red", False for the auxiliary of "is sleeping"."""
        return self.lemma == "be" and self.dep not in ("aux", "auxpass")

    @property
    def is_relative(self) -> bool:
        """True for "who", "which", "that" and "whose" in place of a noun."""
        return self.tag in ("WDT", "WP", "WP$")

    def has_child(self, *deps: str) -> bool:
        """Whether a direct dependent has one of these dependencies."""
        return any(child.dep in deps for child in self.children)


def read_words(doc: Doc) -> tuple[list[Word], list[str]]:
    """Returns the words of a parsed text and its stripped sentences. "A dog sits. It is old." has
    eight words, because each full stop is a word.
    """
    if not len(doc):
        return [], []
    sentences = list(doc.sents)
    sentence_numbers = []  # of each token
    for number, sentence in enumerate(sentences):
        sentence_numbers += [number] * len(sentence)
    # Reading arrays of all tokens takes a third of the time of reading the properties of each
    # token. The columns are in the order of the fields of `Word`.
    columns = zip(
        _token_attributes(doc, "ORTH"),
        _token_attributes(doc, "LEMMA"),
        _token_attributes(doc, "POS"),
        _token_attributes(doc, "TAG"),
        _token_attributes(doc, "DEP"),
        doc.to_array("IDX").tolist(),
        sentence_numbers,
        strict=True,
    )
    words = []
    for index, (text, lemma, pos, tag, dep, start, sentence_number) in enumerate(columns):
        end = start + len(text)
        words.append(Word(index, text, lemma.lower(), pos, tag, dep, start, end, sentence_number))
    _connect_heads(words, doc)
    return words, [sentence.text.strip() for sentence in sentences]


def _connect_heads(words: Sequence[Word], doc: Doc) -> None:
    """Gives each word its head, and each head its children and subjects. All words must be made
    before, because a head may come after its word.
    """
    # The steps from each word to its head. spaCy's numbers are unsigned, but a head may come first.
    steps = doc.to_array("HEAD").astype("int64").tolist()
    for word, step in zip(words, steps, strict=True):
        word.head = words[word.index + step]
        if word.head is not word:
            word.head.children.append(word)
            if word.dep in SUBJECT_DEPENDENCIES:
                word.head.subjects.append(word)


def _token_attributes(doc: Doc, attribute: str) -> list[str]:
    """Returns an attribute of all tokens, such as "LEMMA", as text. Each distinct text is looked up
    once.
    """
    numbers = doc.to_array(attribute).tolist()
    texts = {number: doc.vocab.strings[number] for number in set(numbers)}
    return [texts[number] for number in numbers]
