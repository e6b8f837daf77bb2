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
from itertools import pairwise, zip_longest

from spacy.lang.en.stop_words import STOP_WORDS

from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.text.length import shrink
from spanreward.rewards.text.written import read_text

FILLER = "filler"  # the name of the verdict's part, and the kind of the spans
DEGENERATE = 0.1  # a completion with a larger share of filler is called degenerate
LOOP_WORDS = 6
COPIED_WORDS = 17
WINDOW_WORDS = 16
FEW_WORDS = 5
FUNCTION_WORD_RUN = 6
UNSTATED_WORDS = 9
QUOTED_WORDS = 6  # words of a quotation, as on a sign, which may repeat
SLIP_DISTANCE = 20
MOST_SIGNS = 8  # characters in a row without a letter or digit; more are filler
MOST_LETTERS = 30  # letters of a word; more are filler
PHRASE_WORDS = 16  # words of a phrase that is said again; a longer one counts by COPIED_WORDS

# spaCy's stop words that name parts of a picture, and numbers
CONTENT_STOP_WORDS = """
top bottom front back side part amount name move full empty call first third last next
one two three four
five six eight nine ten eleven twelve fifteen twenty forty fifty sixty hundred"""
FUNCTION_WORDS = frozenset(STOP_WORDS) - frozenset(CONTENT_STOP_WORDS.split())
DANGLING = frozenset(("a", "an", "the", "and", "or", "of", "its", "their", "my", "your", "every"))
FILLER_ARTICLES = ("a", "an", "the")
OPENING = frozenset((*FILLER_ARTICLES, "and", "or"))
NO_NOUN = frozenset(
    re.split(" ", "a an the and or of in at on to by for with from is are was were be it there its")
)
IS = frozenset(("is", "are", "was", "were"))
NOT_AFTER = {
    **dict.fromkeys(FILLER_ARTICLES, NO_NOUN),
    **dict.fromkeys(("and", "or"), frozenset(("and", "or"))),
    **dict.fromkeys(("in", "of", "at", "on", "to", "by", "for", "with", *IS), IS),
}
SIGNS_THAT_STOP = frozenset((*".!?,;:", ""))  # "" follows the text's last word
FILLER_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
NO_WORDS = re.compile(r"[\W_]+")
# A phrase with one of these may name a further thing: "a red circle, a red circle".
FURTHER = frozenset(
    re.split(
        " ",
        "a an another other some several many more few both each one two three four five six seven "
        "eight nine ten",
    )
)
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
    stating_nothing = _beyond((word in FUNCTION_WORDS for word in words), FUNCTION_WORD_RUN)
    if stated is not None:
        stating_nothing += _unstated(text, places, stated)
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
            if not (quote and quote.start() < places[number][0] < quote.end()):
                why.setdefault(number, reason)  # the first reason counts
    pieces = [(*places[number], reason) for number, reason in why.items()]
    for signs in NO_WORDS.finditer(text):
        if len(signs[0]) > MOST_SIGNS and not TABLE.fullmatch(signs[0]):
            pieces.append((signs.start() + MOST_SIGNS, signs.end(), "signs and white space"))
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
    texts = (sample.prompt, sample.question, sample.context, *sample.references, *sample.answers)
    return "\n".join(text for text in texts if text)


def is_degenerate(sample: Sample) -> bool:
    """Returns whether more than DEGENERATE of the completion is filler."""
    text = read_text(sample.completion).plain
    return find_filler(text, beside(sample), ends=not sample.answers).share > DEGENERATE


def _repeated(words: Sequence[str]) -> list[int]:
    """Returns the words of repetitions, which are words that all stood the same distance before.

    A phrase counts from its fourth time (and at least LOOP_WORDS in a row), a single word too, and
    COPIED_WORDS in a row whatever their distance.
    """
    repeated: list[int] = []
    last: dict[tuple[str, str, str], int] = {}
    distance = run = 0
    for number, three in enumerate(zip(words, words[1:], words[2:], strict=False), start=2):
        before = last.get(three)
        last[three] = number
        if run and words[number - distance] == words[number]:
            run += 1
        elif before is not None:
            run, distance = 3, number - before
        else:
            run = 0
            continue
        enough = 3 if distance == 1 else min(max(2 * distance + 1, LOOP_WORDS), COPIED_WORDS)
        if run == enough:
            repeated += range(number - run + 1, number)
        if run >= enough:
            repeated.append(number)
    return repeated


