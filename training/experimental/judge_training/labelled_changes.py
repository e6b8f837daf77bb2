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
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

from spacy.tokens import Token

from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.language.pipeline import load_pipeline
from spanreward.rewards.language.words import NOUNS, word_set

CHANGED = ("NOUN", "PROPN", "ADJ", "VERB", "ADP", "NUM")  # equally likely
OPENING = ("ADP", "CCONJ", "SCONJ", "PUNCT", "PRON")  # with these a part of a caption begins
COLOURS = word_set(
    "red green blue yellow white black brown orange purple pink gray grey tan golden silver"
)
JOINING = word_set("and or , a an the")
ARTICLE = re.compile(r"\b([Aa])n?( +)$")
NEAR = 0.7  # the share of other pictures that share a word with this one
MOST = 4  # captions in a target
MANY = 3  # from so many on, a target has most of what a caption of the picture says
GRAMMAR = read_yaml_file(Path(__file__).with_name("unclaimed.yaml"))
Places = list[tuple[int, int]]


class Word(NamedTuple):
    """A word at its characters [start, end). pool: names the words that may stand for it, "" for
    none.
    """

    start: int
    end: int
    text: str = ""
    lemma: str = ""
    kind: str = ""
    pool: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A text beside a target. marks: characters [start, end), and how right they are, in [0, 1];
    None is not known. A token's last mark counts. A token without one is not trained on. picture:
    what is held out together.
    """

    text: str
    target: str
    marks: tuple[tuple[int, int, float | None], ...]
    picture: str


class Changes:
    """Makes examples from the captions of pictures, at least two of each, by name."""

    def __init__(self, captions: Mapping[str, Sequence[str]], random: Random) -> None:
        self.captions, self.names, self.random = captions, list(captions), random
        texts = list(dict.fromkeys(text for several in captions.values() for text in several))
        parsed = load_pipeline().pipe(texts, disable=["parser"])
        self.words = {
            text: [read(token) for token in doc] for text, doc in zip(texts, parsed, strict=True)
        }
        self.changeable: dict[str, list[Word]] = {
            name: [word for text in several for word in self.words[text] if word.pool]
            for name, several in captions.items()
        }
        self.known = {
            name: {word.lemma for word in words} for name, words in self.changeable.items()
        }
        self.having = defaultdict(list)
        for name, lemmas in self.known.items():
            for lemma in sorted(lemmas):
                self.having[lemma].append(name)

    def example(self, kind: str, name: str) -> Example | None:
        """Returns an example of this picture, or None where the drawn caption has no place for this
        kind.
        """
        caption, *rest = self.random.sample(self.captions[name], len(self.captions[name]))
        rest = rest[: 1 + self.random.randrange(MOST)]
        if kind == "other":
            caption = self.random.choice(self.captions[self.other(name)])
            return Example(
                caption, " ".join(rest), marked(self.words[caption], self.known[name]), name
            )
        if kind == "unsaid":
            return self._unsaid(name, caption)
        text, places = self.changed(kind, name, caption)
        if not places and kind not in ("right", "unclaimed"):
            return None
        said = {word.lemma for other in rest for word in self.words[other]}
        unsure = [word.text for word in self.words[caption] if word.pool and word.lemma not in said]
        unknown = (
            re.finditer(rf"\b({'|'.join(map(re.escape, unsure))})\b", text)
            if unsure and len(rest) < MANY
            else ()
        )
        marks = [(0, len(text), 1.0), *((m.start(), m.end(), None) for m in unknown)]
        marks += [(start, end, 0.0) for start, end in places]
        return Example(text, " ".join(rest), tuple(marks), name)

    def changed(self, kind: str, name: str, text: str) -> tuple[str, Places]:
        """Returns one of this picture's texts changed, and where; nowhere if it has no place for
        this kind.
        """
        if kind == "unclaimed":
            return self._unclaimed(name, text)
        make = {"swapped": self._swapped, "added": self._added, "right": lambda *_: {}}.get(
            kind, self._replaced
        )
        return rewrite(text, make(name, self.words[text]))

    def _unsaid(self, name: str, caption: str) -> Example:
        texts = [
            caption,
            *self.random.sample(self.captions[self.other(name)], self.random.randrange(2)),
        ]
        self.random.shuffle(texts)
        text, target, words, said, keep = (
            "",
            "",
            list[Word](),
            set[str](),
            self.random.random() < 0.5,
        )
        for one in texts:
            words += [
                w._replace(start=w.start + len(text), end=w.end + len(text))
                for w in self.words[one]
            ]
            text += f"{one} "
        for word, after in pairwise([*words, Word(len(text), len(text))]):
            keep = self.random.random() < 0.5 if word.kind in OPENING else keep
            if keep and (word.kind not in ("ADJ", "NUM") or self.random.random() < 0.75):
                said.add(word.lemma)
                target += text[word.start : after.start]
        target = f"{' '.join(target.split()).strip(' ,.') or 'A picture'}."
        things = [
            word for word in words if word.pool and word.kind == "NOUN" and word.lemma not in said
        ]
        # what a sentence names and does not claim is not said either
        if things and self.random.random() < 0.5:
            thing, texts = (
                self.random.choice(things),
                [word.text.lower() for word in words if word.pool],
            )
            sentence, _ = unclaimed(thing.text.lower(), thing.pool == "NNS", texts, self.random)
            target = " ".join(self.random.sample((target, sentence), 2))
        return Example(text.rstrip(), target, marked(words, said), name)

    def _replaced(self, name: str, words: Sequence[Word]) -> dict[Word, str]:
        changes = {}
        for _ in range(1 + self.random.randrange(3)):
            kinds = sorted({word.kind for word in words if word.pool})
            kind = self.random.choice(kinds) if kinds else ""
            if chosen := [word for word in words if word.pool and word.kind == kind]:
                word = self.random.choice(chosen)
                changes[word] = self._instead(name, word)
        return {word: new for word, new in changes.items() if new}

    def _swapped(self, name: str, words: Sequence[Word]) -> dict[Word, str]:
        pairs = [
            (one, other)
            for place, one in enumerate(words)
            for further, other in enumerate(words[place + 2 :], place + 2)
            if one.kind in (*NOUNS, "ADJ") and one.pool == other.pool and one.lemma != other.lemma
            if not JOINING.issuperset(word.text.lower() for word in words[place + 1 : further])
        ]
        one, other = self.random.choice(pairs) if pairs else (None, None)
        return {one: cased(other.text, one), other: cased(one.text, other)} if one and other else {}

    def _added(self, name: str, words: Sequence[Word]) -> dict[Word, str]:
        pool = self.random.choice(("JJ", "colour"))
        places = [
            Word(word.start, word.start, pool=pool)
            for word in words
            if word.kind in NOUNS and word.start
        ]
        at = self.random.choice(places) if places else None
        new = self._instead(name, at) if at else ""
        return {at: f"{new} "} if at and new else {}

    def _unclaimed(self, name: str, text: str) -> tuple[str, Places]:
        things = [word for word in self.changeable[name] if word.pool in ("NN", "NNS")]
        if not things:
            return text, []
        thing, words = (
            self.random.choice(things),
            [word.text.lower() for word in self.changeable[name]],
        )
        absent = self._instead(name, thing) if self.random.random() < 0.5 else ""
        sentence, denied = unclaimed(
            (absent or thing.text).lower(), thing.pool == "NNS", words, self.random
        )
        whole = text if text.endswith((".", "!", "?")) else f"{text}."
        before, after = self.random.choice((("", f" {whole}"), (f"{whole} ", "")))
        places = [] if absent and denied else [(len(before), len(before) + len(sentence))]
        return before + sentence + after, places

    def _instead(self, name: str, word: Word) -> str:
        """Returns a word that may stand for this one and that no caption of the picture has; "" if
        none is found.
        """
        for _ in range(20):
            words = [new for new in self.changeable[self.other(name)] if new.pool == word.pool]
            new = self.random.choice(words) if words else word
            if new.lemma not in self.known[name] and new.lemma != word.lemma:
                return cased(new.text, word)
        return ""

    def other(self, name: str) -> str:
        """Returns another picture, mostly one that shares a word."""
        lemmas = sorted(self.known[name]) if self.random.random() < NEAR else ()
        return self.random.choice(self.having[self.random.choice(lemmas)] if lemmas else self.names)


def marked(words: Sequence[Word], lemmas: Set[str]) -> tuple[tuple[int, int, float | None], ...]:
    """Returns marks on the words that tell: right are those with a known base form."""
    return tuple((word.start, word.end, float(word.lemma in lemmas)) for word in words if word.pool)


def read(token: Token) -> Word:
    lemma, kind = token.lemma_.lower(), token.pos_
    pool = ""
    if lemma in COLOURS:
        pool = "colour"
    elif kind in CHANGED and lemma != "be":
        pool = token.tag_
    return Word(token.idx, token.idx + len(token), token.text, lemma, kind, pool)


def cased(text: str, like: Word) -> str:
    return text.capitalize() if like.start == 0 and like.text.istitle() else text.lower()


def unclaimed(noun: str, many: bool, words: list[str], random: Random) -> tuple[str, bool]:
    """Returns a sentence that names the thing, or words in no order, and whether it denies it,
    which may be right.
    """
    rules = GRAMMAR | GRAMMAR["many" if many else "one"] | {"noun": [noun], "word": words}

    def grown(text: str) -> str:
        return re.sub("<([a-z]+)>", lambda symbol: grown(random.choice(rules[symbol[1]])), text)

    form = random.choice(GRAMMAR["sentence"])
    sentence = re.sub(r"\ba (?=[aeiou])", "an ", grown(form))
    return sentence[0].upper() + sentence[1:], form == "<denied>"


def rewrite(text: str, changes: Mapping[Word, str]) -> tuple[str, Places]:
    """Returns the text with these words replaced, and the new words' places.

    An "a" or "an" before one is set right.
    """
    made, places, done = "", [], 0
    for word, new in sorted(changes.items()):
        made += text[done : word.start]
        if new != word.text and (article := ARTICLE.search(made)):
            before_vowel = "n" if new[0].lower() in "aeiou" else ""
            made = f"{made[: article.start()]}{article[1]}{before_vowel}{article[2]}"
        places.append((len(made), len(made) + len(new.rstrip())))
        made, done = made + new, word.end
    return made + text[done:], places
