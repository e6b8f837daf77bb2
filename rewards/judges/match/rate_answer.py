"""Rates an answer by its words against people's answers: how MatchJudge answers LAVE. Not a published metric.

    rate_answer(AnswerProbe("What color is it?", "It is red, not blue.", ("red", "red", "crimson")))      # (3.0, ...)

It knows no synonyms. It compares words without accents and articles, and number words as digits. An answer is read as
items (answer_items.py): pieces between commas, "and", "or" and the like, each asserted or denied. The first rule that
applies gives the rating:

    asked       The answer ends with a question mark: 1.
    yes/no      Yes or no is the most frequent reference. The first item that says yes or no decides; 1 if a later item
                says the other, if none does, for "not sure", "yes or no" and "if yes". The rating goes by the share of
                yes and no references that agree: 3 from two thirds, 1 up to one third.
    equality    It is a reference: 3, or 2 where another is given more than twice as often.
    conflict    Its items have a color, a side or (asked how many) a number that no reference gives: 1.
    vague       Asked how many, it says "many", "a few" and the like: 2.
    denied      The items that have all words of a reference in order are all denied or taken back: 1.
    contained   Such an item is asserted: 3, or 2 where another reference is given more than twice as often. The other
                short items of the answer are its alternatives. An answer is worth the share of its alternatives that
                the references know: 3 from two thirds, 2 from a half, else 1. Words beside the reference's in its own
                item count as alternatives too, unless they are the question's.
    part        All its words are in one reference that is given at least half as often as the most frequent one: 3 from
                two thirds of that reference's words, else 2 ("left" for "top left" is incomplete).
    overlap     The F1 of its words with such a reference is at least 0.5: 2.
    else        1.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from spanreward.rewards.judges.match.answer_items import FREE, NO, Item, alternatives, items_of, places
from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.language.answer_text import answer_words, normalise
from spanreward.rewards.language.words import word_set
from spanreward.rewards.text.bag_of_words import best_f1
from spanreward.rewards.text.plain_text import plain_text

YES = word_set("yes yeah yep yup true")
EVASIVE = word_set("sure unsure know maybe perhaps unknown unanswerable")
VAGUE = word_set("many few several some lots numerous multiple couple")
EXCLUSIVE = (  # of each only one word can be right
    word_set("red green blue yellow purple violet black white orange pink brown gray grey gold silver"),
    word_set("left right center"),
    word_set("top bottom"),
)
PROSE = 12  # an answer of more words, or with two words of the question, is prose
BESIDE = 2  # words beside each of the reference's that are no alternatives in prose


@dataclass(slots=True)
class _Answer:
    """An answer's items beside the references. known: the references' words. question: words of the question alone.

    holding: the numbers of the items that have all words of a reference in order. asserted: of those that are not
    denied. listed: of the alternatives next to these.
    """

    words: list[str]
    items: list[Item]
    references: list[list[str]]
    known: set[str]
    question: set[str]
    counting: bool  # whether the question is how many
    holding: list[int] = field(init=False)
    asserted: list[int] = field(init=False)
    listed: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self.holding = [number for number, item in enumerate(self.items) if self.held_in(item)]
        self.asserted = [number for number in self.holding if not self.items[number].denied]
        asserted = self.asserted
        self.listed = {n for at in asserted for n in alternatives(self.items, at, self.references, self.question)}

    def held_in(self, item: Item) -> list[list[str]]:
        """Returns the references whose words stand in a row in the item."""
        return [reference for reference in self.references if places(item.words, reference)]

    def conflict(self) -> str:
        """Returns the first asserted color, side or number that no reference gives, "" without one."""
        numbers = sorted({*self.listed, *self.asserted}) if self.holding else range(len(self.items))
        for item in (self.items[number] for number in numbers):
            for word in item.words:
                one_is_right = any(word in several and self.known & several for several in EXCLUSIVE)
                exclusive = one_is_right or (self.counting and word.isdigit())
                if exclusive and not item.denied and word not in self.known | self.question:
                    return word
        return ""

    def share_known(self) -> float:
        """Returns which share of the answer's alternatives the references know. Numbers have no other alternatives."""
        right = len({*self.listed, *self.asserted})
        if self.counting:
            return 1.0
        unknown = sum(not self.known.issuperset(self.items[at].content(self.question)) for at in self.listed)
        prose = len(self.words) > PROSE or len(self.question.intersection(self.words)) > 1
        items = [self.items[number] for number in self.asserted]
        beside = min(_beside(item, self.references, self.known, self.question, prose) for item in items)
        return (right - unknown) / (right + beside)


