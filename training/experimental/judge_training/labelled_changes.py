"""Changes captions by people on purpose, and labels exactly the changed words. So nobody has to
label anything.

    changes = Changes({"1": ["A dog on grass.", "The dog sits."], ...}, Random(0))
    changes.example("replaced", "1")
    # Example("A cat on grass.", "The dog sits.", ((0, 15, 1.0), (2, 5, 0.0)), "1")

The target is one to four other captions of the same picture. A word that is missing in one or two
captions may still be right, so such a word is not trained on. docs/train_a_judge.md explains the
kinds of change.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

from spacy.tokens import Token

from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.language.pipeline import load_pipeline
from spanreward.rewards.language.words import NOUN_TAGS, word_set

# Parts of speech, as spaCy names them. CHANGED_TAGS: words that are changed; each part of speech is
# equally likely. OPENING_TAGS: words with which a part of a caption begins.
CHANGED_TAGS = ("NOUN", "PROPN", "ADJ", "VERB", "ADP", "NUM")
OPENING_TAGS = ("ADP", "CCONJ", "SCONJ", "PUNCT", "PRON")
COLOUR_WORDS = word_set(
    "red green blue yellow white black brown orange purple pink gray grey tan golden silver"
)
# If only these words are between two nouns, a swap of the nouns does not change the meaning: "cats
# and dogs".
JOINING_WORDS = word_set("and or , a an the")
ARTICLE_AT_END = re.compile(r"\b([Aa])n?( +)$")
NEAR_SHARE = 0.7  # share of drawn pictures that must have a word in common
MAX_TARGET_CAPTIONS = 4
MAX_TRIED_PICTURES = 20  # so many pictures are drawn to find a word that may replace another
COMPLETE_CAPTIONS = 3  # a target of so many captions has nearly every right word
UNCLAIMED_GRAMMAR = read_yaml_file(Path(__file__).with_name("unclaimed.yaml"))
CharacterRanges = list[tuple[int, int]]  # characters [start, end)
MarkedRange = tuple[int, int, float | None]  # a place, and how right its words are (see Example)


class Word(NamedTuple):
    """A word at the characters [start, end) of a text. An empty word (start == end) is a place
    between words.

    Args:
        start: the offset of the first character.
        end: the offset after the last character.
        text: the word as it is written.
        lemma: the base form, in small letters.
        kind: the part of speech, as spaCy names it.
        pool: the name of the group of words that may replace the word: a tag such as "NNS", or
            "colour". "" for a word that is not changed.
    """

    start: int
    end: int
    text: str = ""
    lemma: str = ""
    kind: str = ""
    pool: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A text and the target by which its words are judged.

    Args:
        text: the text whose words are judged.
        target: the text by which the words are judged.
        marks: (start, end, right) for the characters [start, end). `right` is how right the words
            are, in [0, 1], or None if it is not known. If a token has several marks, its last mark
            counts. A token without a mark is not trained on.
        picture: the name of the picture. All examples of a picture are held out together.
    """

    text: str
    target: str
    marks: tuple[MarkedRange, ...]
    picture: str


