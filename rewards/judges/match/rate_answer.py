"""Rates an answer by its words against people's answers: how MatchJudge answers LAVE. Not a
published metric.

    probe = AnswerProbe("What color is it?", "It is red, not blue.", ("red", "red", "crimson"))
    rate_answer(probe)      # (3.0, ...)

It knows no synonyms, compares number words as digits, and rates by the first rule that applies:

    asked       The answer ends with a question mark: 1.
    yes/no      Yes or no is the most frequent reference. The first piece that says yes or no
                decides; 1 if a later one begins with the other or with "or", if none does, if it
                doubts, and for "not sure". The rating goes by the share of yes and no references
                that agree: 3 from two thirds, 1 up to one third.
    equality    It is a reference: 3, or 2 where another is given more than twice as often.
    share       What an answer says beside the references is another answer, so that a list pays no
                more than a guess. An answer is worth the smaller of two shares: of its words that
                the references know, and of a reference's words that it has. From two thirds 3, from
                one half 2, else 1; at most 2 where another is given more than twice as often.

Words count that are neither function words nor the question's; if all references are numbers, only
numbers. A piece between commas, full stops and "but" that denies or doubts ("not", "unless") counts
nothing, and one that does nothing else ("no way") takes back what stands before it. Prose says many
words, or one of the question's. In it only pieces with a reference's words count, with one
explaining word free for each such word, and short pieces in a row with them.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence, Set as AbstractSet

from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.language.answer_text import NEGATED, answer_words, normalise
from spanreward.rewards.language.lemmas import lemma
from spanreward.rewards.language.words import ARTICLES, HEDGES, word_set
from spanreward.rewards.text.filler import FUNCTION_WORDS
from spanreward.rewards.text.plain_text import plain_text

YES = word_set("yes yeah yep yup true")
NO = NEGATED | word_set("no nope nah not false never cannot")
EVASIVE = word_set("sure unsure know maybe perhaps unknown unanswerable")
DENYING = NO | word_set(
    "nor neither without doubt doubts doubted deny denies unlikely doubtful untrue wrong incorrect "
    "mistake mistaken impossible lie myth ruled unsure hardly scarcely supposedly allegedly if "
    "unless whether suppose assume unlike except fails failed far rather instead"
)
TAKING_BACK = DENYING | word_set(
    "way really is that this it can be clearly so was right true correct very or and"
)
FREE = (
    FUNCTION_WORDS
    | HEDGES
    | ARTICLES
    | DENYING
    | word_set("definitely certainly looks like appears be")
)
OTHERS = re.compile(r"\b(any(?:thing)?|every(?:thing)?|all|other) (but|than)\b")
PIECES = re.compile(
    r",(?!\d{3}\b)|[;:/|()\[\]\n]+|\.(?!\w)|\s[-\u2013\u2014]\s|\bbut\b|(?=\b(?:rather|instead|unlike|except|because)\b)"
)
LINKS = re.compile(r"\b(?:and|or|nor|plus)\b|[&+]")
PROSE = 8  # an answer of more words that count, or with one of the question's, is prose
SHORT = 4  # words of a piece of prose that is another answer


def rate_answer(asked: AnswerProbe) -> tuple[float, str]:
    """Returns the rating, 1 to 3, and the reason, a clause about the answer."""
    candidate, *people = (plain_text(text)[0] for text in (asked.candidate, *asked.references))
    words = _words_of(candidate)
    references = list(map(_words_of, people))
    if not words or not references:
        return 1.0, "there is nothing to compare"
    if candidate.rstrip().endswith("?"):
        return 1.0, "it asks"
    question = set(answer_words(asked.question))
    pieces = list(
        pieces_of(candidate, question | {word for said in references for word in said} - NO)
    )
    counts = Counter(map(normalise, people))
    if counts.most_common(1)[0][0] in ("yes", "no"):
        return _binary([(answer_words(piece), denied) for piece, denied in pieces], counts)
    given = Counter(tuple(map(lemma, reference)) for reference in references)
    most = max(given.values())
    if same := given[tuple(map(lemma, words))]:
        return _frequent(3.0, same, most)
    known = {word for reference in given for word in reference}
    about = {lemma(word) for word in question - FREE} - known
    numbers = all(word.isdigit() for word in known)

    def counting(word: str) -> str:
        """Returns the base form of a word that counts, else ""."""
        base = lemma(word)
        counts_here = base in known or (
            word.isdigit() if numbers else word not in FREE and base not in about
        )
        return base if counts_here else ""

    items = [
        list(map(counting, answer_words(part)))
        for piece in asserted(pieces)
        for part in LINKS.split(piece)
    ]
    said = [word for item in items for word in item if word]
    prose = len(said) > PROSE or not about.isdisjoint(map(lemma, words))
    compared = answering(items, known) if prose else said
    if not compared:
        return 1.0, "it says nothing that a reference answer says"
    share = sum(word in known for word in compared) / len(compared)
    had = {one: (Counter(said) & Counter(one)).total() / max(len(one), 1) for one in given}
    usual = {one: part for one, part in had.items() if part == 1 or 2 * given[one] >= most}
    best = max(usual, key=lambda one: (usual[one], given[one]))
    worth = min(share, usual[best])
    if worth >= 1 / 2:
        return _frequent(3.0 if worth >= 2 / 3 else 2.0, given[best], most, worth)
    if share < 1 / 2:
        beside = next(
            word for word in words if (base := lemma(word)) not in known and base in compared
        )
        return 1.0, f"no reference answer says {beside!r}"
    return 1.0, f"it has {usual[best]:.0%} of a reference answer"


def pieces_of(answer: str, asked: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Yields the pieces of an answer that have words, and whether each is denied: an odd number of
    denying words, so that "without doubt" affirms. asked: the question's and references' words,
    which deny nothing.
    """
    for piece in PIECES.split(OTHERS.sub("not", answer.lower())):
        if words := answer_words(piece):
            yield piece, sum(word in DENYING and word not in asked for word in words) % 2 == 1


