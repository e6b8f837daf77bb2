"""Filler: the words of a text that say nothing, found by the text alone. What the default modes of all metrics charge.

    found = find_filler("A red circle. in in in in in in in in", known="A red circle at the top.")
    found.share                         # 0.61: of the text's characters
    found.pieces                        # ((14, 37, "a phrase over and over"),)

A metric pays for what it asks about, and a policy that is paid by it finds what it does not ask about: a PoSh-trained
one wrote "in in in in" to the end of its budget, at full score. So in mode "default" a text is paid for the share of it
that is not filler:

    score = metric x (1 - share)        share = characters of filler / characters of the text

which every metric also puts into `parts["filler"]`, and each piece of filler becomes a span of score 0 whose credit is
what it costs, so that the blame lands on its own tokens. Filler is

    a phrase over and over   words that repeat those before them: a phrase for the third time (of LOOP words in a row at
                             least), one word for the fourth, or COPIED words in a row that stood anywhere before
    few words over and over  among WINDOW words in a row no more than FEW different ones
    words that lead nowhere  "the is", "a and", "and.", "at is", sentences that open with "is", a word said twice in a
                             row, sentences of one or two words that were said before; from the second such slip on
    words in no order        from one of the first four of those to the next, if no more than ORDERED words lie between;
                             where the metric has parsed the text (PoSh), from any word that cannot stand where it does
                             (rewards/language/grammar.py)
    words without content    beyond RUN articles, prepositions, auxiliaries, hedges and the like in a row
    words that state nothing beyond UNSTATED words in a row outside all that the metric asks about, where it says what
                             that is (PoSh: the spans of its scene graph)
    signs and white space    beyond SIGNS characters in a row without a letter or digit (emoji, line breaks, "!!!")
    another script           letters of a script that neither the prompt nor the references are written in
    no words                 letters that no English word has in this order, from the third such word on; letters of
                             a word beyond LONG
    an unfinished end        the last word where the sentence breaks off, though others before it have an end, or where
                             it is "the", "of" and their like

The bounds were set on people's texts (docs/filler.md): of each set of captions that we have at most 1 % lose more than
.01. It knows English function words; a text whose prompt or references are in another script is measured by the rest.
"""

import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, zip_longest

from spacy.lang.en.stop_words import STOP_WORDS

from rewards.verdict import Sample, Span, Status, Verdict

FILLER = "filler"  # the part of a verdict, and the kind of its spans
DEGENERATE = 0.1  # the share of filler from which a completion is called degenerate
LOOP = 5
COPIED = 14
WINDOW = 16
FEW = 5
RUN = 6
UNSTATED = 9
ORDERED = 20
SIGNS = 8
LONG = 30

# Of spaCy's stop words those that name parts of a picture, and numbers.
CONTENT = """top bottom front back side part amount name move full empty call first third last next one two three four
five six eight nine ten eleven twelve fifteen twenty forty fifty sixty hundred"""
FUNCTION_WORDS = frozenset(STOP_WORDS) - frozenset(CONTENT.split())
DANGLING = frozenset(("a", "an", "the", "and", "or", "of", "its", "their", "my", "your", "every"))
ARTICLES = ("a", "an", "the")
OPENING = frozenset((*ARTICLES, "and", "or"))
NO_NOUN = frozenset(re.split(" ", "a an the and or of in at on to by for with from is are was were be it there its"))
IS = frozenset(("is", "are", "was", "were"))
NOT_AFTER = {
    **dict.fromkeys(ARTICLES, NO_NOUN),
    **dict.fromkeys(("and", "or"), frozenset(("and", "or"))),
    **dict.fromkeys(("in", "of", "at", "on", "to", "by", "for", "with", *IS), IS),
}
ENDS = re.compile(r"[.!?](?!\w)|\Z")  # of sentences, so not the first of "a.m."
STOPS = frozenset((*".!?,;:", ""))  # "": nothing stands behind the text's last word
WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
NO_WORDS = re.compile(r"[\W_]+")
SENTENCE_END = re.compile(r"[.!?](?=\s)")
ENDED = re.compile(r"[.!?:\u2026]['\"\u201d\u2019)\]*]*\s*\Z")
ABBREVIATED = re.compile(r"a\.|\w+\.\w", re.IGNORECASE)  # "7 a.m.", "George A. Robertson"
ASKED = re.compile(r"[^.!?]*\?")
NOT_LATIN = re.compile(r"[^\W\d_\x00-\u024f\u1e00-\u1eff\u2070-\u209f]")
NO_ENGLISH = re.compile(  # pairs and runs of letters that English words do not have
    r"q[bcdefghjklmnoprstvwxyz]|j[bcdfghjklmnpqrstvwxz]|v[bcdfghjmnpqtwxz]|z[bcdfgjkmnpqrsvx]|x[bdgjkmnrvxz]"
    r"|[bcdfghjkmpqstvwz]x|[fgjkmpqvxz]q|[cfghjkmpqstvwxz]j|[bcdfghjklmnpqrstvwxz]{6}"
)


