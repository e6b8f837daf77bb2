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
from collections.abc import Mapping, Sequence, Set as AbstractSet
from itertools import chain, pairwise

from spanreward.rewards.judges.match.answer_pieces import (
    DENYING,
    NO,
    Piece,
    asserted,
    pieces_of,
)
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
MAX_LIST_WORDS = 8  # an answer of more words that count, or with one of the question's, is prose
MAX_ITEM_WORDS = 4  # of a piece of prose that is another answer
MIN_ABBREVIATION_LETTERS = 3  # of a unit that may abbreviate a longer one


def rate_answer(probe: AnswerProbe) -> tuple[float, str]:
    """Returns the rating, 1 to 3, and the reason, a clause about the answer.

    The rules stand in the order of this file's beginning, and each is named there.
    """
    candidate = plain_answer(probe.candidate)
    people = list(map(plain_answer, probe.references))
    words = tokens_of(candidate)
    references = list(map(tokens_of, people))
    if not words or not references:
        return 1.0, "there is nothing to compare"
    # asked; "?" alone may be the answer, of what a sign shows
    if candidate.rstrip().endswith("?") and words != ["?"]:
        return 1.0, "it asks"
    # yes/no
    question = set(tokens_of(probe.question))
    reference_words = set(chain.from_iterable(references))
    pieces = pieces_of(candidate, question | (reference_words - NO))
    counts = Counter(map(normalise, people))
    most_frequent = counts.most_common(1)[0][0]
    if most_frequent in ("yes", "no"):
        answer, reason = binary_answer(probe.question, pieces)
        return _rate_binary(answer, reason, counts)
    # letters
    is_new = words not in references
    rated = _rate_letters(candidate, people, is_new)
    if rated is not None:
        return rated
    only_letters = all(map(is_letter, reference_words))
    if is_new and only_letters and len(letters_of(candidate)) > 1:
        return 1.0, "it names several letters"
    # equality, of the words' base forms
    frequencies = Counter(tuple(map(lemma, reference)) for reference in references)
    most = max(frequencies.values())
    frequency = frequencies[tuple(map(lemma, words))]
    if frequency:
        return _rate_by_frequency(3.0, frequency, most)
    # none
    reference_lemmas = set(chain.from_iterable(frequencies))
    only_numbers = not any(map(has_letters, reference_lemmas))
    zeros = frequencies[("0",)]
    if only_numbers and zeros and denies_all(pieces, probe.question):
        return _rate_by_frequency(3.0, zeros, most)
    # share
    question_lemmas = set(map(lemma, question - FREE)) - reference_lemmas
    items: list[list[str]] = []
    for piece in asserted(pieces):
        for item in filter(None, piece.items):
            items.append(_counting_lemmas(item, reference_lemmas, question_lemmas, only_numbers))
    return _rate_by_share(words, items, frequencies, question_lemmas)


def _rate_by_share(
    words: Sequence[str],
    items: Sequence[Sequence[str]],
    frequencies: Counter[tuple[str, ...]],
    question_lemmas: AbstractSet[str],
) -> tuple[float, str]:
    """Applies the rule "share".

    words: the answer's. items: what `_counting_lemmas` returns of each item that it asserts.
    frequencies: how often each reference is given, by its base forms. question_lemmas: those of the
    question's words that count and that no reference has.
    """
    reference_lemmas = set(chain.from_iterable(frequencies))
    content = [word for word in chain.from_iterable(items) if word]
    # Of prose only a part is the answer.
    has_question_word = not question_lemmas.isdisjoint(map(lemma, words))
    compared = content
    if has_question_word or len(content) > MAX_LIST_WORDS:
        compared = answering_words(items, reference_lemmas)
    if not compared:
        return 1.0, "it says nothing that a reference answer says"
    shared = [word for word in compared if word in reference_lemmas]
    precision = len(shared) / len(compared)
    best, recall = _best_reference(content, frequencies)
    share = min(precision, recall)
    if share >= 1 / 2:
        rating = 3.0 if share >= 2 / 3 else 2.0
        most = max(frequencies.values())
        return _rate_by_frequency(rating, frequencies[best], most, share)
    # The reason names the smaller share: a word that nobody says, or how much is missing.
    if precision < 1 / 2:
        unshared = set(compared).difference(reference_lemmas)
        example = next(word for word in words if lemma(word) in unshared)
        return 1.0, f"no reference answer says {example!r}"
    return 1.0, f"it has {recall:.0%} of a reference answer"


def _rate_letters(candidate: str, people: Sequence[str], is_new: bool) -> tuple[float, str] | None:
    """Applies the rule for lists of letters. None: it does not apply. is_new: no reference has
    the candidate's words.
    """
    # "B, A" equals "A, B", unless people put the letters in an order
    read_list = letters_in_order if order_counts(people) else letters_listed
    lists: Counter[tuple[str, ...]] = Counter()
    for answer in people:
        letters = read_list(answer, joined=is_spelled(answer.split()))
        if letters:
            lists[letters] += 1
    if 2 * lists.total() <= len(people):  # not more than half are lists
        return None
    frequency = lists[read_list(candidate, joined=True)]
    if frequency:
        return _rate_by_frequency(3.0, frequency, max(lists.values()))
    if is_new:
        return 1.0, "it names other letters"
    return None


def _counting_lemmas(
    words: Sequence[str],
    reference_lemmas: AbstractSet[str],
    question_lemmas: AbstractSet[str],
    only_numbers: bool,
) -> list[str]:
    """Returns the base form of each word that counts, and "" for each that does not.

    only_numbers: the references are numbers, beside which only numbers and signs count.
    """
    counting = []
    for word in words:
        base = lemma(word)
        if base in reference_lemmas:
            counts = True
        elif only_numbers:
            counts = is_exact(word)
        else:
            counts = word not in FREE and base not in question_lemmas
        counting.append(base if counts else "")
    return counting


