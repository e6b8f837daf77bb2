"""Finds filler, the words of a text that say nothing. Every metric penalises it in mode "default".

    text = "A red circle. in in in in in in in in"
    found = find_filler(text, beside_text="A red circle at the top.")
    found.share                         # 0.61: of the text's characters
    found.pieces                        # ((14, 37, "a phrase over and over"),)

In mode "default" the score is metric x (1 - share of characters that are filler). docs/filler.md
has the kinds; the limits were set on texts by people (docs/evidence/filler.md). The function words
are English.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from spacy.lang.en.stop_words import STOP_WORDS

from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.text.length import shrink
from spanreward.rewards.text.written import read_text

FILLER = "filler"  # the name of the verdict's part, and the kind of the spans
DEGENERATE = 0.1  # a completion with a larger share of filler is called degenerate
LOOP_WORDS = 6  # words in a row that stood before, at least, for a phrase over and over
COPIED_WORDS = 17  # words in a row that stood before, whatever their distance
WINDOW_WORDS = 16  # words in a row of which
FEW_WORDS = 5  # so few are different ones: a phrase over and over
FUNCTION_WORD_RUN = 6  # function words in a row; more are filler
UNSTATED_WORDS = 9  # words in a row outside what the metric asks about; more are filler
QUOTED_WORDS = 6  # words of a quotation, as on a sign, which may repeat
SLIP_DISTANCE = 20  # words from one slip of grammar to the next, at most, for disorder between them
MOST_SIGNS = 8  # characters in a row without a letter or digit; more are filler
MOST_LETTERS = 30  # letters of a word; more are filler
PHRASE_WORDS = 16  # words of a phrase that is said again; a longer one counts by COPIED_WORDS

# spaCy's stop words that name parts of a picture, and numbers
CONTENT_STOP_WORDS = """
top bottom front back side part amount name move full empty call first third last next
one two three four
five six eight nine ten eleven twelve fifteen twenty forty fifty sixty hundred"""
FUNCTION_WORDS = frozenset(STOP_WORDS) - frozenset(CONTENT_STOP_WORDS.split())
_DANGLING_WORDS = "a an the and or of its their my your every"
DANGLING = frozenset(_DANGLING_WORDS.split())  # words that no text ends with
FILLER_ARTICLES = ("a", "an", "the")
CONJUNCTIONS = ("and", "or")
OPENING = frozenset((*FILLER_ARTICLES, *CONJUNCTIONS))
_SMALL_WORDS = "a an the and or of in at on to by for with from is are was were be it there its"
NO_NOUN = frozenset(_SMALL_WORDS.split())
IS = frozenset(("is", "are", "was", "were"))
_PREPOSITIONS = ("in", "of", "at", "on", "to", "by", "for", "with")
# by a small word, the words that cannot follow it: "the is", "and or", "of is"
NOT_AFTER = {
    **dict.fromkeys(FILLER_ARTICLES, NO_NOUN),
    **dict.fromkeys(CONJUNCTIONS, frozenset(CONJUNCTIONS)),
    **dict.fromkeys((*_PREPOSITIONS, *IS), IS),
}
SIGNS_THAT_STOP = frozenset((*".!?,;:", ""))  # "" follows the text's last word
FILLER_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
NO_WORDS = re.compile(r"[\W_]+")
# A phrase with one of these may name a further thing: "a red circle, a red circle".
_FURTHER_WORDS = (
    "a an another other some several many more few both each one two three four five six seven "
    "eight nine ten"
)
FURTHER = frozenset(_FURTHER_WORDS.split())
# between words: all signs but those that a phrase may have within, such as a comma
DIVIDING = re.compile(r"[^ \t,\"'()\u2018\u2019\u201c\u201d-]")
TABLE = re.compile(r"[ |]*\n[ |:-]{1,80}\n[ |]*")  # the line below the head of a Markdown table
# the first one alone
QUOTATION = re.compile(
    rf"[\"\u201c]\W{{0,3}}(?:\w+\b\W{{0,3}}){{1,{QUOTED_WORDS}}}?(?<=[\"\u201d])"
)
SENTENCE_END = re.compile(r"[.!?](?=\s)")
ENDED_TEXT = re.compile(r"[.!?:\u2026]['\"\u201d\u2019)\]*]*\s*\Z")
ABBREVIATED = re.compile(r"a\.|\w+\.\w", re.IGNORECASE)  # "7 a.m.", "George A. Robertson"
NOT_LATIN = re.compile(r"[^\W\d_\x00-\u024f\u1e00-\u1eff\u2070-\u209f]")
NO_ENGLISH = re.compile(  # pairs and runs of letters that English words do not have
    r"q[bcdefghjklmnoprstvwxyz]|j[bcdfghjklmnpqrstvwxz]|v[bcdfghjmnpqtwxz]|z[bcdfgjkmnpqrsvx]|x[bdgjkmnrvxz]"
    r"|[bcdfghjkmpqstvwz]x|[fgjkmpqvxz]q|[cfghjkmpqstvwxz]j|[bcdfghjklmnpqrstvwxz]{6}"
)


@dataclass(frozen=True, slots=True)
class Filler:
    """share: filler as a share of the text's characters, in [0, 1]. pieces: sorted, disjoint
    (start, end, kind).
    """

    share: float = 0.0
    pieces: tuple[tuple[int, int, str], ...] = ()


def find_filler(
    text: str,
    beside_text: str = "",
    stated: Collection[tuple[int, int]] | None = None,
    misplaced: Sequence[tuple[int, int]] = (),
    ends: bool = True,
) -> Filler:
    """Returns the text's filler, in time linear in the text's length.

    beside_text: the prompt, references and question. Their words and scripts are never filler.
    stated: the characters [start, end) that the metric asks about; None if it does not say.
    misplaced: the words that cannot stand where they do. ends: whether an unfinished end counts.
    """
    if not text:
        return Filler()
    matches = list(FILLER_WORD.finditer(text))
    places = [match.span() for match in matches]
    words = [match.group().casefold() for match in matches]
    are_function_words = [word in FUNCTION_WORDS for word in words]
    stating_nothing = _beyond(are_function_words, FUNCTION_WORD_RUN)
    if stated is not None:
        stating_nothing += _unstated(text, places, stated)
    # in the order of the reasons: a word that is filler by several has the first one
    numbers_by_kind = {
        "a phrase over and over": [*_repeated(words), *_of_few_words(words)],
        "words just said": _said_again(text, places, words, beside_text),
        "words in no order": _disordered(text, places, words, misplaced),
        "words that state nothing": stating_nothing,
        "no words": _unwordly(words, beside_text),
        "an unfinished end": _unfinished(text, places, words) if ends else [],
    }
    quote = QUOTATION.search(text)
    why: dict[int, str] = {}  # by number of the word
    for reason, numbers in numbers_by_kind.items():
        for number in numbers:
            start, _ = places[number]
            # a sign may say "stop stop stop"
            is_quoted = quote is not None and quote.start() < start < quote.end()
            if not is_quoted:
                why.setdefault(number, reason)
    pieces = []
    for number, reason in why.items():
        start, end = places[number]
        pieces.append((start, end, reason))
    for signs in NO_WORDS.finditer(text):
        is_long = len(signs[0]) > MOST_SIGNS
        if is_long and not TABLE.fullmatch(signs[0]):
            start = signs.start() + MOST_SIGNS
            pieces.append((start, signs.end(), "signs and white space"))
    joined = _join(text, sorted(pieces))
    length = sum(end - start for start, end, _ in joined)
    return Filler(length / len(text), tuple(joined))


def _of_few_words(words: Sequence[str]) -> list[int]:
    """Returns the words that end a window of WINDOW_WORDS with at most FEW_WORDS different ones."""
    numbers = []
    for last in range(WINDOW_WORDS - 1, len(words)):
        window = words[last - WINDOW_WORDS + 1 : last + 1]
        if len(set(window)) <= FEW_WORDS:
            numbers.append(last)
    return numbers


def beside(sample: Sample) -> str:
    """Returns the sample's prompt, question, context, references and answers as one text."""
    texts = [
        sample.prompt,
        sample.question,
        sample.context,
        *sample.references,
        *sample.answers,
    ]
    return "\n".join(text for text in texts if text)