class Changes:
    """Makes examples from the captions of pictures.

    Args:
        captions: at least two captions of each picture, by the picture's name.
        random: decides everything that is drawn. With equal seeds the examples are equal, so the
            order of the draws must not change.

    Attributes:
        words: all words of each text, by the text.
        changeable: the words of a picture's captions that may be changed, by the picture's name.
        known: the base forms of the changeable words, by the picture's name.
        having: the names of the pictures whose captions have a base form, by the base form.
    """

    def __init__(self, captions: Mapping[str, Sequence[str]], random: Random) -> None:
        self.captions = captions
        self.names = list(captions)
        self.random = random
        texts = list(dict.fromkeys(chain(*captions.values())))
        parsed = load_pipeline().pipe(texts, disable=["parser"])
        self.words: dict[str, list[Word]] = {}
        for text, doc in zip(texts, parsed, strict=True):
            self.words[text] = [word_of(token) for token in doc]
        self.changeable: dict[str, list[Word]] = {}
        self.known: dict[str, set[str]] = {}
        for name, picture_texts in captions.items():
            words: list[Word] = []
            for text in picture_texts:
                words += [word for word in self.words[text] if word.pool]
            self.changeable[name] = words
            self.known[name] = {word.lemma for word in words}
        self.having = defaultdict(list)
        for name, lemmas in self.known.items():
            for lemma in sorted(lemmas):  # a set has another order in each process
                self.having[lemma].append(name)

    def example(self, kind: str, name: str) -> Example | None:
        """Returns an example of a picture, or None if the drawn caption cannot be changed in this
        way.

        kind: the kind of change, such as "replaced". name: the picture's name.
        """
        # One of the captions is the text, and up to four other captions are its target.
        texts = self.captions[name]
        caption, *rest = self.random.sample(texts, len(texts))
        rest = rest[: 1 + self.random.randrange(MAX_TARGET_CAPTIONS)]
        if kind == "other":
            caption = self.random.choice(self.captions[self.other(name)])
            word_marks = marks_of_words(self.words[caption], self.known[name])
            return Example(caption, " ".join(rest), word_marks, name)
        if kind == "unsaid":
            return self._unsaid(name, caption)
        text, places = self.changed(kind, name, caption)
        if not places and kind not in ("right", "unclaimed"):
            return None
        # A token's last mark counts. So the first mark makes everything right, later marks make
        # some words unsure, and the last marks make the changed words wrong.
        marks: list[MarkedRange] = [(0, len(text), 1.0)]
        if len(rest) < COMPLETE_CAPTIONS:
            marks += self._unsure_marks(text, caption, rest)
        marks += [(start, end, 0.0) for start, end in places]
        return Example(text, " ".join(rest), tuple(marks), name)

    def _unsure_marks(
        self, text: str, caption: str, target_captions: Sequence[str]
    ) -> list[MarkedRange]:
        """Returns a mark with None for each word of a text that may be right or wrong, because the
        few captions of the target lack it.

        Example: for the caption "A brown dog sits." and the target "The dog.", the words "brown"
        and "sits" get marks. text: the caption, maybe with changed words.
        """
        target_lemmas: set[str] = set()
        for target_caption in target_captions:
            target_lemmas.update(word.lemma for word in self.words[target_caption])
        unsure = []
        for word in self.words[caption]:
            if word.pool and word.lemma not in target_lemmas:
                unsure.append(re.escape(word.text))
        if not unsure:
            return []
        matches = re.finditer(rf"\b({'|'.join(unsure)})\b", text)
        return [(match.start(), match.end(), None) for match in matches]

    def changed(self, kind: str, name: str, text: str) -> tuple[str, CharacterRanges]:
        """Returns a changed text, and the places of the new words. The list of places is empty if
        the text cannot be changed in this way.

        Example: "A dog on grass." may become "A cat on grass.", with the place (2, 5).

        kind: the kind of change, such as "replaced". name: the picture's name. text: one of the
        picture's captions.
        """
        if kind == "unclaimed":
            return self._unclaimed(name, text)
        words = self.words[text]
        if kind == "swapped":
            changes = self._swapped(words)
        elif kind == "added":
            changes = self._added(name, words)
        elif kind == "right":
            changes = {}
        else:
            changes = self._replaced(name, words)
        return rewrite_text(text, changes)

    def _unsaid(self, name: str, caption: str) -> Example:
        """Returns an example whose target lacks a part of the text's words. The text is one or two
        captions, and the words that the target lacks are marked as wrong.

        Example: for the text "A dog sits on the grass." and the target "A dog sits.", the words
        "on" and "grass" are wrong. caption: one of the picture's captions.
        """
        # The text is the caption, and in half of the examples also a caption of another picture.
        other_texts = self.captions[self.other(name)]
        count = self.random.randrange(2)
        texts = [caption, *self.random.sample(other_texts, count)]
        self.random.shuffle(texts)
        text, words = self._joined(texts)
        target, target_lemmas = self._part_of(text, words)
        things = []  # nouns that are missing in the target
        for word in words:
            is_thing = word.pool and word.kind == "NOUN"
            if is_thing and word.lemma not in target_lemmas:
                things.append(word)
        # In half of the examples the target gets a sentence that names such a noun without a claim:
        # "There is no dog." The noun still counts as missing.
        if things and self.random.random() < 0.5:
            thing = self.random.choice(things)
            word_texts = [word.text.lower() for word in words if word.pool]
            is_plural = thing.pool == "NNS"
            sentence, _ = unclaimed_sentence(thing.text.lower(), is_plural, word_texts, self.random)
            target = " ".join(self.random.sample((target, sentence), 2))
        return Example(text.rstrip(), target, marks_of_words(words, target_lemmas), name)

    def _joined(self, captions: Sequence[str]) -> tuple[str, list[Word]]:
        """Returns the captions as one text, with a space after each, and the words of all captions,
        at their places in this text.

        Example: the word "bus" of "A cat." and "A bus." is at the characters [9, 12) of
        "A cat. A bus. ".
        """
        text = ""
        words: list[Word] = []
        for caption in captions:
            shift = len(text)
            for word in self.words[caption]:
                start = word.start + shift
                words.append(word._replace(start=start, end=word.end + shift))
            text += f"{caption} "
        return text, words

    def _part_of(self, text: str, words: Sequence[Word]) -> tuple[str, set[str]]:
        """Returns the text without some of its parts, drawn at random, and the base forms of the
        words that are left.

        Each part begins with an OPENING_TAGS word. Example: "A dog sits on the grass." may become
        "A dog sits.", or "on the grass.", or "A picture." if no part is left.

        words: all words of the text, in order.
        """
        keep = self.random.random() < 0.5
        part = ""
        lemmas = set()
        end = Word(len(text), len(text))
        for word, following in pairwise([*words, end]):
            if word.kind in OPENING_TAGS:  # a new part begins
                keep = self.random.random() < 0.5
            if not keep:
                continue
            # In a part that is kept, some adjectives and numbers are dropped.
            if word.kind not in ("ADJ", "NUM") or self.random.random() < 0.75:
                lemmas.add(word.lemma)
                part += text[word.start : following.start]
        part = " ".join(part.split()).strip(" ,.")
        if not part:
            part = "A picture"
        return f"{part}.", lemmas

    def _replaced(self, name: str, words: Sequence[Word]) -> dict[Word, str]:
        """Returns up to three words of a text, each with the word of another picture that replaces
        it.
        """
        changes = {}
        changeable = [word for word in words if word.pool]
        kinds = sorted({word.kind for word in changeable})
        for _ in range(1 + self.random.randrange(3)):
            if kinds:
                # The kind is drawn first, so that rare kinds are changed as often as nouns.
                kind = self.random.choice(kinds)
                words_of_kind = [word for word in changeable if word.kind == kind]
                word = self.random.choice(words_of_kind)
                changes[word] = self._replacement(name, word)
        return {word: new for word, new in changes.items() if new}

    def _swapped(self, words: Sequence[Word]) -> dict[Word, str]:
        """Returns two nouns or two adjectives of a caption, each with the other word's text.

        Example: in "a red cup on a blue plate", {red: "blue", blue: "red"}. The two words are of
        one pool, so that each fits in the place of the other. The result is empty if no swap would
        change the meaning.

        words: the words of the caption, in order.
        """
        pairs = swappable_pairs(words)
        if not pairs:
            return {}
        first, second = self.random.choice(pairs)
        return {first: cased_like(second.text, first), second: cased_like(first.text, second)}

    def _added(self, name: str, words: Sequence[Word]) -> dict[Word, str]:
        """Returns {place: text to add there}, with a place before a noun and an adjective or a
        colour. The result is empty if there is no such place or no such word.

        A place is a Word without characters (start == end). Example: {the place before "cup" in "a
        cup": "red "}.
        """
        pool = self.random.choice(("JJ", "colour"))
        places = []  # a place before each noun
        for word in words:
            if word.kind in NOUN_TAGS and word.start:  # not before the text's first word
                places.append(Word(word.start, word.start, pool=pool))
        if not places:
            return {}
        place = self.random.choice(places)
        new = self._replacement(name, place)
        if not new:
            return {}
        return {place: f"{new} "}

    def _unclaimed(self, name: str, text: str) -> tuple[str, CharacterRanges]:
        """Returns the text with an additional sentence that names a thing but does not claim that
        the picture shows it. The second value has the place of the sentence, which is wrong.

        If the sentence denies a thing that the picture lacks, the sentence is right, and there is
        no place.
        """
        changeable = self.changeable[name]
        things = [word for word in changeable if word.pool in ("NN", "NNS")]
        if not things:
            return text, []
        thing = self.random.choice(things)
        words = [word.text.lower() for word in changeable]
        # In half of the sentences the thing is in no caption of the picture.
        absent = ""
        if self.random.random() < 0.5:
            absent = self._replacement(name, thing)
        noun = absent if absent else thing.text
        is_plural = thing.pool == "NNS"
        sentence, is_denied = unclaimed_sentence(noun.lower(), is_plural, words, self.random)
        whole = text
        if not text.endswith((".", "!", "?")):
            whole = f"{text}."
        sentence_first = ("", f" {whole}")
        sentence_last = (f"{whole} ", "")
        before, after = self.random.choice((sentence_first, sentence_last))
        changed_text = before + sentence + after
        if absent and is_denied:  # a true denial
            return changed_text, []
        return changed_text, [(len(before), len(before) + len(sentence))]

    def _replacement(self, name: str, word: Word) -> str:
        """Returns a word of another picture that may replace this word, and that no caption of this
        picture has. The result is "" if no such word is found in MAX_TRIED_PICTURES pictures.

        Example: "cat" for the word "dog" of a picture without cats. name: the picture's name.
        """
        for _ in range(MAX_TRIED_PICTURES):
            other_words = self.changeable[self.other(name)]
            words = [new for new in other_words if new.pool == word.pool]
            if not words:
                continue
            new = self.random.choice(words)
            is_absent = new.lemma not in self.known[name]
            if is_absent and new.lemma != word.lemma:
                return cased_like(new.text, word)
        return ""

    def other(self, name: str) -> str:
        """Returns the name of a picture, drawn at random, whose words may be put into captions of
        this picture.

        With the chance NEAR_SHARE, the captions of the two pictures share a word. The drawn picture
        may also be this picture itself. name: the name of this picture.
        """
        lemmas: list[str] = []
        if self.random.random() < NEAR_SHARE:
            lemmas = sorted(self.known[name])
        if not lemmas:
            return self.random.choice(self.names)
        lemma = self.random.choice(lemmas)
        return self.random.choice(self.having[lemma])