def asserted(pieces: Sequence[tuple[str, bool]]) -> list[str]:
    """Returns the pieces that are neither denied, nor taken back by a later one, nor a reason for
    one.
    """
    found: list[str] = []
    for piece, denied in pieces:
        if not denied and not (found and piece.startswith("because")):
            found.append(piece)
        elif denied and TAKING_BACK.issuperset(answer_words(piece)):
            found = []
    return found


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


def _words_of(answer: str) -> list[str]:
    # the letter "A" is an answer too
    return answer_words(answer) or re.findall(r"\w+", answer.lower())


def _frequent(rating: float, given: int, most: int, share: float = 1.0) -> tuple[float, str]:
    if 2 * given < most:
        return 2.0, "few reference answers say so"
    return (
        rating,
        "it is a reference answer" if share == 1 else f"it is {share:.0%} a reference answer",
    )


def _binary(pieces: Sequence[tuple[list[str], bool]], counts: Counter[str]) -> tuple[float, str]:
    """Applies the rule "yes/no"."""
    signs = [(words, denied) for words, denied in pieces if not (YES | DENYING).isdisjoint(words)]
    if not signs or any(words[0] == "or" or not EVASIVE.isdisjoint(words) for words, _ in pieces):
        return 1.0, "it does not commit itself"
    (first, denied), *_ = signs
    begun_with = {words[0] in YES for words, _ in signs if words[0] in YES | NO}
    if len(begun_with) > 1 or not (YES.isdisjoint(first) or NO.isdisjoint(first)):
        return 1.0, "it must say yes or no, not both"
    if denied and NO.isdisjoint(first):
        return 1.0, "it denies or doubts what it says"
    said = "no" if denied else "yes"
    share = counts[said] / (counts["yes"] + counts["no"])
    return (
        3.0 if share >= 2 / 3 else 1.0 if share <= 1 / 3 else 2.0
    ), f"{share:.0%} of the people say {said!r}"