def is_degenerate(sample: Sample) -> bool:
    """Returns whether more than DEGENERATE of the completion is filler."""
    text = read_text(sample.completion).plain
    # an answer need not be a sentence with an end
    filler = find_filler(text, beside(sample), ends=not sample.answers)
    return filler.share > DEGENERATE


def _repeated(words: Sequence[str]) -> list[int]:
    """Returns the words of repetitions, which are words that all stood the same distance before.

    A phrase counts from its fourth time (and at least LOOP_WORDS in a row), a single word too, and
    COPIED_WORDS in a row whatever their distance.
    """
    repeated: list[int] = []
    last: dict[tuple[str, str, str], int] = {}  # where three words in a row ended last
    distance = 0  # how far before the words of the run stood
    run = 0  # words up to here that all stood this distance before
    triples = zip(words, words[1:], words[2:], strict=False)
    for number, three in enumerate(triples, start=2):
        before = last.get(three)
        last[three] = number
        if run and words[number - distance] == words[number]:
            run += 1
        elif before is not None:
            run = 3
            distance = number - before
        else:
            run = 0
            continue
        # 2 x distance + 1: the phrase stands for the fourth time
        enough = min(max(2 * distance + 1, LOOP_WORDS), COPIED_WORDS)
        if distance == 1:
            enough = 3
        if run == enough:
            repeated += range(number - run + 1, number)
        if run >= enough:
            repeated.append(number)
    return repeated