def marks_of_words(words: Sequence[Word], lemmas: Set[str]) -> tuple[MarkedRange, ...]:
    """Returns a mark for each word that may be changed. A word whose base form is in `lemmas` is
    right (1.0), and any other word is wrong (0.0).
    """
    marks: list[MarkedRange] = []
    for word in words:
        if word.pool:
            right = float(word.lemma in lemmas)  # 0.0 or 1.0
            marks.append((word.start, word.end, right))
    return tuple(marks)


def swappable_pairs(words: Sequence[Word]) -> list[tuple[Word, Word]]:
    """Returns the pairs of two nouns or two adjectives of one pool whose swap changes the meaning.

    Example: "red" and "blue" of "a red cup on a blue plate". But a swap in "cats and dogs" would
    not change the meaning, because only joining words are between the two nouns.

    words: the words of a caption, in order.
    """
    pairs = []
    for first_index, first in enumerate(words):
        if first.kind not in (*NOUN_TAGS, "ADJ"):
            continue
        # two words that follow each other are not swapped
        for second_index in range(first_index + 2, len(words)):
            second = words[second_index]
            if first.pool != second.pool or first.lemma == second.lemma:
                continue
            words_between = words[first_index + 1 : second_index]
            between = [word.text.lower() for word in words_between]
            if not JOINING_WORDS.issuperset(between):
                pairs.append((first, second))
    return pairs


