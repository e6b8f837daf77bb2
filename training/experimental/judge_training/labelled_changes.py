"""People's captions changed on purpose, with a label on the very words. Nobody has to label
anything.

    changes = Changes({"1": ["A dog on grass.", "The dog sits."], ...}, Random(0))
    changes.example("replaced", "1")
    # Example("A cat on grass.", "The dog sits.", ((0, 15, 1.0), (2, 5, 0.0)), "1")

The target is one to four other captions of the same picture. One or two captions do not tell
whether a word that they lack is right, so nothing is learnt about that word. docs/train_a_judge.md
says what the kinds of change are.
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
from spanreward.rewards.language.words import NOUNS, word_set

# kinds of words, as spaCy names parts of speech: those that are changed, each equally likely, and
# those with which a part of a caption begins
CHANGED = ("NOUN", "PROPN", "ADJ", "VERB", "ADP", "NUM")
OPENING = ("ADP", "CCONJ", "SCONJ", "PUNCT", "PRON")
COLOURS = word_set(
    "red green blue yellow white black brown orange purple pink gray grey tan golden silver"
)
# between two nouns that may change places without a change of what is said
JOINING = word_set("and or , a an the")
ARTICLE = re.compile(r"\b([Aa])n?( +)$")
NEAR_SHARE = 0.7  # of other pictures that share a word with this one
MAX_TARGET_CAPTIONS = 4
COMPLETE_CAPTIONS = 3  # from so many on, a target has most of what a caption of the picture says
GRAMMAR = read_yaml_file(Path(__file__).with_name("unclaimed.yaml"))
Places = list[tuple[int, int]]  # characters [start, end)
Mark = tuple[int, int, float | None]  # such a place, and how right it is (Example)


class Word(NamedTuple):
    """A word at its characters [start, end) of a text. An empty one is a place between words.

    Args:
        start: its first character.
        end: the character after its last.
        text: as it is written.
        lemma: its base form, in small letters.
        kind: its part of speech, as spaCy names it.
        pool: names the words that may stand for it, "" for none: a tag such as "NNS", or "colour".
    """

    start: int
    end: int
    text: str = ""
    lemma: str = ""
    kind: str = ""
    pool: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A text beside a target.

    Args:
        text: whose words are judged.
        target: what they are judged by.
        marks: characters [start, end), and how right they are, in [0, 1]; None is not known. A
            token's last mark counts. A token without one is not trained on.
        picture: the name of what is held out together.
    """

    text: str
    target: str
    marks: tuple[Mark, ...]
    picture: str


