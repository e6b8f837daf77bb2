"""Rates an answer by its words against people's answers: how MatchJudge answers LAVE. Not a
published metric.

    probe = AnswerProbe("What color is it?", "It is red, not blue.", ("red", "red", "crimson"))
    rate_answer(probe)      # (3.0, ...)

It knows no synonyms, compares numbers by value (language/answer_tokens.py), and rates by the first
rule that applies:

    asked       The answer ends with a question mark: 1.
    yes/no      Yes or no is the most frequent reference. The answer says yes or no
                (binary_answer.py), or 1. The rating goes by the share of yes and no references that
                agree: 3 from two thirds, 1 up to one third.
    letters     All references are letters, and the answer says several: 1. Most references are
                lists of letters ("A, C"): the answer lists the same ones, in any order, or 1.
    equality    It is a reference: 3, or 2 where another is given more than twice as often.
    none        All references are numbers, and the answer denies what is asked for: it says 0.
    share       What an answer says beside the references is another answer, so that a list pays no
                more than a guess. An answer is worth the smaller of two shares: of its words that
                the references know, and of a reference's words that it has. From two thirds 3, from
                one half 2, else 1; at most 2 where another is given more than twice as often. A
                reference whose number, unit or formula the answer contradicts is worth nothing.

Words count that are neither function words nor the question's; if all references are numbers, only
numbers and signs. A piece between commas, full stops and "but" that denies or doubts ("not",
"unless") counts nothing, and one that does nothing else ("no way") takes back what stands before
it. Prose says many words, or one of the question's. In it only pieces with a reference's words
count, with one explaining word free for each such word, and short pieces in a row with them.
"""

from collections import Counter
from collections.abc import Sequence, Set as AbstractSet
from itertools import pairwise

from spanreward.rewards.judges.match.answer_pieces import DENYING, NO, Piece, asserted, pieces_of
from spanreward.rewards.judges.match.binary_answer import binary_answer
from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.language.answer_text import normalise
from spanreward.rewards.language.answer_tokens import (
    has_letters,
    is_exact,
    is_spelled,
    plain_answer,
    read_tokens,
    tokens_of,
)
from spanreward.rewards.language.lemmas import lemma
from spanreward.rewards.language.letter_lists import (
    letters_in_order,
    letters_listed,
    order_counts,
)
from spanreward.rewards.language.words import ARTICLES, HEDGES, word_set
from spanreward.rewards.text.filler import FUNCTION_WORDS

FREE = (
    FUNCTION_WORDS
    | HEDGES
    | ARTICLES
    | DENYING
    | word_set("definitely certainly looks like appears be")
)
PROSE = 8  # an answer of more words that count, or with one of the question's, is prose
SHORT = 4  # words of a piece of prose that is another answer
ABBREVIATED = 3  # letters of a unit that may abbreviate a longer one


def rate_answer(asked: AnswerProbe) -> tuple[float, str]:
    """Returns the rating, 1 to 3, and the reason, a clause about the answer."""
    candidate, *people = (plain_answer(text) for text in (asked.candidate, *asked.references))
    words = tokens_of(candidate)
    references = list(map(tokens_of, people))
    if not words or not references:
        return 1.0, "there is nothing to compare"
    if candidate.rstrip().endswith("?") and words != ["?"]:
        return 1.0, "it asks"
    question = set(tokens_of(asked.question))
    counts = Counter(map(normalise, people))
    known_words = {word for reference in references for word in reference}
    pieces = pieces_of(candidate, question | (known_words - NO))
    if counts.most_common(1)[0][0] in ("yes", "no"):
        return _binary(*binary_answer(asked.question, pieces), counts)
    read_list = letters_in_order if order_counts(people) else letters_listed
    lists = Counter(read_list(one, joined=is_spelled(one.split())) for one in people)
    del lists[()]
    if 2 * lists.total() > len(people):
        same = lists[read_list(candidate, joined=True)]
        if same:
            return _frequent(3.0, same, max(lists.values()))
        if words not in references:
            return 1.0, "it names other letters"
    several = len(letters_of(candidate)) > 1 and words not in references
    if several and all(map(is_letter, known_words)):
        return 1.0, "it names several letters"
    given = Counter(tuple(map(lemma, reference)) for reference in references)
    most = max(given.values())
    if same := given[tuple(map(lemma, words))]:
        return _frequent(3.0, same, most)
    known = {word for reference in given for word in reference}
    about = {lemma(word) for word in question - FREE} - known
    numbers = not any(map(has_letters, known))
    if numbers and given[("0",)] and denies_all(pieces, asked.question):
        return _frequent(3.0, given[("0",)], most)

    def counting(word: str) -> str:
        """Returns the base form of a word that counts, else ""."""
        base = lemma(word)
        counts_here = base in known or (
            is_exact(word) if numbers else word not in FREE and base not in about
        )
        return base if counts_here else ""

    items = [
        list(map(counting, item)) for piece in asserted(pieces) for item in piece.items if item
    ]
    said = [word for item in items for word in item if word]
    prose = len(said) > PROSE or not about.isdisjoint(map(lemma, words))
    compared = answering(items, known) if prose else said
    if not compared:
        return 1.0, "it says nothing that a reference answer says"
    share = sum(word in known for word in compared) / len(compared)
    had = {
        one: 0.0
        if contradicts(said, one)
        else (Counter(said) & Counter(one)).total() / max(len(one), 1)
        for one in given
    }
    usual = {one: part for one, part in had.items() if part == 1 or 2 * given[one] >= most}
    best = max(usual, key=lambda one: (usual[one], given[one]))
    worth = min(share, usual[best])
    if worth >= 1 / 2:
        return _frequent(3.0 if worth >= 2 / 3 else 2.0, given[best], most, worth)
    if share < 1 / 2:
        unsaid = set(compared).difference(known)
        beside = next(word for word in words if lemma(word) in unsaid)
        return 1.0, f"no reference answer says {beside!r}"
    return 1.0, f"it has {usual[best]:.0%} of a reference answer"