def _said_again(
    text: str,
    places: Sequence[tuple[int, int]],
    words: Sequence[str],
    beside_text: str,
) -> list[int]:
    """Returns the words that only say again what the sentence has said right before them.

    "a large large square", "in the corner in the corner", "in the corner. In the corner." A phrase
    that may name a further thing ("a circle, a circle") says something, and so does one that a new
    sentence begins with and goes on from ("The bus is red. The bus stands still."). People hardly
    write such copies: docs/evidence/filler.md.
    """
    joints = _joints(text, places)
    doubled = _doubled(beside_text)
    repeated: list[int] = []
    for start in range(1, len(words)):
        longest = min(PHRASE_WORDS, start, len(words) - start)
        for length in range(1, longest + 1):
            # the last words first: nearly always they differ
            if words[start - 1] != words[start + length - 1]:
                continue
            copy = words[start : start + length]
            if words[start - length : start] != copy or FUNCTION_WORDS.issuperset(copy):
                continue
            before = joints[start]
            if length == 1:
                (word,) = copy
                first_letter = text[places[start][0]]
                is_name = first_letter.isupper() and word not in beside_text
                may_double = is_name or word in doubled or word.isdigit()
                adds_nothing = before in (" ", ",") and not may_double
            else:
                behind = joints[start + length]
                # "on the table. On the table, there is a cat." goes on
                is_whole = behind == "." or (behind == "," and before == ",")
                names_further = not FURTHER.isdisjoint(copy)
                adds_nothing = (before == " " or is_whole) and not names_further
                adds_nothing = adds_nothing and not _is_chain(words, start, length)
            if adds_nothing:
                repeated += range(start, start + length)
    return repeated


def _is_chain(words: Sequence[str], start: int, length: int) -> bool:
    """Whether a phrase and its copy at `start` are of a chain: "row after row after row"."""
    if length != 2:
        return False
    before = words[start - 3] if start >= 3 else ""
    behind = words[start + 2] if start + 2 < len(words) else ""
    return before == words[start - 1] or behind == words[start]


def _joints(text: str, places: Sequence[tuple[int, int]]) -> list[str]:
    """Returns what stands before each word, and behind the last one: "." for the end of a clause,
    of the text, or a sign as in "2+2"; "," for a sign within a clause, and " ".
    """
    joints = ["."]
    for (_, end), (start, _) in pairwise(places):
        between = text[end:start]
        if DIVIDING.search(between):
            joints.append(".")
        elif between.isspace():
            joints.append(" ")
        else:
            joints.append(",")
    joints.append(".")
    return joints


def _doubled(beside_text: str) -> set[str]:
    """Returns the words that stand twice in a row beside the text, such as "tuk" of "a tuk tuk"."""
    words = FILLER_WORD.findall(beside_text.casefold())
    return {word for word, following in pairwise(words) if word == following}


def _small_words_misused(
    text: str,
    places: Sequence[tuple[int, int]],
    words: Sequence[str],
) -> list[int]:
    """Returns small words before a word that cannot follow them."""
    misused = []
    following_words = [*words[1:], ""]
    for number, word in enumerate(words):
        if word not in NOT_AFTER:
            continue
        start, end = places[number]
        following = following_words[number]
        if text[end : end + 1] in SIGNS_THAT_STOP:
            # "the." and "and,", and not "a.m."
            is_wrong = word in OPENING and not ABBREVIATED.match(text, start)
        else:
            # the same word twice is said again, and not misused
            is_wrong = following != word and following in NOT_AFTER[word]
        if is_wrong:
            misused.append(number)
    return misused


def _unstated(
    text: str,
    places: Sequence[tuple[int, int]],
    stated: Collection[tuple[int, int]],
) -> list[int]:
    """Returns the words beyond the first UNSTATED_WORDS of every run of words outside the stated
    places.
    """
    inside = bytearray(len(text))  # 1 for each character that is stated
    for start, end in stated:
        inside[start:end] = b"\1" * (end - start)
    are_outside = [not any(inside[start:end]) for start, end in places]
    return _beyond(are_outside, UNSTATED_WORDS)


def _beyond(marked: Iterable[bool], most: int) -> list[int]:
    """Returns the numbers of the entries beyond the first `most` of every run of marked ones."""
    beyond = []
    run = 0
    for number, mark in enumerate(marked):
        run = run + 1 if mark else 0
        if run > most:
            beyond.append(number)
    return beyond