class Changes:
    """Makes examples from the captions of pictures.

    Args:
        captions: by the picture's name, at least two of each.
        random: what decides all that is drawn. The order of the draws is part of what an example
            is: equal seeds make equal examples.

    Attributes:
        words: by text, all of its words.
        changeable: by picture, the words of its captions that may be changed.
        known: by picture, the base forms of these.
        having: by base form, the pictures whose captions have it.
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
            for lemma in sorted(lemmas):  # a set's order is another in each process
                self.having[lemma].append(name)

    def example(self, kind: str, name: str) -> Example | None:
        """Returns an example of this picture, or None where the drawn caption has no place for this
        kind.
        """
        # one of the captions is the text, and up to four others are its target
        texts = self.captions[name]
        caption, *rest = self.random.sample(texts, len(texts))
        rest = rest[: 1 + self.random.randrange(MAX_TARGET_CAPTIONS)]
        if kind == "other":
            caption = self.random.choice(self.captions[self.other(name)])
            word_marks = marked(self.words[caption], self.known[name])
            return Example(caption, " ".join(rest), word_marks, name)
        if kind == "unsaid":
            return self._unsaid(name, caption)
        text, places = self.changed(kind, name, caption)
        if not places and kind not in ("right", "unclaimed"):
            return None
        # words of the caption that the target does not say
        target_lemmas: set[str] = set()
        for other_text in rest:
            target_lemmas.update(word.lemma for word in self.words[other_text])
        unsure = []
        for word in self.words[caption]:
            if word.pool and word.lemma not in target_lemmas:
                unsure.append(re.escape(word.text))
        # all is right, but what is unsure, but what was changed: a token's last mark counts
        marks: list[Mark] = [(0, len(text), 1.0)]
        if unsure and len(rest) < COMPLETE_CAPTIONS:
            # what a short target does not say may be right or wrong
            for match in re.finditer(rf"\b({'|'.join(unsure)})\b", text):
                marks.append((match.start(), match.end(), None))
        marks += [(start, end, 0.0) for start, end in places]
        return Example(text, " ".join(rest), tuple(marks), name)

    def changed(self, kind: str, name: str, text: str) -> tuple[str, Places]:
        """Returns one of this picture's texts changed, and where; nowhere if it has no place for
        this kind.
        """
        if kind == "unclaimed":
            return self._unclaimed(name, text)
        words = self.words[text]
        if kind == "swapped":
            changes = self._swapped(name, words)
        elif kind == "added":
            changes = self._added(name, words)
        elif kind == "right":
            changes = {}
        else:
            changes = self._replaced(name, words)
        return rewrite(text, changes)

    def _unsaid(self, name: str, caption: str) -> Example:
        """Returns one or two captions beside a target that says a part of their words."""
        # the text: the caption, and in half of the examples one of another picture
        other_texts = self.captions[self.other(name)]
        count = self.random.randrange(2)
        texts = [caption, *self.random.sample(other_texts, count)]
        self.random.shuffle(texts)
        keep = self.random.random() < 0.5
        text = ""
        words: list[Word] = []  # of the whole text
        for caption_text in texts:
            shift = len(text)
            for word in self.words[caption_text]:
                start = word.start + shift
                words.append(word._replace(start=start, end=word.end + shift))
            text += f"{caption_text} "
        # the target: the text without some of its parts, each of which begins with an opening word
        target = ""
        target_lemmas = set()
        end = Word(len(text), len(text))
        for word, following in pairwise([*words, end]):
            if word.kind in OPENING:
                keep = self.random.random() < 0.5
            if not keep:
                continue
            # a phrase may lose its adjectives and numbers
            if word.kind not in ("ADJ", "NUM") or self.random.random() < 0.75:
                target_lemmas.add(word.lemma)
                target += text[word.start : following.start]
        target = " ".join(target.split()).strip(" ,.")
        if not target:  # nothing was kept
            target = "A picture"
        target += "."
        things = []  # that only the text names
        for word in words:
            if word.pool and word.kind == "NOUN" and word.lemma not in target_lemmas:
                things.append(word)
        # what a sentence names and does not claim is not said either
        if things and self.random.random() < 0.5:
            thing = self.random.choice(things)
            word_texts = [word.text.lower() for word in words if word.pool]
            is_plural = thing.pool == "NNS"
            sentence, _ = unclaimed(thing.text.lower(), is_plural, word_texts, self.random)
            target = " ".join(self.random.sample((target, sentence), 2))
        return Example(text.rstrip(), target, marked(words, target_lemmas), name)

    def _replaced(self, name: str, words: Sequence[Word]) -> dict[Word, str]:
        """Returns up to three words, each with one of another picture that may stand for it."""
        changes = {}
        changeable = [word for word in words if word.pool]
        kinds = sorted({word.kind for word in changeable})
        for _ in range(1 + self.random.randrange(3)):
            if kinds:
                # first the kind, so that rare kinds are changed as often as nouns
                kind = self.random.choice(kinds)
                of_kind = [word for word in changeable if word.kind == kind]
                word = self.random.choice(of_kind)
                changes[word] = self._instead(name, word)
        return {word: new for word, new in changes.items() if new}

    def _swapped(self, name: str, words: Sequence[Word]) -> dict[Word, str]:
        """Returns two nouns or two adjectives, each with the other's text; none where no two say
        something else when they are swapped.
        """
        pairs = []
        for place, first in enumerate(words):
            if first.kind not in (*NOUNS, "ADJ"):
                continue
            for second_place in range(place + 2, len(words)):  # with a word between them
                second = words[second_place]
                if first.pool != second.pool or first.lemma == second.lemma:
                    continue
                # "cats and dogs" is the same as "dogs and cats"
                words_between = words[place + 1 : second_place]
                between = [word.text.lower() for word in words_between]
                if not JOINING.issuperset(between):
                    pairs.append((first, second))
        if not pairs:
            return {}
        first, second = self.random.choice(pairs)
        return {first: cased(second.text, first), second: cased(first.text, second)}

    def _added(self, name: str, words: Sequence[Word]) -> dict[Word, str]:
        """Returns the place before a noun, with an adjective or a colour to put there."""
        pool = self.random.choice(("JJ", "colour"))
        places = []  # before each noun
        for word in words:
            if word.kind in NOUNS and word.start:  # not before the text's first word
                places.append(Word(word.start, word.start, pool=pool))
        if not places:
            return {}
        place = self.random.choice(places)
        new = self._instead(name, place)
        if not new:
            return {}
        return {place: f"{new} "}

    def _unclaimed(self, name: str, text: str) -> tuple[str, Places]:
        """Returns the text with a sentence before or after it that claims nothing, and its place.

        A sentence that denies a thing which the picture lacks is right, and so has no place.
        """
        changeable = self.changeable[name]
        things = [word for word in changeable if word.pool in ("NN", "NNS")]
        if not things:
            return text, []
        thing = self.random.choice(things)
        words = [word.text.lower() for word in changeable]
        # in half of the sentences a thing that no caption of the picture names
        absent = ""
        if self.random.random() < 0.5:
            absent = self._instead(name, thing)
        noun = absent if absent else thing.text
        is_plural = thing.pool == "NNS"
        sentence, is_denied = unclaimed(noun.lower(), is_plural, words, self.random)
        whole = text
        if not text.endswith((".", "!", "?")):
            whole = f"{text}."
        sentence_first = ("", f" {whole}")
        sentence_last = (f"{whole} ", "")
        before, after = self.random.choice((sentence_first, sentence_last))
        changed_text = before + sentence + after
        if absent and is_denied:  # which is right
            return changed_text, []
        return changed_text, [(len(before), len(before) + len(sentence))]

    def _instead(self, name: str, word: Word) -> str:
        """Returns a word that may stand for this one and that no caption of the picture has; "" if
        none is found.
        """
        for _ in range(20):
            other_words = self.changeable[self.other(name)]
            words = [new for new in other_words if new.pool == word.pool]
            if not words:
                continue
            new = self.random.choice(words)
            is_absent = new.lemma not in self.known[name]
            if is_absent and new.lemma != word.lemma:
                return cased(new.text, word)
        return ""

    def other(self, name: str) -> str:
        """Returns another picture, mostly one that shares a word."""
        lemmas: list[str] = []
        if self.random.random() < NEAR_SHARE:
            lemmas = sorted(self.known[name])
        if not lemmas:
            return self.random.choice(self.names)
        lemma = self.random.choice(lemmas)
        return self.random.choice(self.having[lemma])


def marked(words: Sequence[Word], lemmas: Set[str]) -> tuple[Mark, ...]:
    """Returns marks on the words that tell: right are those with a base form in `lemmas`."""
    marks: list[Mark] = []
    for word in words:
        if word.pool:
            right = float(word.lemma in lemmas)  # 0 or 1
            marks.append((word.start, word.end, right))
    return tuple(marks)


def word_of(token: Token) -> Word:
    """Returns a token of spaCy's as a word, with its pool."""
    lemma = token.lemma_.lower()
    kind = token.pos_
    pool = ""
    if lemma in COLOURS:  # a tag would let "red" become "small"
        pool = "colour"
    elif kind in CHANGED and lemma != "be":
        pool = token.tag_
    start = token.idx
    return Word(start, start + len(token), token.text, lemma, kind, pool)