def is_letter(word: str) -> bool:
    return len(word) == 1 and word.isalpha()


def letters_of(answer: str) -> set[str]:
    """Returns the letters that an answer says as words, "a" also where it may be an article."""
    return {token.text for token in read_tokens(answer) if is_letter(token.text)}


def contradicts(said: Sequence[str], reference: Sequence[str]) -> bool:
    """Whether an answer gives other numbers, signs or formulas than a reference, or in another
    order, or for another thing or unit ("5 m" for "5 km").
    """
    wanted = [word for word in reference if is_exact(word)]
    if not wanted:
        return False
    has = set(said)
    if not has.issuperset(wanted):
        return any(is_exact(word) and word not in wanted for word in said)
    if len(wanted) == len(reference):
        order = [word for word in said if word in wanted]
        return Counter(order) == Counter(wanted) and order != list(reference)
    whole = has.issuperset(reference)
    compared = [word for word in said if word in reference] if whole else said
    units = _units(compared)
    for word, unit in _units(reference).items():
        if word in units and not _same_unit(unit, units[word]):
            return True
    return False


def _units(words: Sequence[str]) -> dict[str, str]:
    """Returns the word behind each number or sign that is followed by one."""
    content = [word for word in words if word not in FREE]
    pairs = pairwise(content)
    return {word: behind for word, behind in pairs if is_exact(word) and has_letters(behind)}


def _same_unit(unit: str, other: str) -> bool:
    """Whether two units are one, or one of them abbreviates the other: "min" for "minutes"."""
    short, long = sorted((unit, other), key=len)
    return short == long or (len(short) >= ABBREVIATED and long.startswith(short))


def denies_all(pieces: Sequence[Piece], question: str) -> bool:
    """Whether the answer says of what the question asks for that there is none: its only statement
    denies it, and names nothing else.
    """
    asked = {lemma(word) for word in tokens_of(question)}
    named = set()
    for piece in pieces:
        if not piece.denied:
            return False
        named |= {lemma(word) for word in piece.words if word not in FREE}
    return bool(named) and named <= asked


def answering(items: Sequence[Sequence[str]], known: AbstractSet[str]) -> list[str]:
    """Returns the words of prose that stand where an answer does: those of items that hold a
    reference's words, but for one explaining word beside each, and those of short items in a row
    with them. items: the words of each, "" for those that do not count.
    """
    rows: list[list[str]] = [[]]
    for words in items:
        held = [word for word in words if word in known]
        others = [word for word in words if word and word not in known]
        if held or (others == words and len(words) <= SHORT):
            rows[-1] += [*held, *others[len(held) :]]
        elif others:
            rows.append([])
    return [word for row in rows if not known.isdisjoint(row) for word in row]


def _frequent(rating: float, given: int, most: int, share: float = 1.0) -> tuple[float, str]:
    if 2 * given < most:
        return 2.0, "few reference answers say so"
    return (
        rating,
        "it is a reference answer" if share == 1 else f"it is {share:.0%} a reference answer",
    )


def _binary(said: str, reason: str, counts: Counter[str]) -> tuple[float, str]:
    """Applies the rule "yes/no"."""
    if not said:
        return 1.0, reason
    share = counts[said] / (counts["yes"] + counts["no"])
    rating = 2.0
    if share >= 2 / 3:
        rating = 3.0
    elif share <= 1 / 3:
        rating = 1.0
    return rating, f"{share:.0%} of the people say {said!r}"
