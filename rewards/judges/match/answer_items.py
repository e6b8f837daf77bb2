"""Reads an answer as items: the pieces between commas, "and", "or" and the like, each asserted or denied.

    items_of("It is red, not blue.")      # "it is red", and "not blue", which is denied

An item is denied if it has an odd number of denying words ("not", "without", "doubt", "wrong", "unless"), so "without
doubt" affirms. A denial reaches over "and", "or" and "nor". An item of denying words alone ("no way", "or not", "that
is wrong") takes back the items before it. Words that stand between most of the others ("A with B with C") divide too.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from spanreward.rewards.language.answer_text import NEGATED, answer_words
from spanreward.rewards.language.words import ARTICLES, HEDGES, word_set
from spanreward.rewards.text.filler import FUNCTION_WORDS

NO = NEGATED | word_set("no nope nah not false never cannot")
DENYING = NO | word_set(
    "nor neither without doubt doubts doubted deny denies unlikely doubtful untrue wrong incorrect mistake mistaken "
    "impossible lie myth ruled unsure hardly scarcely supposedly allegedly if unless whether suppose assume unlike "
    "except fails failed far rather instead"
)
PAIRS = re.compile(r"\b(any(?:thing)?|every(?:thing)?|all|other) (but|than)\b")
JOINTS = word_set("and or nor but plus & , ; / | + : . ( ) [ ] - \u2013 \u2014 \n")
TAKING_BACK = word_set("way really is that this it not no can be clearly so was right true correct very")
FREE = FUNCTION_WORDS | HEDGES | ARTICLES | word_set("definitely certainly looks like appears be")
EMPTY = FREE | DENYING
_TOKEN = re.compile(r"\w+(?:['\u2019.]\w+)*|[,;/|+&:.()\[\]\n]|[-\u2013\u2014](?=\s)")
_INITIAL = re.compile(r"\b([^\W\d_]{1,2})\.(?=\s+\w)")  # "Dr. Who", "J. Brown"
_NUMBERED = re.compile(r"(?:^|(?<=[\s]))\d{1,2}[.)](?=\s)")
_DATE = re.compile(r"(\d),\s+(?=\d{4}\b)")
RELATIVE = word_set("who which whose where that including starring such especially along")
SHORT = 4  # content words of an alternative
JOINING = 3  # how often a word stands between two others until it divides


@dataclass(slots=True)
class Item:
    """The words between two joints. joint: what stands before it. denied: whether the answer denies or doubts it."""

    words: list[str]
    joint: str = ""
    denied: bool = False

    def content(self, question: Collection[str]) -> list[str]:
        """Returns its words that are neither function words, hedges, denials nor words of the question."""
        return [word for word in self.words if word not in EMPTY and word not in question]

    def is_short(self, question: Collection[str]) -> bool:
        """Whether it is no more than a few words in a row, after words such as "it is"."""
        inside = [word not in FREE for word in self.words]
        first = inside.index(True) if True in inside else 0
        return any(inside) and all(inside[first:]) and 0 < len(self.content(question)) <= SHORT


def items_of(answer: str, references: Sequence[Sequence[str]] = (), question: Collection[str] = ()) -> list[Item]:
    """Returns the items of an answer that have words, in order.

    No joint divides the words of a reference, and the question's own words deny nothing.
    """
    denying = DENYING.difference(question)
    text = PAIRS.sub("not", _INITIAL.sub(r"\1", _NUMBERED.sub("\n", _DATE.sub(r"\1 ", answer.lower()))))
    tokens = [token for found in _TOKEN.findall(text) for token in (answer_words(found) or [found])]
    tokens = [token for token in tokens if token not in ARTICLES]
    joints = JOINTS | repeated(tokens)
    inside = within(tokens, joints, references)
    items = [Item([])]
    for number, token in enumerate(tokens):
        divides = token in joints and number not in inside
        if divides or (token in ("rather", "instead", "unlike", "except") and items[-1].words):
            items.append(Item([], token))
        if not divides and token[0].isalnum():
            items[-1].words.append(token)
    items = [item for item in items if item.words]
    for number, item in enumerate(items):
        denials = sum(word in denying for word in item.words) + (item.joint in denying)
        item.denied = denials % 2 == 1
        if number and item.denied and set(item.words) <= TAKING_BACK | DENYING:
            for earlier in items[:number]:
                earlier.denied = True
        if number and not denials and item.joint in ("and", "or", "nor") and not {"is", "are"} & set(item.words):
            item.denied = items[number - 1].denied
    return items


def within(tokens: Sequence[str], joints: Collection[str], references: Sequence[Sequence[str]]) -> set[int]:
    """Returns the places of the tokens inside a reference: "Nashville, Tennessee" is one item."""
    said = [number for number, token in enumerate(tokens) if token not in joints]
    words = [tokens[number] for number in said]
    found: set[int] = set()
    for reference in references:
        for start, end in places(words, [word for word in reference if word not in joints]):
            first, last = said[start], said[end - 1]
            if [token for token in tokens[first : last + 1] if token[0].isalnum()] == reference:
                found.update(range(first, last + 1))
    return found


def repeated(tokens: Sequence[str]) -> set[str]:
    """Returns the function words that alone stand between two other words JOINING times: "A with B with C with D"."""
    between = zip(tokens, tokens[1:], tokens[2:], strict=False)
    counts = Counter(
        word for before, word, after in between if word in FREE and before not in FREE and after not in FREE
    )
    return {word for word, count in counts.items() if count >= JOINING}


def alternatives(
    items: Sequence[Item], at: int, references: Sequence[Sequence[str]], question: Collection[str]
) -> list[int]:
    """Returns the places of the short items in a row with the item at this place, which has a reference's words.

    They count if these words stand next to them. One item behind a comma in prose is an apposition.
    """
    item = items[at]
    content = [place for place, word in enumerate(item.words) if word not in FREE and word not in question]
    spots = [spot for reference in references for spot in places(item.words, reference)]
    first, last = min(start for start, _ in spots), max(end for _, end in spots)
    prose = not item.is_short(question)
    found: list[int] = []
    for step, adjacent in ((-1, not content or content[0] >= first), (1, not content or content[-1] < last)):
        row: list[int] = []
        place = at + step
        while adjacent and 0 <= place < len(items) and (items[place].denied or items[place].is_short(question)):
            if prose and items[place].words[0] in RELATIVE:
                break
            row += [] if items[place].denied or (prose and items[place].joint == "(") else [place]
            place += step
        found += row if step == 1 or place < 0 else []  # before the answer only where the list opens the text
    return [] if prose and len(found) == 1 and items[max(found[0], at)].joint != "or" else found


def places(words: Sequence[str], reference: Sequence[str]) -> list[tuple[int, int]]:
    """Returns (start, end) of every place where the reference's words stand in a row."""
    size = len(reference)
    return [(at, at + size) for at in range(len(words) - size + 1) if size and words[at : at + size] == reference]