def rate_answer(asked: AnswerProbe) -> tuple[float, str]:
    """Returns the rating, 1 to 3, and the reason, a clause about the answer."""
    candidate, _ = plain_text(asked.candidate)
    words = _words_of(candidate)
    references = [_words_of(reference) for reference in asked.references]
    counts = Counter(map(normalise, asked.references))
    most = max(counts.values(), default=0)
    if not words or not references:
        return 1.0, "there is nothing to compare"
    if candidate.rstrip().endswith("?"):
        return 1.0, "it asks"
    known = {word for reference in references for word in reference}
    items = items_of(candidate, references, {*answer_words(asked.question), *known - YES - NO})
    if any(counts[answer] == most for answer in ("yes", "no")):
        return _binary(items, counts)
    if counts[normalise(candidate)] and (normalise(candidate) or words in references):
        return _frequent(counts[normalise(candidate)], most)
    given = {tuple(said): counts[normalise(one)] for said, one in zip(references, asked.references, strict=True)}
    _add_shorter_names(references, given)
    question = set(answer_words(asked.question)) - known - FREE
    answer = _Answer(words, items, references, known, question, "how many" in asked.question.lower())
    if wrong := answer.conflict():
        return 1.0, f"no reference answer says {wrong!r}"
    if answer.counting and VAGUE & set(words):
        return 2.0, "it gives no number"
    if answer.holding and not answer.asserted:
        return 1.0, "it denies, doubts or takes back what the reference answers say"
    if answer.asserted:
        share = answer.share_known()
        if share < 2 / 3:
            return (2.0 if share >= 0.5 else 1.0), f"{share:.0%} of its alternatives are reference answers"
        held = [reference for number in answer.asserted for reference in answer.held_in(items[number])]
        return _frequent(max(given[tuple(reference)] for reference in held), most)
    return _by_words(words, [answer_words(one) for one in asked.references if 2 * counts[normalise(one)] >= most])


def _words_of(answer: str) -> list[str]:
    return answer_words(answer) or re.findall(r"\w+", answer.lower())  # the letter "A" is an answer too


def _add_shorter_names(references: list[list[str]], given: dict[tuple[str, ...], int]) -> None:
    """Adds each reference without one of its inner words: "Wilhelm Röntgen" for "Wilhelm Conrad Röntgen"."""
    for reference in references[:]:
        for inner in range(1, len(reference) - 1):
            shorter = [*reference[:inner], *reference[inner + 1 :]]
            references.append(shorter)
            given.setdefault(tuple(shorter), given[tuple(reference)])


def _by_words(words: Sequence[str], usual: Sequence[Sequence[str]]) -> tuple[float, str]:
    """Applies the rules from "part" on. usual: references given at least half as often as the most frequent one."""
    part = max(len(words) / len(reference) if set(words) <= set(reference) else 0.0 for reference in usual)
    if part >= 2 / 3:
        return 3.0, "it is most of a reference answer"
    if part:
        return 2.0, "it is less than a reference answer"
    if best_f1(words, usual) >= 0.5:
        return 2.0, "it shares half of its words with a reference answer"
    return 1.0, "it is not like any reference answer"


def _frequent(given: int, most: int) -> tuple[float, str]:
    return (3.0, "it is a reference answer") if 2 * given >= most else (2.0, "few reference answers say so")


def _beside(item: Item, references: Sequence[Sequence[str]], known: set[str], question: set[str], prose: bool) -> float:
    """Returns how many alternatives the words beside a reference make up: in its item, or in prose next to it."""
    start, end = next(place for reference in references for place in places(item.words, reference))
    run = item.content(question)
    if prose:
        while start and item.words[start - 1] not in FREE | question:
            start -= 1
        while end < len(item.words) and item.words[end] not in FREE | question:
            end += 1
        run = item.words[start:end]
    said = max(sum(word in known for word in run), 1)
    allowed = 0 if item.is_short(question) and not prose else BESIDE * said
    return max(len(run) - said - allowed, 0) / said


def _binary(items: Sequence[Item], counts: Counter[str]) -> tuple[float, str]:
    """Applies the rule "yes/no"."""
    signs = []
    for item in items:
        signs += [(item, answer) for answer, words in (("yes", YES), ("no", NO)) if not words.isdisjoint(item.words)]
    leaves_open = any(
        second.joint == "or" and ({*first.words} <= YES | NO or {*second.words} <= YES | NO)
        for first, second in pairwise(items)
    )
    evades = any(not EVASIVE.isdisjoint(item.words) for item in items)
    if not signs or leaves_open or evades:
        return 1.0, "it does not commit itself"
    first, said = signs[0]
    begun_with = {answer for item, answer in signs if item.words[0] in YES | NO}
    if len(begun_with) > 1:
        return 1.0, "it must say yes or no, not both"
    if first.denied and said == "yes":
        return 1.0, "it denies or doubts what it says"
    share = counts[said] / (counts["yes"] + counts["no"])
    return (3.0 if share >= 2 / 3 else 1.0 if share <= 1 / 3 else 2.0), f"{share:.0%} of the people say {said!r}"