def _disordered(
    text: str,
    places: Sequence[tuple[int, int]],
    words: Sequence[str],
    misplaced: Sequence[tuple[int, int]],
) -> list[int]:
    """Returns small words misused, from the second on, and all words from one slip of grammar to
    the next nearby.
    """
    misused = _small_words_misused(text, places, words)
    slips = [(number, number + 1) for number in misused]  # words [first, end)
    for start, end in misplaced:
        # from characters to the words that begin there
        first = bisect_right(places, (start, 0))
        slips.append((first, bisect_left(places, (end, 0))))
    slips.sort()
    # one small word may be a slip of the pen
    disordered = set(misused[1:])
    for (first, behind), (following, end) in pairwise(slips):
        if behind <= following <= first + SLIP_DISTANCE:
            disordered.update(range(first, end))
    return sorted(disordered)


def _unwordly(words: Sequence[str], beside_text: str) -> list[int]:
    """Returns words that neither are English nor stand in `beside_text`.

    They are words in another script than Latin, unless `beside_text` has one too or they are a
    Greek letter, as in formulas; words of more than MOST_LETTERS; and from the third different one
    on those with letters that English does not join.
    """
    named = set(FILLER_WORD.findall(beside_text.casefold()))
    latin = not NOT_LATIN.search(beside_text)
    first_numbers: dict[str, int] = {}  # of each word that the row does not have
    for number, word in enumerate(words):
        if word not in named:
            first_numbers.setdefault(word, number)
    strange: list[int] = []  # first numbers of words that are not English by their letters
    foreign: set[str] = set()
    for word, number in first_numbers.items():
        if NO_ENGLISH.search(word):
            strange.append(number)
        if _is_foreign(word, latin):
            foreign.add(word)
    unwordly = sorted(strange)[2:]  # two may be names
    for number, word in enumerate(words):
        if word in foreign:
            unwordly.append(number)
    return unwordly


def _is_foreign(word: str, latin: bool) -> bool:
    """Whether a word is too long, or in another script. latin: whether what is known of the row has
    Latin letters alone.
    """
    if not NOT_LATIN.search(word):
        return len(word) > MOST_LETTERS
    # a Greek letter alone is a sign of a formula
    is_sign = len(word) == 1 and "\u0370" <= word <= "\u03ff"
    return latin and not is_sign


def _unfinished(text: str, places: Sequence[tuple[int, int]], words: Sequence[str]) -> list[int]:
    """Returns the last word if its sentence breaks off."""
    if not words:
        return []
    last = len(words) - 1
    start, end = places[last]
    if words[last] in DANGLING:
        return [last]
    # a text of one piece, as a caption, may do without a full stop
    has_sentence = SENTENCE_END.search(text, 0, start)
    if has_sentence and not ENDED_TEXT.search(text, end):
        return [last]
    return []


def _join(text: str, pieces: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Returns the pieces, with neighbours of one kind joined."""
    joined: list[tuple[int, int, str]] = []
    for start, end, reason in pieces:
        if not joined:
            joined.append((start, end, reason))
            continue
        last_start, last_end, last_reason = joined[-1]
        if last_reason == reason and not FILLER_WORD.search(text, last_end, start):
            joined[-1] = (last_start, end, reason)
        else:
            # so that no character counts twice
            joined.append((max(start, last_end), end, reason))
    return [(start, end, reason) for start, end, reason in joined if start < end]


def penalise_filler(
    verdict: Verdict,
    length: float,
    filler: Filler,
    lowest: Mapping[str, float],
) -> Verdict:
    """Returns the verdict with score, credits and parts reduced by the share of filler, and a span
    on every piece.

    length: the pieces have this share of so many characters. lowest: the parts that shrink with the
    score, and their lowest values. The share is taken of what an earlier filler has left.
    """
    if verdict.status is not Status.OK or verdict.score is None:
        return verdict
    share_left = 1 - filler.share
    spans = list(verdict.spans)
    if filler.pieces:
        spans = [replace(span, credit=span.credit * share_left) for span in verdict.spans]
    # components of their own, behind those of the metric
    components = [span.component for span in verdict.spans]
    first = max(components, default=-1) + 1
    for component, (start, end, reason) in enumerate(filler.pieces, start=first):
        cost = -verdict.score * (end - start) / length
        spans.append(Span(start, end, 0.0, cost, FILLER, reason, component))
    share = filler.share
    # an earlier filler took its share first, this one takes of what it has left
    if FILLER in verdict.parts:
        share = 1 - (1 - verdict.parts[FILLER]) * share_left
    parts = shrink(verdict.parts, share_left, lowest)
    parts[FILLER] = share
    score = verdict.score * share_left
    return replace(verdict, score=score, parts=parts, spans=tuple(spans))