def _best_reference(
    content: Sequence[str],
    frequencies: Mapping[tuple[str, ...], int],
) -> tuple[tuple[str, ...], float]:
    """Returns the reference of whose words the answer has the largest share, and this share.

    Of equal ones the most frequent is returned. A rare reference counts if the answer has all of
    it. content: base forms of the answer's words that count.
    """
    most = max(frequencies.values())
    recalls: dict[tuple[str, ...], float] = {}
    for reference, frequency in frequencies.items():
        recall = 0.0
        if not contradicts(content, reference):
            common = Counter(content) & Counter(reference)
            recall = common.total() / max(len(reference), 1)
        # otherwise one word of a rare reference could pay
        if recall == 1 or 2 * frequency >= most:
            recalls[reference] = recall
    largest = max(recalls.values())
    best_ones = [reference for reference in recalls if recalls[reference] == largest]
    best = max(best_ones, key=frequencies.__getitem__)
    return best, largest


def is_letter(word: str) -> bool:
    """Returns whether the word is one letter, of any script."""
    return len(word) == 1 and word.isalpha()


def letters_of(answer: str) -> set[str]:
    """Returns the letters that an answer says as words, "a" also where it may be an article."""
    texts = [token.text for token in read_tokens(answer)]
    return set(filter(is_letter, texts))


def contradicts(content: Sequence[str], reference: Sequence[str]) -> bool:
    """Returns whether an answer gives other numbers, signs or formulas than a reference, or in
    another order, or for another thing or unit ("5 m" for "5 km").
    """
    exact = [word for word in reference if is_exact(word)]
    if not exact:
        return False
    # The answer lacks a number. It contradicts if it has another one, and else it only says less.
    answer_words = set(content)
    if not answer_words.issuperset(exact):
        remaining = [word for word in content if word not in exact]
        return any(map(is_exact, remaining))
    # The reference is nothing but numbers, whose order may be the answer: "2 1" for "1 2".
    if len(exact) == len(reference):
        order = [word for word in content if word in exact]
        return Counter(order) == Counter(exact) and order != list(reference)
    # "5 km" and "5 m": the same number of another unit.
    compared = list(content)
    if answer_words.issuperset(reference):
        # The answer's further words do not part a number from its unit.
        compared = [word for word in content if word in reference]
    units = _units_by_number(compared)
    for word, unit in _units_by_number(reference).items():
        if word in units and not _is_same_unit(unit, units[word]):
            return True
    return False


def _units_by_number(words: Sequence[str]) -> dict[str, str]:
    """Returns the word behind each number or sign that is followed by one."""
    content = [word for word in words if word not in FREE]
    units = {}
    for word, behind in pairwise(content):
        if is_exact(word) and has_letters(behind):
            units[word] = behind
    return units


def _is_same_unit(unit: str, other: str) -> bool:
    """Returns whether two units are one, or one of them abbreviates the other: "min" for "minutes",
    but not "m" for "minutes".
    """
    short, long = sorted((unit, other), key=len)
    if short == long:
        return True
    return len(short) >= MIN_ABBREVIATION_LETTERS and long.startswith(short)


def denies_all(pieces: Sequence[Piece], question: str) -> bool:
    """Returns whether the answer says of what the question asks for that there is none: its only
    statement denies it, and names nothing else. "There are no dogs" does for "How many dogs?".
    """
    question_lemmas = set(map(lemma, tokens_of(question)))
    named = set()
    for piece in pieces:
        if not piece.denied:
            return False
        named |= {lemma(word) for word in piece.words if word not in FREE}
    return bool(named) and named <= question_lemmas


def answering_words(
    items: Sequence[Sequence[str]], reference_lemmas: AbstractSet[str]
) -> list[str]:
    """Returns the words of prose that stand where an answer does: those of items that hold a
    reference's words, but for one explaining word beside each, and those of short items in a row
    with them. items: the words of each, "" for those that do not count.
    """
    rows: list[list[str]] = [[]]  # items that stand in a row; any other item begins a new one
    for words in items:
        shared = [word for word in words if word in reference_lemmas]
        unshared = [word for word in words if word and word not in reference_lemmas]
        is_short_answer = unshared == words and len(words) <= MAX_ITEM_WORDS
        if shared or is_short_answer:
            # one explaining word is free for each shared one
            rows[-1] += shared + unshared[len(shared) :]
        elif unshared:
            rows.append([])
    # A row without a word of a reference is not where the answer stands.
    answering: list[str] = []
    for row in rows:
        if not reference_lemmas.isdisjoint(row):
            answering += row
    return answering


def _rate_by_frequency(
    rating: float, frequency: int, most: int, share: float = 1.0
) -> tuple[float, str]:
    """Returns the rating and its reason, but 2 where another reference is more than twice as
    frequent. share: of a reference that the answer is, 0 to 1.
    """
    if 2 * frequency < most:
        return 2.0, "few reference answers say so"
    if share == 1:
        return rating, "it is a reference answer"
    return rating, f"it is {share:.0%} a reference answer"


def _rate_binary(word: str, reason: str, counts: Counter[str]) -> tuple[float, str]:
    """Applies the rule "yes/no". word: "yes", "no", or "" with the reason why it is neither."""
    if not word:
        return 1.0, reason
    share = counts[word] / (counts["yes"] + counts["no"])
    rating = 2.0
    if share >= 2 / 3:
        rating = 3.0
    elif share <= 1 / 3:
        rating = 1.0
    return rating, f"{share:.0%} of the people say {word!r}"
