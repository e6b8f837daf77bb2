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

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from spanreward.rewards.judges.match.answer_items import FREE, NO, Item, alternatives, items_of, places
from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.language.answer_text import answer_words, normalise
from spanreward.rewards.language.plain_text import plain_text
from spanreward.rewards.language.words import word_set

YES = word_set("yes yeah yep yup true")
EVASIVE = word_set("sure unsure know maybe perhaps unknown unanswerable")
VAGUE = word_set("many few several some lots numerous multiple couple")
EXCLUSIVE = (
    word_set("red green blue yellow purple violet black white orange pink brown gray grey gold silver"),
    word_set("left right center"),
    word_set("top bottom"),
)
PROSE = 12  # an answer of more words, or with two words of the question, is prose
BESIDE = 2  # words beside each of the reference's that are no alternatives in prose


def rate_answer(asked: AnswerProbe) -> tuple[float, str]:
    """Returns the rating, 1 to 3, and the reason, a clause about the answer."""
    candidate, _ = plain_text(asked.candidate)
    words = answer_words(candidate)
    references = [answer_words(reference) for reference in asked.references]
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
    if counts[normalise(candidate)]:
        return _frequent(counts[normalise(candidate)], most)
    given = {tuple(said): counts[normalise(one)] for said, one in zip(references, asked.references, strict=True)}
    for said in references[:]:  # "Wilhelm Röntgen" for "Wilhelm Conrad Röntgen"
        shorter = [[*said[:at], *said[at + 1 :]] for at in range(1, len(said) - 1)]
        references += shorter
        given = {**{tuple(short): given[tuple(said)] for short in shorter}, **given}
    question = set(answer_words(asked.question)) - known - FREE
    counting = "how many" in asked.question.lower()
    holding = [at for at, item in enumerate(items) if any(places(item.words, reference) for reference in references)]
    asserted = [at for at in holding if not items[at].denied]
    listed = {other for at in asserted for other in alternatives(items, at, references, question)}
    wrong = [
        word
        for item in ([items[at] for at in sorted({*listed, *asserted})] if holding else items)
        for word in item.words
        if not item.denied
        and word not in known | question
        and (_excluded(word, known) or (counting and word.isdigit()))
    ]
    if wrong:
        return 1.0, f"no reference answer says {wrong[0]!r}"
    if counting and VAGUE & set(words):
        return 2.0, "it gives no number"
    if holding and not asserted:
        return 1.0, "it denies, doubts or takes back what the reference answers say"
    if holding:
        unknown = 0 if counting else sum(not known.issuperset(items[at].content(question)) for at in listed)
        prose = len(words) > PROSE or len(question.intersection(words)) > 1
        beside = 0 if counting else min(_beside(items[at], references, known, question, prose) for at in asserted)
        right = len({*listed, *asserted}) - unknown
        share = right / (right + unknown + beside)
        if share < 2 / 3:
            return (2.0 if share >= 0.5 else 1.0), f"{share:.0%} of its alternatives are reference answers"
        held = [one for one in references if any(places(items[at].words, one) for at in asserted)]
        return _frequent(max(given[tuple(one)] for one in held), most)
    usual = [answer_words(answer) for answer in asked.references if 2 * counts[normalise(answer)] >= most]
    part = max(len(words) / len(reference) if set(words) <= set(reference) else 0.0 for reference in usual)
    if part >= 2 / 3:
        return 3.0, "it is most of a reference answer"
    if part:
        return 2.0, "it is less than a reference answer"
    if max(_overlap(words, reference) for reference in usual) >= 0.5:
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
    signs = [
        (item, answer) for item in items for answer, of_one in (("yes", YES), ("no", NO)) if of_one & {*item.words}
    ]
    open_ = [one for pair in pairwise(items) if pair[1].joint == "or" for one in pair if {*one.words} <= YES | NO]
    if not signs or open_ or any(not EVASIVE.isdisjoint(item.words) for item in items):
        return 1.0, "it does not commit itself"
    first, said = signs[0]
    if len({answer for item, answer in signs if item.words[:1] != [] and item.words[0] in YES | NO}) > 1:
        return 1.0, "it must say yes or no, not both"
    if first.denied and said == "yes":
        return 1.0, "it denies or doubts what it says"
    share = counts[said] / (counts["yes"] + counts["no"])
    return (3.0 if share >= 2 / 3 else 1.0 if share <= 1 / 3 else 2.0), f"{share:.0%} of the people say {said!r}"


def _excluded(word: str, known: set[str]) -> bool:
    """Whether the references have another word of a class in which only one word can be right."""
    return any(word in several and known & several for several in EXCLUSIVE)


def _overlap(words: Sequence[str], reference: Sequence[str]) -> float:
    shared = (Counter(words) & Counter(reference)).total()
    return 2 * shared / (len(words) + len(reference))