@dataclass(frozen=True, slots=True)
class Filler:
    """share: of the text's characters, in [0, 1]. pieces: (start, end, what it is), sorted, none overlaps another."""

    share: float = 0.0
    pieces: tuple[tuple[int, int, str], ...] = ()


def find_filler(
    text: str,
    known: str = "",
    stated: Collection[tuple[int, int]] | None = None,
    misplaced: Sequence[tuple[int, int]] = (),
    ends: bool = True,
) -> Filler:
    """The text's filler. Linear in the text's length; asks no judge.

    known: what stands beside the text (prompt, references, question): its scripts and its words are never filler.
    stated, misplaced: the characters [start, end) of what the metric asks about, and of the words that cannot stand
    where they do, where it knows. ends: whether an unfinished end counts; answers in keywords have none.
    """
    if not text:
        return Filler()
    matches = list(WORD.finditer(text))
    places = [match.span() for match in matches]
    words = [match.group().casefold() for match in matches]
    why: dict[int, str] = {}  # by number of the word; what is said first counts
    for number in repeated(words):
        why.setdefault(number, "a phrase over and over")
    for number in monotonous(words):
        why.setdefault(number, "few words over and over")
    misused = small_words_misused(text, places, words)
    for number in disordered(places, misused, misplaced):
        why.setdefault(number, "words in no order")
    for number in sorted({*misused, *said_again(text, places, words)})[1:]:
        why.setdefault(number, "words that lead nowhere")
    for number in without_content(words):
        why.setdefault(number, "words without content")
    for number in [] if stated is None else unstated(places, stated):
        why.setdefault(number, "words that state nothing")
    for number in unwordly(text, words, known):
        why.setdefault(number, "no words")
    if ends:
        for number in unfinished(text, places, words):
            why.setdefault(number, "an unfinished end")
    pieces = [(*places[number], reason) for number, reason in why.items()]
    pieces += [
        (m.start() + SIGNS, m.end(), "signs and white space") for m in NO_WORDS.finditer(text) if len(m[0]) > SIGNS
    ]
    pieces += [
        (start + LONG, end, "no words")
        for number, (start, end) in enumerate(places)
        if end - start > LONG and number not in why and not NOT_LATIN.search(words[number])
    ]
    pieces += foreign(text, places, why, known)
    joined = join(text, sorted(pieces))
    return Filler(sum(end - start for start, end, _ in joined) / len(text), tuple(joined))


def beside(sample: Sample) -> str:
    """All that stands beside the sample's completion."""
    texts = (sample.prompt, sample.question, sample.context, *sample.references, *sample.answers)
    return "\n".join(text for text in texts if text)


def is_degenerate(sample: Sample) -> bool:
    """Whether more than DEGENERATE of the completion is filler, whatever its metrics make of that."""
    return find_filler(sample.completion, beside(sample), ends=not sample.answers).share > DEGENERATE


def repeated(words: Sequence[str]) -> list[int]:
    """The words that go on with a repetition: each stood so before, at one and the same distance from here."""
    found: list[int] = []
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
        enough = 3 if distance == 1 else min(max(distance + 1, LOOP), COPIED)
        if run == enough:
            found += range(number - run + 1, number)
        if run >= enough:
            found.append(number)
    return found


def monotonous(words: Sequence[str]) -> list[int]:
    """The words that end WINDOW words of which only FEW differ."""
    counts: dict[str, int] = {}
    found = []
    for number, word in enumerate(words):
        counts[word] = counts.get(word, 0) + 1
        if number >= WINDOW:
            gone = words[number - WINDOW]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
        if number >= WINDOW - 1 and len(counts) <= FEW:
            found.append(number)
    return found


def small_words_misused(text: str, places: Sequence[tuple[int, int]], words: Sequence[str]) -> list[int]:
    """Articles, conjunctions, prepositions and "is" before what cannot follow them, and sentences that open with "is"
    and ask nothing.
    """
    found = []
    begin = 0  # of the sentence
    for number, (word, following) in enumerate(zip_longest(words, words[1:], fillvalue="")):
        start, end = places[number]
        stop = text[end : end + 1]
        if word in NOT_AFTER:
            if stop in STOPS:
                wrong = word in OPENING and not ABBREVIATED.match(text, start)
            else:
                wrong = following != word and following in NOT_AFTER[word]
            if wrong or (word in IS and begin == number > 0 and not ASKED.match(text, end)):
                found.append(number)
        if stop in STOPS and ENDS.match(text, end):
            begin = number + 1
    return found


def said_again(text: str, places: Sequence[tuple[int, int]], words: Sequence[str]) -> list[int]:
    """Words said twice in a row, and the ends of sentences of one or two words that were said before."""
    found = []
    said: set[str] = set()
    begin = 0  # of the sentence
    for number, (word, following) in enumerate(zip_longest(words, words[1:], fillvalue="")):
        end = places[number][1]
        if text[end : end + 1] not in STOPS:
            if word == following:
                found.append(number + 1)
        elif ENDS.match(text, end):
            if number - begin < 2 and said.issuperset(words[begin : number + 1]):
                found.append(number)
            said.update(words[begin : number + 1])
            begin = number + 1
    return found


