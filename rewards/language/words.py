"""A parsed text as plain words: what spaCy found, detached from spaCy.

Everything after this file works on Words alone, so it is the one place that knows how a Doc is read.
"""

from dataclasses import dataclass, field

from spacy.tokens import Doc

NOUNS = ("NOUN", "PROPN")
SUBJECTS = ("nsubj", "nsubjpass")
OBJECTS = ("dobj", "obj")
PREPOSITION_OBJECTS = ("pobj", "obj")
SEEN = ("see", "find", "locate", "situate", "position")
SIDES = ("left", "right", "top", "bottom", "middle", "center", "centre", "front", "back")


@dataclass(eq=False, slots=True)
class Word:
    """One token; `start` and `end` are its characters, `children` its direct dependents from left to right, `subjects`
    those of them that are subjects.
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
    head: "Word" = field(init=False, repr=False)  # a sentence's root is its own head
    children: list["Word"] = field(default_factory=list, repr=False)
    subjects: list["Word"] = field(default_factory=list, repr=False)

    @property
    def is_copula(self) -> bool:
        return self.lemma == "be" and self.dep not in ("aux", "auxpass")

    @property
    def is_relative(self) -> bool:
        """ "who", "which", "that", "whose", where they stand for a noun."""
        return self.tag in ("WDT", "WP", "WP$")

    @property
    def is_seen(self) -> bool:
        """ "seen" in "can be seen", "a man seen in the park"; not in "has seen", "seen by"."""
        is_participle = self.lemma in SEEN and self.tag == "VBN" and self.dep != "amod"
        return is_participle and not self.has_child("nsubj", "agent", *OBJECTS)

    @property
    def is_side(self) -> bool:
        """ "left" in "at the left", where the parser reads an adjective."""
        in_noun_place = self.dep in (*SUBJECTS, *OBJECTS, *PREPOSITION_OBJECTS)
        return self.pos == "ADJ" and in_noun_place and self.text.lower() in SIDES

    def has_child(self, *deps: str) -> bool:
        return any(child.dep in deps for child in self.children)


def read_words(doc: Doc, offset: int = 0) -> tuple[list[Word], list[str]]:
    """The words of a parsed text and its stripped sentences; `offset` is added to every character position."""
    words: list[Word] = []
    sentences: list[str] = []
    if not len(doc):
        return words, sentences
    for number, sentence in enumerate(doc.sents):
        sentences.append(sentence.text.strip())
        for token in sentence:
            start = token.idx + offset
            word = Word(
                index=token.i,
                text=token.text,
                lemma=token.lemma_.lower(),
                pos=token.pos_,
                tag=token.tag_,
                dep=token.dep_,
                start=start,
                end=start + len(token.text),
                sentence=number,
            )
            words.append(word)
    for word, token in zip(words, doc, strict=True):
        word.head = words[token.head.i]
        if word.head is not word:
            word.head.children.append(word)
            if word.dep in SUBJECTS:
                word.head.subjects.append(word)
    return words, sentences
