"""The truth about a description of a scene: what is right, what is wrong (to the character), what
is left out.

    truth = judge_description("There is a red circle in the top left corner.", scene)
    truth.precision, truth.recall, truth.f1, truth.wrong      # wrong: character spans

It reads the text with a small grammar of its own and shares no code with any reward; no reward ever
sees it. An object has five facts (shape, colour, size, row, column). Every statement of one is a
claim, right or wrong; a relation between two objects is a claim too. precision = right claims /
claims, recall = stated facts / facts of the scene. What is right counts once, however often it is
said: repeating it does not raise precision. Words outside the grammar claim nothing; what is
denied, doubted, asked or left open by "or" is no claim either, neither right nor wrong (denial.py).
"""

import re
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment

from experiments.scenes.denial import claimed_sentences
from experiments.scenes.world import COLORS, NTH, SHAPES, SIZES, Scene, Thing, distance

WORD = re.compile(
    r"[A-Za-z\u00ad\u200b]+(?:[._|][A-Za-z]+|(?:-[A-Za-z]+){2,})*|[.!?,\n]"
)  # "red.circle.top" is one word
ATTRIBUTES = dict.fromkeys(SIZES, "size") | dict.fromkeys(COLORS, "color")
SIDES = {"top": "row", "bottom": "row", "left": "column", "right": "column"}
FINE = ("row", "column")  # "second row"
RELATIONS = {"above", "below", "left of", "right of"}


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement: `fact` has `value`; the characters [start, end) say so."""

    fact: str
    value: str
    start: int
    end: int


@dataclass(slots=True)
class DescribedObject:
    """An object as the text describes it. `echoes` are later words that repeat a claim about it."""

    claims: list[Claim] = field(default_factory=list)
    echoes: list[Claim] = field(default_factory=list)

    def values(self, fact: str) -> set[str]:
        return {claim.value for claim in self.claims if claim.fact == fact}


@dataclass(slots=True)
class Reading:
    """The parsed text: mentions, relations (mention, relation, mention), and attribute or place
    words of nothing.
    """

    mentions: list[DescribedObject] = field(default_factory=list)
    relations: list[tuple[DescribedObject, Claim, DescribedObject]] = field(default_factory=list)
    orphans: list[Claim] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Truth:
    """precision, recall, f1 in [0, 1]; `wrong` and `right`: sorted character spans of the claims'
    words.

    counted: the claims that precision is made of, each with whether it is right, in the order of
    the text. What is right and was said before does not count.
    """

    precision: float
    recall: float
    f1: float
    wrong: tuple[tuple[int, int], ...]
    right: tuple[tuple[int, int], ...]
    counted: tuple[tuple[Claim, bool], ...] = field(default=(), compare=False)


def judge_description(text: str, scene: Scene) -> Truth:
    """Compare a description with a scene's contents.

    A text without claims has precision, recall and F1 of 0.
    """
    reading = read(text)
    partner = match_mentions(reading.mentions, scene)
    right: set[tuple[int, int]] = set()
    wrong: set[tuple[int, int]] = {(claim.start, claim.end) for claim in reading.orphans}
    counted = [(claim, False) for claim in reading.orphans]
    facts: set[tuple[int, str]] = set()  # said and right
    relations: set[tuple[int | None, str, int | None]] = set()
    for number, mention in enumerate(reading.mentions):
        thing = scene.objects[partner[number]] if number in partner else None
        for claim in mention.claims:
            holds = thing is not None and is_fact(claim, thing)
            (right if holds else wrong).add((claim.start, claim.end))
            if not holds or (partner[number], claim.fact) not in facts:
                counted.append((claim, holds))
            if holds:
                facts.add((partner[number], claim.fact))
        for echo in mention.echoes:
            holds = thing is not None and is_fact(echo, thing)
            (right if holds else wrong).add((echo.start, echo.end))
    for first, claim, second in reading.relations:
        ends = [
            partner.get(next(n for n, m in enumerate(reading.mentions) if m is end))
            for end in (first, second)
        ]
        holds = None not in ends and relation_holds(
            claim.value, *(scene.objects[n] for n in ends if n is not None)
        )
        relation_said = (ends[0], claim.value, ends[1])
        (right if holds else wrong).add((claim.start, claim.end))
        if not holds or relation_said not in relations:
            counted.append((claim, holds))
        if holds:
            relations.add(relation_said)
    precision = sum(holds for _, holds in counted) / len(counted) if counted else 0.0
    recall = len(facts) / (5 * len(scene.objects))
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    ordered = tuple(sorted(counted, key=lambda pair: pair[0].start))
    return Truth(precision, recall, f1, tuple(sorted(wrong)), tuple(sorted(right - wrong)), ordered)


def is_fact(claim: Claim, thing: Thing) -> bool:
    facts = {
        "shape": thing.shape,
        "color": thing.color,
        "size": thing.size,
        "row": thing.row,
        "column": thing.column,
    }
    return facts[claim.fact] == claim.value


def relation_holds(relation: str, first: Thing, second: Thing) -> bool:
    rows, columns = distance(first, second)
    return {"above": rows < 0, "below": rows > 0, "left of": columns < 0, "right of": columns > 0}[
        relation
    ]


def match_mentions(mentions: list[DescribedObject], scene: Scene) -> dict[int, int]:
    """Which object each mention speaks of: the one-to-one assignment with the most right claims.

    A mention may speak of an object when its shape is right or at least three of its claims are.
    """
    value = np.zeros((len(mentions), len(scene.objects)))
    for i, mention in enumerate(mentions):
        for j, thing in enumerate(scene.objects):
            holds = [is_fact(claim, thing) for claim in mention.claims]
            shape = any(h and c.fact == "shape" for h, c in zip(holds, mention.claims, strict=True))
            value[i, j] = sum(holds) if shape or sum(holds) >= 3 else 0
    rows, columns = linear_sum_assignment(value, maximize=True)
    return {int(i): int(j) for i, j in zip(rows, columns, strict=True) if value[i, j] > 0}


def read(text: str) -> Reading:
    """Read the text sentence by sentence: noun phrases, where their objects are, and how they lie
    to each other.
    """
    reading = Reading()
    sentences: list[tuple[list[re.Match[str]], str]] = []
    sentence: list[re.Match[str]] = []
    for word in WORD.finditer(text):
        if word.group() in ".!?\n":
            sentences.append((sentence, word.group()))
            sentence = []
        else:
            sentence.append(word)
    for claims in claimed_sentences([*sentences, (sentence, "")]):
        read_sentence(claims, reading)
    return reading


def read_sentence(sentence: list[re.Match[str]], reading: Reading) -> None:
    words = [word.group().lower() for word in sentence]
    attributes: list[Claim] = []  # of a noun phrase whose shape is still to come
    waiting: list[Claim] = []  # a place whose object is still to come
    relations: list[tuple[DescribedObject, Claim]] = []  # whose second object is still to come
    current: DescribedObject | None = None
    placed = False  # this sentence has said where the current object is
    definite = False
    at = 0
    while at < len(words):
        word, start, end = words[at], sentence[at].start(), sentence[at].end()
        if word in ("a", "an", "the"):
            definite = word == "the"
        elif word in ATTRIBUTES:
            attributes.append(Claim(ATTRIBUTES[word], word, start, end))
        elif word in SHAPES:
            claims = [*attributes, Claim("shape", word, start, end)]
            current = mention_of(claims, definite, reading)
            attributes, definite = [], False
            reading.relations += [(first, claim, current) for first, claim in relations]
            current.claims += waiting
            relations, waiting, placed = [], [], bool(waiting)
        elif relation := relation_at(words, at):
            at += len(relation.split()) - 1
            if current is not None:
                relations.append((current, Claim("relation", relation, start, sentence[at].end())))
            definite = False
        elif word in SIDES or word in ("center", "middle") or fine_at(words, at):
            place, at = place_at(sentence, words, at)
            if current is None or placed:
                waiting += place
            else:
                current.claims += place
                placed = True
            definite = False  # "the" belonged to the place
        at += 1
    reading.orphans += [claim for _, claim in relations]
    reading.orphans += attributes
    if waiting and current is not None:
        current.claims += waiting
    else:
        reading.orphans += waiting


def relation_at(words: list[str], at: int) -> str:
    """The relation that starts at this word, or nothing."""
    for length in (1, 2):
        phrase = " ".join(words[at : at + length])
        if phrase in RELATIONS:
            return phrase
    return ""


def place_at(sentence: list[re.Match[str]], words: list[str], at: int) -> tuple[list[Claim], int]:
    """The place phrase that starts at this word, as claims on row and column, and the number of its
    last word.

    "top left corner" names both; "left edge" and "top edge" name one and mean the middle of the
    other. "second row and third column" names both, and "second row" alone one.
    """
    claims: list[Claim] = []
    while fine_at(words, at):
        place = f"{words[at]} {words[at + 1]}"
        claims.append(Claim(words[at + 1], place, sentence[at].start(), sentence[at + 1].end()))
        at += 2 + (fine_at(words, at + 3) and words[at + 2] in ("and", ","))
    if claims:
        return claims, at - 1
    if words[at] in ("center", "middle"):
        start, end = sentence[at].span()
        return [Claim("row", "middle", start, end), Claim("column", "center", start, end)], at
    while at < len(words) and words[at] in SIDES:
        claims.append(Claim(SIDES[words[at]], words[at], *sentence[at].span()))
        at += 1
    if at < len(words) and words[at] == "edge" and len({claim.fact for claim in claims}) == 1:
        other = (
            Claim("column", "center", 0, 0)
            if claims[0].fact == "row"
            else Claim("row", "middle", 0, 0)
        )
        claims.append(Claim(other.fact, other.value, *sentence[at].span()))
        return claims, at
    return claims, at if at < len(words) and words[at] in ("corner", "edge") else at - 1


def fine_at(words: list[str], at: int) -> bool:
    """Whether a row or a column of a fine grid is named at this word."""
    return at + 1 < len(words) and words[at] in NTH and words[at + 1] in FINE


def mention_of(claims: list[Claim], definite: bool, reading: Reading) -> DescribedObject:
    """A new mention, or for "the red star" the earlier one it takes up, to which it adds what is
    new.
    """

    def known(mention: DescribedObject) -> list[Claim]:
        return [claim for claim in claims if claim.value in mention.values(claim.fact)]

    def fits(mention: DescribedObject) -> bool:
        return all(claim in known(mention) or not mention.values(claim.fact) for claim in claims)

    earlier = [mention for mention in reading.mentions if fits(mention)] if definite else []
    if earlier:
        mention = max(earlier, key=lambda mention: len(known(mention)))  # the first of equals
        old = known(mention)
        mention.echoes += old
        mention.claims += [claim for claim in claims if claim not in old]
        return mention
    mention = DescribedObject(claims)
    reading.mentions.append(mention)
    return mention