def without_content(words: Sequence[str]) -> list[int]:
    """Of every run of function words those beyond RUN."""
    found = []
    run = 0
    for number, word in enumerate(words):
        run = run + 1 if word in FUNCTION_WORDS else 0
        if run > RUN:
            found.append(number)
    return found


def unstated(places: Sequence[tuple[int, int]], stated: Collection[tuple[int, int]]) -> list[int]:
    """Of every run of words outside the places that state something those beyond UNSTATED."""
    found = []
    run = 0
    inside = iter(sorted(stated))
    start, end = next(inside, (math.inf, math.inf))
    for number, (begin, stop) in enumerate(places):
        while end <= begin:
            start, end = next(inside, (math.inf, math.inf))
        run = run + 1 if stop <= start else 0
        if run > UNSTATED:
            found.append(number)
    return found


def disordered(
    places: Sequence[tuple[int, int]], misused: Sequence[int], misplaced: Sequence[tuple[int, int]]
) -> list[int]:
    """The words from one slip of grammar to the next, where that is no more than ORDERED words away."""
    slips = [(number, number + 1) for number in misused]
    slips += [(bisect_right(places, (start, 0)), bisect_left(places, (end, 0))) for start, end in misplaced]
    slips.sort()
    between = [(one, end) for (one, behind), (other, end) in pairwise(slips) if behind <= other <= one + ORDERED]
    return sorted({number for start, end in between for number in range(start, end)})


def unwordly(text: str, words: Sequence[str], known: str) -> list[int]:
    """Words that are not English and do not stand beside the text either, from the third different one on."""
    if len(NO_ENGLISH.findall(text.casefold())) < 3:
        return []
    strange = {word: number for number, word in reversed(list(enumerate(words))) if NO_ENGLISH.search(word)}
    if len(strange) < 3:
        return []
    named = set(WORD.findall(known.casefold()))
    return sorted(number for word, number in strange.items() if word not in named)[2:]


def unfinished(text: str, places: Sequence[tuple[int, int]], words: Sequence[str]) -> list[int]:
    """The last word, where its sentence breaks off."""
    if not words:
        return []
    breaks_off = SENTENCE_END.search(text, 0, places[-1][0]) and not ENDED.search(text, places[-1][1])
    return [len(words) - 1] if breaks_off or words[-1] in DANGLING else []


def foreign(
    text: str, places: Sequence[tuple[int, int]], why: dict[int, str], known: str
) -> list[tuple[int, int, str]]:
    """The words in scripts that are not expected: not Latin, and not that of what stands beside the text."""
    if not NOT_LATIN.search(text):
        return []
    expected = scripts(known)
    return [
        (start, end, "another script")
        for number, (start, end) in enumerate(places)
        if number not in why and not scripts(text[start:end]) <= expected
    ]


def scripts(text: str) -> frozenset[str]:
    """The scripts other than Latin that the text has letters of, by the first word of their Unicode names."""
    return frozenset(script_of(letter) for letter in set(NOT_LATIN.findall(text)))


@lru_cache(maxsize=4096)
def script_of(letter: str) -> str:
    name = unicodedata.name(letter, "unnamed").split()[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO") else name  # one text mixes them


def join(text: str, pieces: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Neighbouring pieces of one kind, with what stands between them, as one."""
    joined: list[tuple[int, int, str]] = []
    for start, end, reason in pieces:
        if joined and joined[-1][2] == reason and not WORD.search(text, joined[-1][1], start):
            joined[-1] = (joined[-1][0], end, reason)
        else:
            joined.append((max(start, joined[-1][1] if joined else 0), end, reason))
    return [piece for piece in joined if piece[0] < piece[1]]


def charge_filler(
    verdict: Verdict, text: str, filler: Filler, charged: Callable[[dict[str, float], float], dict[str, float]]
) -> Verdict:
    """The verdict with its score, credits and parts less the share of filler, and a span on every piece of it.

    charged(parts, kept): the metric's parts when the share `kept` of the text is no filler.
    """
    if verdict.status is not Status.OK or verdict.score is None:
        return verdict
    kept = 1 - filler.share
    first = max((span.component for span in verdict.spans), default=-1) + 1
    spans = [replace(span, credit=span.credit * kept) for span in verdict.spans] if filler.pieces else verdict.spans
    costs = [
        Span(start, end, 0.0, -verdict.score * (end - start) / len(text), FILLER, reason, first + number)
        for number, (start, end, reason) in enumerate(filler.pieces)
    ]
    parts = {**charged(verdict.parts, kept), FILLER: filler.share}
    return replace(verdict, score=verdict.score * kept, parts=parts, spans=(*spans, *costs))