def cased(text: str, like: Word) -> str:
    """Returns the text with a capital where `like` begins its text with one."""
    if like.start == 0 and like.text.istitle():
        return text.capitalize()
    return text.lower()


def unclaimed(noun: str, many: bool, words: list[str], random: Random) -> tuple[str, bool]:
    """Returns a sentence that names the thing, or words in no order, and whether it denies it,
    which may be right.

    noun: the thing, in the plural where `many`. words: what words in no order are drawn from.
    unclaimed.yaml has the grammar. Its "there <is> no <noun>." becomes "There is no dog.".
    """
    of_number = GRAMMAR["many" if many else "one"]
    rules = {**GRAMMAR, **of_number, "noun": [noun], "word": words}

    def expanded(symbol: re.Match[str]) -> str:
        return grown(random.choice(rules[symbol[1]]))

    def grown(text: str) -> str:
        return re.sub("<([a-z]+)>", expanded, text)

    form = random.choice(GRAMMAR["sentence"])
    sentence = re.sub(r"\ba (?=[aeiou])", "an ", grown(form))
    return sentence[0].upper() + sentence[1:], form == "<denied>"


def rewrite(text: str, changes: Mapping[Word, str]) -> tuple[str, Places]:
    """Returns the text with these words replaced, and the new words' places.

    An "a" or "an" before one is set right: "a dog" becomes "an owl".
    """
    new_text = ""
    places = []
    done = 0  # characters of the old text
    for word, new in sorted(changes.items()):
        new_text += text[done : word.start]
        article = ARTICLE.search(new_text)
        if new != word.text and article:
            before_article = new_text[: article.start()]
            n = "n" if new[0].lower() in "aeiou" else ""
            new_text = f"{before_article}{article[1]}{n}{article[2]}"
        start = len(new_text)
        places.append((start, start + len(new.rstrip())))  # without the space after an added word
        new_text += new
        done = word.end
    return new_text + text[done:], places
