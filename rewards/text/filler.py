"""Finds filler: the words of a text that have no content. Every metric penalises filler in mode
"default".

    text = "A red circle. in in in in in in in in"
    found = find_filler(text, beside_text="A red circle at the top.")
    found.share                         # 0.61: of the text's characters
    found.pieces                        # ((14, 37, "a phrase over and over"),)

In mode "default" the score is metric x (1 - share of characters that are filler). docs/filler.md
lists the kinds of filler. The limits below were set on texts by people (docs/evidence/filler.md).
The function words are English.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from spacy.lang.en.stop_words import STOP_WORDS

from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.text.length import shrink_parts
from spanreward.rewards.text.written import read_text

FILLER_PART = "filler"  # the name of the verdict's part, and the kind of the spans
DEGENERATE_SHARE = 0.1  # a completion with a larger share of filler is called degenerate
LOOP_WORDS = 6  # a repeated phrase is filler from this many repeated words in a row on
COPIED_WORDS = 17  # so many words in a row that are a copy of earlier words are filler
WINDOW_WORDS = 16  # a window of 16 words with at most FEW_WORDS different words ends in filler
FEW_WORDS = 5
FUNCTION_WORD_RUN = 6  # function words in a row; further function words are filler
UNSTATED_WORDS = 9  # words in a row outside what the metric asks about; further words are filler
QUOTED_WORDS = 6  # a quotation of at most so many words, such as a street sign, may repeat words
SLIP_DISTANCE = 20  # two slips of grammar at most so many words apart: all words between are filler
MOST_SIGNS = 8  # characters in a row without a letter or digit; further characters are filler
MOST_LETTERS = 30  # a word of more letters is filler
PHRASE_WORDS = 16  # longest phrase for "words just said"; COPIED_WORDS finds longer copies

# spaCy's stop words that are no function words here: parts of a picture, and numbers
CONTENT_STOP_WORDS = """
top bottom front back side part amount name move full empty call first third last next
one two three four
five six eight nine ten eleven twelve fifteen twenty forty fifty sixty hundred"""
FUNCTION_WORDS = frozenset(STOP_WORDS) - frozenset(CONTENT_STOP_WORDS.split())
_DANGLING_WORDS = "a an the and or of its their my your every"
DANGLING_WORDS = frozenset(_DANGLING_WORDS.split())  # a finished text never ends with such a word
FILLER_ARTICLES = ("a", "an", "the")
FILLER_CONJUNCTIONS = ("and", "or")
OPENING_WORDS = frozenset((*FILLER_ARTICLES, *FILLER_CONJUNCTIONS))
_SMALL_WORDS = "a an the and or of in at on to by for with from is are was were be it there its"
NO_NOUN = frozenset(_SMALL_WORDS.split())
FORMS_OF_BE = frozenset(("is", "are", "was", "were"))
_PREPOSITIONS = ("in", "of", "at", "on", "to", "by", "for", "with")
# for each small word, the words that cannot follow the small word: "the is", "and or", "of is"
NOT_AFTER = {
    **dict.fromkeys(FILLER_ARTICLES, NO_NOUN),
    **dict.fromkeys(FILLER_CONJUNCTIONS, frozenset(FILLER_CONJUNCTIONS)),
    **dict.fromkeys((*_PREPOSITIONS, *FORMS_OF_BE), FORMS_OF_BE),
}
SIGNS_THAT_STOP = frozenset((*".!?,;:", ""))  # "" follows the text's last word
FILLER_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
NO_WORDS = re.compile(r"[\W_]+")
# A repeated phrase with one of these words may name a second thing: "a red circle, a red circle".
_FURTHER_WORDS = (
    "a an another other some several many more few both each one two three four five six seven "
    "eight nine ten"
)
FURTHER_WORDS = frozenset(_FURTHER_WORDS.split())
# a sign that ends a phrase; a phrase may contain the signs in the brackets, such as a comma
DIVIDING_SIGN = re.compile(r"[^ \t,\"'()\u2018\u2019\u201c\u201d-]")
# the line below the head of a Markdown table
TABLE_LINE = re.compile(r"[ |]*\n[ |:-]{1,80}\n[ |]*")
# a short quotation; `find_filler` uses the first match only
SHORT_QUOTATION = re.compile(
    rf"[\"\u201c]\W{{0,3}}(?:\w+\b\W{{0,3}}){{1,{QUOTED_WORDS}}}?(?<=[\"\u201d])"
)
SENTENCE_END = re.compile(r"[.!?](?=\s)")
ENDED_TEXT = re.compile(r"[.!?:\u2026]['\"\u201d\u2019)\]*]*\s*\Z")
ABBREVIATION = re.compile(r"a\.|\w+\.\w", re.IGNORECASE)  # "7 a.m.", "George A. Robertson"
NOT_LATIN = re.compile(r"[^\W\d_\x00-\u024f\u1e00-\u1eff\u2070-\u209f]")
NO_ENGLISH = re.compile(  # letter pairs, and runs of consonants, that English words do not have
    r"q[bcdefghjklmnoprstvwxyz]|j[bcdfghjklmnpqrstvwxz]|v[bcdfghjmnpqtwxz]|z[bcdfgjkmnpqrsvx]|x[bdgjkmnrvxz]"
    r"|[bcdfghjkmpqstvwz]x|[fgjkmpqvxz]q|[cfghjkmpqstvwxz]j|[bcdfghjklmnpqrstvwxz]{6}"
)


@dataclass(frozen=True, slots=True)
class Filler:
    """The filler of a text.

    share: characters of filler / characters of the text, in [0, 1]. pieces: the places of the
    filler as (start, end, kind), sorted and disjoint, such as (14, 37, "a phrase over and over").
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

    beside_text: the prompt, references and question as one text. A word or a script of this text
    is not filler for being foreign.
    stated: the characters [start, end) that the metric asks about, or None if the metric has no
    such places.
    misplaced: the characters [start, end) of words in a place where grammar forbids the words.
    ends: whether an unfinished end counts as filler.
    """
    if not text:
        return Filler()
    matches = list(FILLER_WORD.finditer(text))
    places = [match.span() for match in matches]
    words = [match.group().casefold() for match in matches]
    are_function_words = [word in FUNCTION_WORDS for word in words]
    stating_nothing = _numbers_past_run(are_function_words, FUNCTION_WORD_RUN)
    if stated is not None:
        stating_nothing += _unstated_words(text, places, stated)
    # the words of each kind, by their numbers in the text
    numbers_by_kind = {
        "a phrase over and over": [*_looping_words(words), *_words_of_few_kinds(words)],
        "words just said": _words_just_said(text, places, words, beside_text),
        "words in no order": _disordered_words(text, places, words, misplaced),
        "words that state nothing": stating_nothing,
        "no words": _words_of_no_language(words, beside_text),
        "an unfinished end": _unfinished_word(text, places, words) if ends else [],
    }
    pieces = _pieces_of_words(text, places, numbers_by_kind) + _pieces_of_signs(text)
    joined = _joined_neighbours(text, sorted(pieces))
    length = sum(end - start for start, end, _ in joined)
    return Filler(length / len(text), tuple(joined))


def _pieces_of_words(
    text: str, places: Sequence[tuple[int, int]], numbers_by_kind: Mapping[str, Iterable[int]]
) -> list[tuple[int, int, str]]:
    """Returns the (start, end, kind) of each word that is filler: (8, 13, "words just said") for
    the second "large" of "A large large square." Words within a short quotation are left out,
    because a street sign may read "stop stop stop".

    places: the characters [start, end) of each word of the text.
    numbers_by_kind: the numbers of the words of each kind. A word of several kinds gets the first.
    """
    quote = SHORT_QUOTATION.search(text)
    kinds: dict[int, str] = {}  # by number of the word
    for kind, numbers in numbers_by_kind.items():
        for number in numbers:
            kinds.setdefault(number, kind)
    pieces = []
    for number, kind in kinds.items():
        start, end = places[number]
        is_quoted = quote is not None and quote.start() < start < quote.end()
        if not is_quoted:
            pieces.append((start, end, kind))
    return pieces


def _pieces_of_signs(text: str) -> list[tuple[int, int, str]]:
    """Returns the (start, end, kind) of the signs and white space that are filler. In a run without
    letters and digits, such as "!!!!!!!!!!!!", these are the characters after the first MOST_SIGNS.
    The line below the head of a Markdown table may be longer.
    """
    pieces = []
    for signs in NO_WORDS.finditer(text):
        is_long = len(signs[0]) > MOST_SIGNS
        if is_long and not TABLE_LINE.fullmatch(signs[0]):
            start = signs.start() + MOST_SIGNS
            pieces.append((start, signs.end(), "signs and white space"))
    return pieces


def _words_of_few_kinds(words: Sequence[str]) -> list[int]:
    """Returns the numbers of the words at the end of WINDOW_WORDS words of which at most FEW_WORDS
    are different: of "dog cat dog cat ..." the words from the sixteenth on.
    """
    numbers = []
    for last in range(WINDOW_WORDS - 1, len(words)):
        window = words[last - WINDOW_WORDS + 1 : last + 1]
        if len(set(window)) <= FEW_WORDS:
            numbers.append(last)
    return numbers


def text_beside_completion(sample: Sample) -> str:
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
    """Returns whether more than DEGENERATE_SHARE of the completion is filler."""
    text = read_text(sample.completion).plain
    # an answer to a question need not be a finished sentence
    filler = find_filler(text, text_beside_completion(sample), ends=not sample.answers)
    return filler.share > DEGENERATE_SHARE


def _looping_words(words: Sequence[str]) -> list[int]:
    """Returns the numbers of the words that repeat earlier words over and over: [1, 2, 3] for "dog
    dog dog dog".

    A run is a row of words of which each equals the word `distance` words earlier. In "so and so
    and so and so and" the distance is 2, and the run is all words after the first "so and". A run
    is filler, with all its words, from the length on that `_shortest_loop` returns.
    """
    repeated: list[int] = []
    last: dict[tuple[str, str, str], int] = {}  # number of the last word of each earlier triple
    distance = 0  # words from a word of the run back to the equal earlier word
    run = 0  # length of the run that ends at the current word, 0 without a run
    triples = zip(words, words[1:], words[2:], strict=False)
    # number: the index of the triple's last word
    for number, triple in enumerate(triples, start=2):
        before = last.get(triple)
        last[triple] = number
        if run and words[number - distance] == words[number]:
            run += 1  # the run goes on
        elif before is not None:
            run = 3  # a run begins with the three words of the triple
            distance = number - before
        else:
            run = 0
        shortest = _shortest_loop(distance)
        if run == shortest:
            # with this word the run is long enough, so that its earlier words are filler too
            first_of_run = number - run + 1
            repeated += range(first_of_run, number + 1)
        elif run > shortest:
            repeated.append(number)
    return repeated


def _shortest_loop(distance: int) -> int:
    """Returns the length of the shortest run that is filler, in words (`_looping_words`).

    The run is the words after the first time of the phrase.

    - A single word must occur four times, so its run has three words.
    - A phrase of several words must occur three times and begin a fourth time. So its run has the
      second and the third time and one word. The run also has at least LOOP_WORDS words.
    - A run of COPIED_WORDS words is always long enough.

    distance: the number of words of the repeated phrase: 2 for "so and so and so and so and".
    """
    if distance == 1:
        return 3  # "dog dog dog" after the first "dog"
    second_and_third_time = 2 * distance
    with_begin_of_fourth = second_and_third_time + 1
    return min(max(with_begin_of_fourth, LOOP_WORDS), COPIED_WORDS)


def _words_just_said(
    text: str,
    places: Sequence[tuple[int, int]],
    words: Sequence[str],
    beside_text: str,
) -> list[int]:
    """Returns the numbers of the words that only repeat the words right before them.

    Examples of filler: "a large large square", "in the corner in the corner", "in the corner. In
    the corner." A phrase is no filler if the phrase may name a second thing ("a circle, a circle").
    A phrase is no filler either if a new sentence begins with the phrase and continues ("The bus is
    red. The bus stands still."). People hardly write copies that are filler:
    docs/evidence/filler.md.

    beside_text: the prompt, references and question as one text.
    """
    gap_signs = _gap_signs(text, places)
    doubled_words = _doubled_words(beside_text)
    repeated: list[int] = []
    for start, length in _copied_phrases(words):
        before = gap_signs[start]
        behind = gap_signs[start + length]
        if length == 1:
            word = words[start]
            first_letter = text[places[start][0]]
            is_proper_name = first_letter.isupper() and word not in beside_text  # "Duran Duran"
            may_double = is_proper_name or word in doubled_words or word.isdigit()
            is_filler = before in (" ", ",") and not may_double
        else:
            copy = words[start : start + length]
            adds_nothing = _copy_adds_nothing(copy, before, behind)
            is_filler = adds_nothing and not _is_chain(words, start, length)
        if is_filler:
            repeated += range(start, start + length)
    return repeated


def _copied_phrases(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields (start, length) of each phrase that is a copy of the words right before it: (3, 3) for
    the second "in the corner" of "in the corner in the corner". Both numbers count words.

    Phrases of function words alone, such as "that" of "that that", are left out.
    """
    for start in range(1, len(words)):
        longest = min(PHRASE_WORDS, start, len(words) - start)
        for length in range(1, longest + 1):
            # compare the last words first: nearly always the last words differ, which is fast
            if words[start - 1] != words[start + length - 1]:
                continue
            copy = words[start : start + length]
            is_copy = words[start - length : start] == copy
            if is_copy and not FUNCTION_WORDS.issuperset(copy):
                yield start, length


def _copy_adds_nothing(copy: Sequence[str], before: str, behind: str) -> bool:
    """Returns whether the copy of a phrase adds nothing: the second "in the corner" of "in the
    corner in the corner".

    copy: the words. before, behind: the gap signs before and after the copy (`_gap_signs`).
    """
    # "a circle, a circle" may name two circles
    if not FURTHER_WORDS.isdisjoint(copy):
        return False
    # with white space alone between, the copy begins nothing new: "in the corner in the corner"
    if before == " ":
        return True
    # a copy between commas adds nothing: "in the corner, in the corner, a cat"
    if before == "," and behind == ",":
        return True
    # the copy must end its clause; "On the table, there is a cat." goes on after a first "on the
    # table."
    return behind == "."


def _is_chain(words: Sequence[str], start: int, length: int) -> bool:
    """Whether two words and their copy at `start` are part of a chain: "row after row after row".

    length: the number of words of the phrase. Only a phrase of two words can be part of a chain.
    """
    if length != 2:
        return False
    first_word, last_word = words[start], words[start + 1]
    phrase_start = start - length
    copy_end = start + length
    # "after" before the phrase and its copy: "after [row after] [row after]"
    continues_before = phrase_start > 0 and words[phrase_start - 1] == last_word
    # "row" behind the phrase and its copy: "[row after] [row after] row"
    continues_behind = copy_end < len(words) and words[copy_end] == first_word
    return continues_before or continues_behind


def _gap_signs(text: str, places: Sequence[tuple[int, int]]) -> list[str]:
    """Returns a sign for the gap before each word, and a sign for the gap after the last word:
    `"A cat, red."` gives `[".", " ", ",", "."]`.

    "." is the start or the end of the text, the end of a clause, or a sign as in "2+2". "," is a
    sign within a clause. " " is white space alone.
    """
    gap_signs = ["."]
    for (_, end), (start, _) in pairwise(places):
        between = text[end:start]
        if DIVIDING_SIGN.search(between):
            gap_signs.append(".")
        elif between.isspace():
            gap_signs.append(" ")
        else:
            gap_signs.append(",")
    gap_signs.append(".")
    return gap_signs


def _doubled_words(beside_text: str) -> set[str]:
    """Returns the words that occur twice in a row in `beside_text`: "tuk" of "a tuk tuk"."""
    words = FILLER_WORD.findall(beside_text.casefold())
    return {word for word, following in pairwise(words) if word == following}


def _misused_small_words(
    text: str,
    places: Sequence[tuple[int, int]],
    words: Sequence[str],
) -> list[int]:
    """Returns the numbers of the small words before a word or sign that cannot follow them.

    Examples: "the" in "the is", and "and" in "a cat and."
    """
    misused = []
    following_words = [*words[1:], ""]
    for number, word in enumerate(words):
        if word not in NOT_AFTER:
            continue
        start, end = places[number]
        following = following_words[number]
        if text[end : end + 1] in SIGNS_THAT_STOP:
            # "the." and "and," are wrong, "a.m." is not
            is_wrong = word in OPENING_WORDS and not ABBREVIATION.match(text, start)
        else:
            # the same word twice ("and and") counts as "words just said" instead
            is_wrong = following != word and following in NOT_AFTER[word]
        if is_wrong:
            misused.append(number)
    return misused


def _unstated_words(
    text: str,
    places: Sequence[tuple[int, int]],
    stated: Collection[tuple[int, int]],
) -> list[int]:
    """Returns the numbers of the words that follow UNSTATED_WORDS unstated words in a row.

    A word is unstated if no character of the word is in a range of `stated`. places: the characters
    [start, end) of each word. stated: the characters [start, end) that the metric asks about.
    """
    inside = bytearray(len(text))  # 1 for each character that is stated
    for start, end in stated:
        inside[start:end] = b"\1" * (end - start)
    are_outside = [not any(inside[start:end]) for start, end in places]
    return _numbers_past_run(are_outside, UNSTATED_WORDS)


def _numbers_past_run(marked: Iterable[bool], most: int) -> list[int]:
    """Returns the numbers of the marked entries that come after the first `most` entries of a run
    of marked entries: `[True, True, True, False]` with most 2 gives `[2]`.
    """
    past_run = []
    run = 0
    for number, mark in enumerate(marked):
        run = run + 1 if mark else 0
        if run > most:
            past_run.append(number)
    return past_run


def _disordered_words(
    text: str,
    places: Sequence[tuple[int, int]],
    words: Sequence[str],
    misplaced: Sequence[tuple[int, int]],
) -> list[int]:
    """Returns the numbers of the words that are in no order, as in "the is cat and".

    A slip is a misused small word or a misplaced word. The misused small words are in no order,
    except the first of the text. Two slips that are at most SLIP_DISTANCE words apart are in no
    order, with all words between them.
    """
    misused = _misused_small_words(text, places, words)
    # each slip as the numbers [first, end) of its words
    slips = [(number, number + 1) for number in misused]
    starts_of_words = [start for start, _ in places]
    for start, end in misplaced:
        # the words that begin within the characters [start, end)
        first = bisect_left(starts_of_words, start)
        slips.append((first, bisect_left(starts_of_words, end)))
    slips.sort()
    # the first misused word is spared: people make such a mistake once
    disordered = set(misused[1:])
    for (first_start, first_end), (second_start, second_end) in pairwise(slips):
        are_apart = first_end <= second_start
        if are_apart and second_start - first_start <= SLIP_DISTANCE:
            disordered.update(range(first_start, second_end))
    return sorted(disordered)


def _words_of_no_language(words: Sequence[str], beside_text: str) -> list[int]:
    """Returns the numbers of the words that are neither English nor in `beside_text`.

    A word is foreign if it is too long, or if its script is another than Latin and `beside_text`
    has Latin letters alone (`_is_foreign`). Every occurrence of a foreign word is returned.

    A word is strange if it has a letter combination that English does not have, such as "qx". Only
    the first occurrence of a strange word is returned, and only from the third strange word on.
    """
    named = set(FILLER_WORD.findall(beside_text.casefold()))
    expects_latin = not NOT_LATIN.search(beside_text)
    # the number of the first occurrence of each word that `beside_text` does not have
    first_numbers: dict[str, int] = {}
    for number, word in enumerate(words):
        if word not in named:
            first_numbers.setdefault(word, number)
    strange_numbers: list[int] = []
    foreign_words: set[str] = set()
    for word, number in first_numbers.items():
        if NO_ENGLISH.search(word):
            strange_numbers.append(number)
        if _is_foreign(word, expects_latin):
            foreign_words.add(word)
    foreign_numbers = [number for number, word in enumerate(words) if word in foreign_words]
    # the first two strange words may be names
    return sorted(strange_numbers)[2:] + foreign_numbers


def _is_foreign(word: str, expects_latin: bool) -> bool:
    """Whether a word has more than MOST_LETTERS letters, or is of another script than Latin ("的")
    where only Latin is expected. A single Greek letter, as in a formula, is not foreign.

    expects_latin: whether prompt, references and question of the row have Latin letters alone.
    """
    if not NOT_LATIN.search(word):
        return len(word) > MOST_LETTERS
    # a single Greek letter is a sign of a formula
    is_sign = len(word) == 1 and "\u0370" <= word <= "\u03ff"
    return expects_latin and not is_sign


def _unfinished_word(
    text: str, places: Sequence[tuple[int, int]], words: Sequence[str]
) -> list[int]:
    """Returns the number of the last word in a list if the last sentence breaks off, else [].

    "A dog and the" breaks off at "the". "A dog runs. A cat" breaks off because the first sentence
    has a full stop and the last sentence has none.
    """
    if not words:
        return []
    last = len(words) - 1
    start, end = places[last]
    if words[last] in DANGLING_WORDS:
        return [last]
    # a text of one sentence, such as a caption, may have no full stop
    has_sentence = SENTENCE_END.search(text, 0, start)
    if has_sentence and not ENDED_TEXT.search(text, end):
        return [last]
    return []


def _joined_neighbours(
    text: str, pieces: Sequence[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    """Returns the pieces without overlaps, with neighbours of the same kind joined: the two pieces
    of "so so" become one.

    pieces: sorted (start, end, kind). Neighbours have no word between them.
    """
    joined: list[tuple[int, int, str]] = []
    for start, end, reason in pieces:
        if not joined:
            joined.append((start, end, reason))
            continue
        last_start, last_end, last_reason = joined[-1]
        if last_reason == reason and not FILLER_WORD.search(text, last_end, start):
            joined[-1] = (last_start, end, reason)
        else:
            # start after the last piece, so that no character counts twice
            joined.append((max(start, last_end), end, reason))
    return [(start, end, reason) for start, end, reason in joined if start < end]


def penalise_filler(
    verdict: Verdict,
    length: float,
    filler: Filler,
    lowest: Mapping[str, float],
) -> Verdict:
    """Returns the verdict with score, credits and parts reduced by the share of filler.

    Each piece of filler becomes a span of score 0, whose credit is the cost of the piece. A verdict
    without a score is returned unchanged.

    length: the number of characters of which the filler is a share, usually of the whole text.
    lowest: the parts that shrink with the score, with the lowest value of each part, such as 1 for
    ratings from 1 to 5. If the verdict was penalised for filler before, the two penalties multiply.
    For example, shares of 0.5 and then of 0.2 leave 0.5 x 0.8 = 0.4 of the score.
    """
    if verdict.status is not Status.OK or verdict.score is None:
        return verdict
    share_left = 1 - filler.share
    spans = verdict.spans
    if filler.pieces:
        # each piece is a new component, numbered after the components of the metric
        first = max((span.component for span in verdict.spans), default=-1) + 1
        kept = [replace(span, credit=span.credit * share_left) for span in verdict.spans]
        spans = (*kept, *_spans_of_filler(filler, verdict.score, length, first))
    share = filler.share
    # with an earlier penalty, the part "filler" is the share that both penalties remove together
    if FILLER_PART in verdict.parts:
        share = 1 - (1 - verdict.parts[FILLER_PART]) * share_left
    parts = shrink_parts(verdict.parts, share_left, lowest)
    parts[FILLER_PART] = share
    score = verdict.score * share_left
    return replace(verdict, score=score, parts=parts, spans=spans)


def _spans_of_filler(filler: Filler, score: float, length: float, first: int) -> list[Span]:
    """Returns a span for each piece of filler. Its credit is the cost of the piece: the score times
    the share of the piece in the text.

    score: the score without the penalty. length: the number of characters of which the filler is a
    share. first: the number of the first piece's component.
    """
    spans = []
    for component, (start, end, reason) in enumerate(filler.pieces, start=first):
        cost = -score * (end - start) / length
        spans.append(Span(start, end, 0.0, cost, FILLER_PART, reason, component))
    return spans
