"""Rates an answer against people's answers (the references) by comparing words, without a model.
MatchJudge rates LAVE's answers with `rate_answer`. The rules are not a published metric.

    probe = AnswerProbe("What color is it?", "It is red, not blue.", ("red", "red", "crimson"))
    rate_answer(probe)      # (3.0, ...)

The rules know no synonyms, and compare numbers by value (language/answer_tokens.py). The first rule
that applies gives the rating:

    asked       The answer ends with a question mark: 1.
    yes/no      The most frequent reference is "yes" or "no". An answer that says neither
                (binary_answer.py) gets 1. Otherwise the rating depends on the share of "yes" and
                "no" references that agree: 3 from two thirds, 1 up to one third, 2 between.
    letters     All references are letters, and the answer has several letters and is no reference:
                1. If most references are lists of letters ("A, C"), an answer with the same letters
                gets the rating of "equality". The order matters only if the references show an
                order. An answer with other letters gets 1.
    equality    The answer is a reference: 3, or 2 if another reference is given more than twice as
                often.
    none        All references are numbers, and the answer denies the thing in question ("there are
                no dogs"). The answer counts as 0 and gets the rating of "equality".
    share       The rating depends on the smaller of two shares: the share of the answer's words
                that some reference has, and the share of a reference's words that the answer has.
                The rating is 3 from two thirds, 2 from one half, and 1 below. The rating is at most
                2 if another reference is given more than twice as often. A reference gives a share
                of 0 if the answer contradicts its number, unit or formula. Words that no reference
                has lower the first share, so a list of many answers gets no more than a guess.

For "share", function words and the question's words do not count. If all references are numbers,
only numbers and signs count. A piece is the text between commas, full stops and "but". A piece that
denies or doubts ("not", "unless") does not count. A piece that only denies ("no way") cancels all
earlier pieces.

An answer with many words, or with a word of the question, is prose. Only a part of prose is
compared: pieces with a word of a reference, and short pieces next to such pieces. In these pieces,
each word of a reference may have one explaining word, which does not count: "dark" in "dark red".
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set as AbstractSet
from itertools import chain, pairwise

from spanreward.rewards.judges.match.answer_pieces import (
    DENYING_WORDS,
    NO_WORDS,
    Piece,
    asserted_pieces,
    pieces_of,
)
from spanreward.rewards.judges.match.binary_answer import binary_answer
from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.language.answer_text import normalise_answer
from spanreward.rewards.language.answer_tokens import (
    has_letters,
    is_exact,
    is_spelled,
    plain_answer,
    read_tokens,
    tokens_of,
)
from spanreward.rewards.language.lemmas import lemma_of_word
from spanreward.rewards.language.letter_lists import (
    letters_in_order,
    letters_listed,
    people_order_letters,
)
from spanreward.rewards.language.words import ARTICLES, HEDGE_WORDS, word_set
from spanreward.rewards.text.filler import FUNCTION_WORDS

UNCOUNTED_WORDS = (
    FUNCTION_WORDS
    | HEDGE_WORDS
    | ARTICLES
    | DENYING_WORDS
    | word_set("definitely certainly looks like appears be")
)
MAX_LIST_WORDS = 8  # an answer with more words that count is prose
MAX_ITEM_WORDS = 4  # an item of prose with more words is an explanation and no further answer
MIN_ABBREVIATION_LETTERS = 3  # "min" may abbreviate "minutes", but "m" may not


def rate_answer(probe: AnswerProbe) -> tuple[float, str]:
    """Returns the rating from 1 to 3 and its reason, such as "no reference answer says 'blue'".

    The first rule that applies decides. Each comment begins with the name of a rule, as in this
    file's docstring.
    """
    candidate = plain_answer(probe.candidate)
    people = list(map(plain_answer, probe.references))
    words = tokens_of(candidate)
    references = list(map(tokens_of, people))
    if not words or not references:
        return 1.0, "there is nothing to compare"
    # asked: the answer is a question; but "?" alone may be right, for example about a sign
    if candidate.rstrip().endswith("?") and words != ["?"]:
        return 1.0, "it asks"
    # A word of the question or of a reference does not count as a denial: "far" ("far from red") in
    # an answer to "How far is it?". But "no" and "not" of a reference always deny.
    question_words = set(tokens_of(probe.question))
    reference_words = set(chain.from_iterable(references))
    pieces = pieces_of(candidate, question_words | (reference_words - NO_WORDS))
    # yes/no: the most frequent reference is "yes" or "no"
    counts = Counter(map(normalise_answer, people))
    most_frequent = counts.most_common(1)[0][0]
    if most_frequent in ("yes", "no"):
        answer, reason = binary_answer(probe.question, pieces)
        return _rate_binary(answer, reason, counts)
    # letters: the references are letters or lists of letters
    is_new = words not in references
    rated = _rate_letters(candidate, people, reference_words, is_new)
    if rated is not None:
        return rated
    return _rate_by_words(words, references, pieces, probe.question)


def _rate_letters(
    candidate: str,
    people: Sequence[str],
    reference_words: AbstractSet[str],
    is_new: bool,
) -> tuple[float, str] | None:
    """Applies the rule "letters". Returns the rating and its reason, or None if the rule does not
    apply.

    Args:
        candidate: the answer.
        people: the references as written.
        reference_words: the words of all references.
        is_new: whether no reference has the same words as the candidate.
    """
    rated = _rate_letter_list(candidate, people, is_new)
    if rated is not None:
        return rated
    # the references are single letters, and the answer names several letters to be sure of one
    only_letters = all(map(is_letter, reference_words))
    if is_new and only_letters and len(letters_of(candidate)) > 1:
        return 1.0, "it names several letters"
    return None


def _rate_by_words(
    words: Sequence[str],
    references: Sequence[Sequence[str]],
    pieces: Sequence[Piece],
    question: str,
) -> tuple[float, str]:
    """Applies the rules "equality", "none" and "share", in this order. Returns the rating and its
    reason.

    Args:
        words: the words of the answer.
        references: the words of each reference.
        pieces: the pieces of the answer.
        question: the question as written.
    """
    # equality: the answer has the same base forms of words as a reference
    frequencies = Counter(tuple(map(lemma_of_word, reference)) for reference in references)
    most = max(frequencies.values())
    frequency = frequencies[tuple(map(lemma_of_word, words))]
    if frequency:
        return _rate_by_frequency(3.0, frequency, most)
    reference_lemmas = set(chain.from_iterable(frequencies))
    only_numbers = not any(map(has_letters, reference_lemmas))
    # none: if all references are numbers, "There are no dogs" is rated like the answer "0"
    if only_numbers and denies_all(pieces, question):
        frequency_of_zero = frequencies[("0",)]
        if frequency_of_zero:
            return _rate_by_frequency(3.0, frequency_of_zero, most)
    # share: how many words the answer and a reference share
    question_words = set(tokens_of(question)) - UNCOUNTED_WORDS
    question_lemmas = set(map(lemma_of_word, question_words)) - reference_lemmas
    items: list[list[str]] = []
    for piece in asserted_pieces(pieces):
        for item in filter(None, piece.items):
            items.append(_counting_lemmas(item, reference_lemmas, question_lemmas, only_numbers))
    return _rate_by_share(words, items, frequencies, question_lemmas)


def _rate_by_share(
    words: Sequence[str],
    items: Sequence[Sequence[str]],
    frequencies: Counter[tuple[str, ...]],
    question_lemmas: AbstractSet[str],
) -> tuple[float, str]:
    """Returns the rating (1 to 3) of an answer by the words that it shares with a reference, and
    the reason.

    Precision is the share of the answer's compared words that some reference has. Prose has words
    that are not compared (`_compared_words`). Recall is the share of the best reference's words
    that the answer has. For recall, all words of the answer that count are used. The smaller of
    precision and recall decides:

    - at least 2/3: rating 3, or 2 if another reference is more than twice as frequent as the best
      reference
    - at least 1/2: rating 2
    - less: rating 1

    Args:
        words: the words of the answer.
        items: for each item that the answer asserts, the result of `_counting_lemmas`.
        frequencies: how often each reference is given. A key has the base forms of its words.
        question_lemmas: base forms of the question's words, without function words and without
            words of a reference.
    """
    reference_lemmas = set(chain.from_iterable(frequencies))
    compared = _compared_words(words, items, reference_lemmas, question_lemmas)
    if not compared:
        return 1.0, "it says nothing that a reference answer says"
    shared = [word for word in compared if word in reference_lemmas]
    precision = len(shared) / len(compared)
    best, recall = _best_reference(_words_that_count(items), frequencies)
    share = min(precision, recall)
    if share >= 1 / 2:
        rating_by_words = 3.0 if share >= 2 / 3 else 2.0
        # 3 becomes 2 if another reference is more than twice as frequent
        most = max(frequencies.values())
        return _rate_by_frequency(rating_by_words, frequencies[best], most, share)
    # the reason for the rating 1 is a share below one half
    if precision < 1 / 2:
        unshared = set(compared).difference(reference_lemmas)
        example = next(word for word in words if lemma_of_word(word) in unshared)
        return 1.0, f"no reference answer says {example!r}"
    return 1.0, f"it has {recall:.0%} of a reference answer"


def _words_that_count(items: Sequence[Sequence[str]]) -> list[str]:
    """Returns the words of all items without "": `["red", "kite"]` for `[["", "red"], ["kite"]]`.

    items: the result of `_counting_lemmas` for each item, with "" for words that do not count.
    """
    return [word for word in chain.from_iterable(items) if word]


def _compared_words(
    words: Sequence[str],
    items: Sequence[Sequence[str]],
    reference_lemmas: AbstractSet[str],
    question_lemmas: AbstractSet[str],
) -> list[str]:
    """Returns the words of an answer that are compared with the references: only some words of
    prose (`answering_words`), and all words that count of any other answer.

    An answer with many words, or with a word of the question, is prose.

    Args:
        words: the words of the answer.
        items: for each item that the answer asserts, the result of `_counting_lemmas`.
        reference_lemmas: base forms of the words of all references.
        question_lemmas: base forms of the question's words, without function words and without
            words of a reference.
    """
    content = _words_that_count(items)
    has_question_word = any(lemma_of_word(word) in question_lemmas for word in words)
    is_prose = has_question_word or len(content) > MAX_LIST_WORDS
    return answering_words(items, reference_lemmas) if is_prose else content


def _rate_letter_list(
    candidate: str, people: Sequence[str], is_new: bool
) -> tuple[float, str] | None:
    """Rates an answer if most references are lists of letters, such as "A, C". Returns the rating
    and its reason.

    Returns None, so that another rule rates the answer, if at most half of the references are
    lists, or if the answer equals a reference that is no list.

    candidate: the answer. people: the references as written. is_new: whether no reference has the
    same words as the candidate.
    """
    # "B, A" equals "A, B", unless the references show that the order matters
    read_list = letters_in_order if people_order_letters(people) else letters_listed
    lists: Counter[tuple[str, ...]] = Counter()
    for answer in people:
        # The reference "A C" is a list. The reference "AC" may be a name, such as "TV", and is no
        # list.
        is_spaced = is_spelled(answer.split())
        letters = read_list(answer, joined=is_spaced)
        if letters:
            lists[letters] += 1
    if 2 * lists.total() <= len(people):  # at most half of the references are lists
        return None
    # Most references are lists, so the question asks for letters. Both "A C" and "AC" are then
    # answers with a list.
    letters_of_candidate = read_list(candidate, joined=True)
    frequency = lists[letters_of_candidate]
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
    """Returns the base form of each word that counts, and "" for each word that does not count.

    With the reference "red", the words of "it is red kites" give `["", "", "red", "kite"]`. The
    reference's words always count. Function words and words of the question do not count otherwise.

    Args:
        words: the words of one item.
        reference_lemmas: base forms of the words of all references.
        question_lemmas: base forms of the question's words.
        only_numbers: whether all references are numbers. Then only numbers and signs count.
    """
    counting = []
    for word in words:
        base = lemma_of_word(word)
        if base in reference_lemmas:
            counts = True
        elif only_numbers:
            counts = is_exact(word)
        else:
            counts = word not in UNCOUNTED_WORDS and base not in question_lemmas
        counting.append(base if counts else "")
    return counting


def _best_reference(
    content: Sequence[str],
    frequencies: Mapping[tuple[str, ...], int],
) -> tuple[tuple[str, ...], float]:
    """Returns the reference with the largest share of its words in the answer, and this share. For
    the answer "red kite" and the references "red" and "red dog", these are "red" and 1.

    Among equal shares, the most frequent reference is returned. If another reference is more than
    twice as frequent, a reference counts only if the answer has all words of the reference.

    content: base forms of the answer's words that count. frequencies: how often each reference is
    given.
    """
    most = max(frequencies.values())
    recalls: dict[tuple[str, ...], float] = {}
    for reference, frequency in frequencies.items():
        recall = _recall_of_reference(content, reference)
        # Otherwise an answer with one word of a rare reference could get a high rating.
        if recall == 1 or 2 * frequency >= most:
            recalls[reference] = recall
    largest = max(recalls.values())
    best_ones = [reference for reference in recalls if recalls[reference] == largest]
    best = max(best_ones, key=frequencies.__getitem__)
    return best, largest


def _recall_of_reference(content: Sequence[str], reference: Sequence[str]) -> float:
    """Returns the share of a reference's words that the answer has: 1/2 for the answer "red" and
    the reference "red dog". The share is 0 if the answer contradicts the reference.

    Of a repeated word, each repeat counts: the answer "red" has 1/2 of the reference "red red".

    content: base forms of the answer's words that count. reference: base forms of the reference's
    words.
    """
    if contradicts_reference(content, reference):
        return 0.0
    count_in_answer = Counter(content)
    found = 0  # how many words of the reference the answer has
    for word, count_in_reference in Counter(reference).items():
        found += min(count_in_reference, count_in_answer[word])
    return found / max(len(reference), 1)


def is_letter(word: str) -> bool:
    """Returns whether the word is one letter, of any script."""
    return len(word) == 1 and word.isalpha()


def letters_of(answer: str) -> set[str]:
    """Returns the words of an answer that are one letter, including "a", which may be an
    article.
    """
    texts = [token.text for token in read_tokens(answer)]
    return set(filter(is_letter, texts))


def contradicts_reference(content: Sequence[str], reference: Sequence[str]) -> bool:
    """Returns whether an answer contradicts a reference: with another number, sign or formula, with
    the same numbers in another order, or with another thing or unit ("5 m" for "5 km").

    content: base forms of the answer's words that count. reference: base forms of the reference's
    words.
    """
    numbers = [word for word in reference if is_exact(word)]  # numbers, signs and formulas
    if not numbers:
        return False
    # An answer that lacks a number of the reference "5 km" contradicts if it has another number
    # ("6 km"). The answer "far" only says less.
    answer_words = set(content)
    if not answer_words.issuperset(numbers):
        other_words = [word for word in content if word not in numbers]
        return any(map(is_exact, other_words))
    # if the reference has only numbers, their order may matter: "2 1" contradicts "1 2"
    if len(numbers) == len(reference):
        answer_numbers = [word for word in content if word in numbers]
        has_same_numbers = Counter(answer_numbers) == Counter(numbers)
        return has_same_numbers and answer_numbers != list(reference)
    return _has_other_unit(content, reference)


def _has_other_unit(content: Sequence[str], reference: Sequence[str]) -> bool:
    """Returns whether the answer has a number of the reference with another unit: "5 m" for
    "5 km".

    content: base forms of the answer's words that count. reference: base forms of the reference's
    words.
    """
    # If the answer has all words of the reference, the further words of the answer are dropped: a
    # further word could separate a number from its unit.
    compared = list(content)
    if set(content).issuperset(reference):
        compared = [word for word in content if word in reference]
    units = _units_by_number(compared)
    for number, unit in _units_by_number(reference).items():
        if number in units and not _is_same_unit(unit, units[number]):
            return True
    return False


def _units_by_number(words: Sequence[str]) -> dict[str, str]:
    """Returns the word that follows each number or sign: {"5": "km"} for ["5", "km"]. A number
    without a following word is left out.
    """
    content = [word for word in words if word not in UNCOUNTED_WORDS]
    units = {}
    for word, next_word in pairwise(content):
        if is_exact(word) and has_letters(next_word):
            units[word] = next_word
    return units


def _is_same_unit(unit: str, other: str) -> bool:
    """Returns whether two units are equal, or one unit abbreviates the other: "min" for "minutes",
    but not "m" for "minutes".
    """
    short, long = sorted((unit, other), key=len)
    if short == long:
        return True
    return len(short) >= MIN_ABBREVIATION_LETTERS and long.startswith(short)


def denies_all(pieces: Sequence[Piece], question: str) -> bool:
    """Returns whether the answer says that the thing in question does not exist, as "There are no
    dogs" answers "How many dogs?".

    All pieces must be denied. Apart from function words, the pieces must have only words of the
    question.
    """
    question_lemmas = set(map(lemma_of_word, tokens_of(question)))
    named = set()
    for piece in pieces:
        if not piece.denied:
            return False
        named |= {lemma_of_word(word) for word in piece.words if word not in UNCOUNTED_WORDS}
    return bool(named) and named <= question_lemmas


def answering_words(
    items: Sequence[Sequence[str]], reference_lemmas: AbstractSet[str]
) -> list[str]:
    """Returns the words of prose that are compared with the references.

    With the reference "red", the items "dark red", "blue", "a bird that flies over trees" and
    "small" give `["red", "blue"]`:

    - "dark" only explains "red" (`_without_explaining_words`).
    - "blue" is a further, wrong answer: it has no word of a reference, few words (at most
      MAX_ITEM_WORDS), and only words that count.
    - "a bird that flies over trees" is an explanation. So is every other item without a word of a
      reference. Explanations divide the prose into passages: here "dark red, blue" and "small".
    - A passage is compared if it has a word of a reference. So "small" is not compared.

    items: the result of `_counting_lemmas` for each item, with "" for words that do not count.
    """
    passages: list[list[str]] = [[]]  # the words of each passage
    for words in items:
        counting = [word for word in words if word]
        has_reference_word = not reference_lemmas.isdisjoint(words)
        all_count = len(counting) == len(words)
        # if "dark red": "red"
        if has_reference_word:
            passages[-1] += _without_explaining_words(counting, reference_lemmas)
        # if "blue"
        elif all_count and len(words) <= MAX_ITEM_WORDS:
            passages[-1] += words
        # if an explanation: the next item begins a new passage
        elif counting:
            passages.append([])
    answering: list[str] = []
    for passage in passages:
        if not reference_lemmas.isdisjoint(passage):
            answering += passage
    return answering


def _without_explaining_words(
    words: Sequence[str], reference_lemmas: AbstractSet[str]
) -> list[str]:
    """Returns the words of an item without explaining words: `["red"]` for "dark red", with the
    reference "red".

    Each word of a reference may have one explaining word. So the first words of no reference are
    left out, as many as there are words of a reference. Further words stay: "dark blue red" gives
    `["red", "blue"]`.

    words: the base forms of the item's words that count.
    """
    shared = [word for word in words if word in reference_lemmas]
    unshared = [word for word in words if word not in reference_lemmas]
    number_of_explaining_words = len(shared)
    return shared + unshared[number_of_explaining_words:]


def _rate_by_frequency(
    rating: float, frequency: int, most: int, share: float = 1.0
) -> tuple[float, str]:
    """Returns a rating and its reason: `rating`, or 2 if another reference is more than twice as
    frequent.

    Args:
        rating: the rating by words alone.
        frequency: how many people gave the reference that the answer matches.
        most: how many people gave the most frequent reference.
        share: how much of the reference the answer matches, 0 to 1.
    """
    if 2 * frequency < most:
        return 2.0, "few reference answers say so"
    if share == 1:
        return rating, "it is a reference answer"
    return rating, f"it is {share:.0%} a reference answer"


def _rate_binary(word: str, reason: str, counts: Counter[str]) -> tuple[float, str]:
    """Applies the rule "yes/no". Returns the rating and its reason.

    word, reason: the result of `binary_answer`: "yes" or "no", or "" with a reason. counts: how
    often each reference is given, such as {"yes": 7, "no": 3}.
    """
    if not word:
        return 1.0, reason
    share = counts[word] / (counts["yes"] + counts["no"])
    rating = 2.0
    if share >= 2 / 3:
        rating = 3.0
    elif share <= 1 / 3:
        rating = 1.0
    return rating, f"{share:.0%} of the people say {word!r}"