def word_of(token: Token) -> Word:
    """Returns a token of spaCy as a Word.

    The Word's `pool` is the name of the words that may replace the token: "colour", a tag such as
    "NNS" for plural nouns, or "" if no word may replace it.
    """
    lemma = token.lemma_.lower()
    kind = token.pos_
    pool = ""
    if lemma in COLOUR_WORDS:  # by its tag alone, "small" could replace "red"
        pool = "colour"
    elif kind in CHANGED_TAGS and lemma != "be":
        pool = token.tag_
    start = token.idx
    return Word(start, start + len(token), token.text, lemma, kind, pool)


def cased_like(text: str, like: Word) -> str:
    """Returns the text in small letters, with a capital if `like` is the first word of its text and
    has a capital.
    """
    if like.start == 0 and like.text.istitle():
        return text.capitalize()
    return text.lower()


def unclaimed_sentence(
    noun: str, is_plural: bool, words: list[str], random: Random
) -> tuple[str, bool]:
    """Returns a sentence that names a thing without claiming that a picture shows it, and whether
    the sentence denies the thing. A denial may be right.

    Example: "There is no dog.", which denies the dog, or "Is there a dog?", which does not.

    noun: the name of the thing; a plural if `is_plural`. words: words for the sentences that are
    only words in random order. The grammar is in unclaimed.yaml: "there <is> no <noun>." becomes
    "There is no dog.".
    """
    rules_of_number = UNCLAIMED_GRAMMAR["many" if is_plural else "one"]
    rules = {**UNCLAIMED_GRAMMAR, **rules_of_number, "noun": [noun], "word": words}

    def text_for(symbol: re.Match[str]) -> str:
        """Returns a text for a symbol: for <noun>, the noun."""
        return without_symbols(random.choice(rules[symbol[1]]))

    def without_symbols(text: str) -> str:
        """Returns a text with all of its symbols replaced, also symbols within the replacements."""
        return re.sub("<([a-z]+)>", text_for, text)

    form = random.choice(UNCLAIMED_GRAMMAR["sentence"])
    sentence = re.sub(r"\ba (?=[aeiou])", "an ", without_symbols(form))
    return sentence[0].upper() + sentence[1:], form == "<denied>"


def rewrite_text(text: str, changes: Mapping[Word, str]) -> tuple[str, CharacterRanges]:
    """Returns the text with some words replaced, and the places of the new words.

    changes: the new text of each word. An "a" or "an" before a new word is corrected: "a dog"
    becomes "an owl".
    """
    new_text = ""
    places = []
    copied = 0  # how many characters of the old text are copied or replaced
    for word, new in sorted(changes.items()):
        new_text += text[copied : word.start]
        article = ARTICLE_AT_END.search(new_text)  # an "a" or "an" at the end
        if new != word.text and article:
            before_article = new_text[: article.start()]
            first_letter, spaces = article.groups()
            rest_of_article = "n" if new[0].lower() in "aeiou" else ""  # "an" or "a"
            new_text = f"{before_article}{first_letter}{rest_of_article}{spaces}"
        start = len(new_text)
        places.append((start, start + len(new.rstrip())))  # an added word ends with a space
        new_text += new
        copied = word.end
    return new_text + text[copied:], places