def _said_again(
    text: str, places: Sequence[tuple[int, int]], words: Sequence[str], beside_text: str
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
        for length in range(1, min(PHRASE_WORDS, start, len(words) - start) + 1):
            if words[start - 1] != words[start + length - 1]:
                continue
            copy = words[start : start + length]
            if words[start - length : start] != copy or FUNCTION_WORDS.issuperset(copy):
                continue
            if length == 1:
                is_name = text[places[start][0]].isupper() and copy[0] not in beside_text
                adds_nothing = joints[start] in (" ", ",") and copy[0] not in doubled
                adds_nothing = adds_nothing and not is_name and not copy[0].isdigit()
            else:
                before, behind = joints[start], joints[start + length]
                # "on the table. On the table, there is a cat." goes on
                is_whole = behind == "." or (behind == "," and before == ",")
                adds_nothing = FURTHER.isdisjoint(copy) and (before == " " or is_whole)
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
    text: str, places: Sequence[tuple[int, int]], words: Sequence[str]
) -> list[int]:
    """Returns small words before a word that cannot follow them."""
    misused = []
    for number, (word, following) in enumerate(zip_longest(words, words[1:], fillvalue="")):
        start, end = places[number]
        if word not in NOT_AFTER:
            continue
        if text[end : end + 1] in SIGNS_THAT_STOP:
            is_wrong = word in OPENING and not ABBREVIATED.match(text, start)
        else:
            is_wrong = following != word and following in NOT_AFTER[word]
        if is_wrong:
            misused.append(number)
    return misused


def _unstated(
    text: str, places: Sequence[tuple[int, int]], stated: Collection[tuple[int, int]]
) -> list[int]:
    """Returns the words beyond the first UNSTATED_WORDS of every run of words outside the stated
    places.
    """
    inside = bytearray(len(text))
    for start, end in stated:
        inside[start:end] = b"\1" * (end - start)
    return _beyond((not any(inside[start:end]) for start, end in places), UNSTATED_WORDS)


def _beyond(marked: Iterable[bool], most: int) -> list[int]:
    """Returns the numbers of the entries beyond the first `most` of every run of marked ones."""
    beyond, run = [], 0
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
    slips = [(number, number + 1) for number in misused]
    for start, end in misplaced:
        slips.append((bisect_right(places, (start, 0)), bisect_left(places, (end, 0))))
    slips.sort()
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
    strange = [number for word, number in first_numbers.items() if NO_ENGLISH.search(word)]
    foreign = {word for word in first_numbers if _is_foreign(word, latin)}
    unwordly = sorted(strange)[2:]
    unwordly += [number for number, word in enumerate(words) if word in foreign]
    return unwordly


def _is_foreign(word: str, latin: bool) -> bool:
    """latin: whether what is known of the row has Latin letters alone."""
    if not NOT_LATIN.search(word):
        return len(word) > MOST_LETTERS
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
    has_sentence = SENTENCE_END.search(text, 0, start)
    return [last] if has_sentence and not ENDED_TEXT.search(text, end) else []


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
            joined.append((max(start, last_end), end, reason))
    return [piece for piece in joined if piece[0] < piece[1]]


def penalise_filler(
    verdict: Verdict, length: float, filler: Filler, lowest: Mapping[str, float]
) -> Verdict:
    """Returns the verdict with score, credits and parts reduced by the share of filler, and a span
    on every piece.

    length: the pieces have this share of so many characters. lowest: the parts that shrink with the
    score, and their lowest values. The share is taken of what an earlier filler has left.
    """
    if verdict.status is not Status.OK or verdict.score is None:
        return verdict
    share_left = 1 - filler.share
    first = max((span.component for span in verdict.spans), default=-1) + 1
    spans = list(verdict.spans)
    if filler.pieces:
        spans = [replace(span, credit=span.credit * share_left) for span in spans]
    for component, (start, end, reason) in enumerate(filler.pieces, start=first):
        cost = -verdict.score * (end - start) / length
        spans.append(Span(start, end, 0.0, cost, FILLER, reason, component))
    share = filler.share
    if FILLER in verdict.parts:
        share = 1 - (1 - verdict.parts[FILLER]) * share_left
    parts = {**shrink(verdict.parts, share_left, lowest), FILLER: share}
    return replace(verdict, score=verdict.score * share_left, parts=parts, spans=tuple(spans))
