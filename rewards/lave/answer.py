"""Finds the answer in what a model wrote, for LAVE and for the metrics that LAVE is compared with.

    find_answer("It has four legs. **Answer:** a dog.")       # (30, 35): "a dog"
    find_answer("(B) that one", ["B"] * 10)  # (1, 2): people answered with a letter

It is what the text announces (announced.py), or else the whole of a text of at most SHORT
characters, or the first sentence or line. Of "It is a dog." it is the predicate. Reasoning,
comments, markup, quotes, end-of-turn tokens and the last punctuation do not belong to it. Only one
answer counts: what takes it back, doubts it or adds another stays whole.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from spanreward.rewards.judges.match.answer_pieces import (
    DENYING,
    EVASIVE,
    NO,
    YES,
    asserted,
    pieces_of,
)
from spanreward.rewards.judges.match.binary_answer import binary_answer
from spanreward.rewards.judges.match.rate_answer import denies_all
from spanreward.rewards.language.answer_tokens import comparable_form, plain_answer, tokens_of
from spanreward.rewards.language.numbers import NUMBER_WORDS
from spanreward.rewards.language.words import HEDGES, word_set
from spanreward.rewards.lave.announced import announced
from spanreward.rewards.lave.options import LETTERS, named_option, only, options_of
from spanreward.rewards.text.shown import blanked

SHORT = 160  # characters
NESTED = 6  # marks around an answer, one inside the other
LISTED = 3  # words; fewer behind a sentence are an item of a list
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|~~(?=\S).*?~~", re.DOTALL)
_SIGNS = (  # punctuation, quotation marks and pictures beside ASCII's
    "\u00a1\u00ab\u00bb\u00bf\u2016-\u2027\u2039-\u2043\u2045-\u2051\u2053-\u205e\u3000-\u3003\u3008-\u3011"
    "\u3014-\u301f\u3030\uff01\uff02\uff07-\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\ufe0f\U0001f000-\U0001faff"
)
_DASHES = "\u2010-\u2015"
_BULLETS = "\u25a0-\u27bf\u2b00-\u2bff"
_END = re.compile(r"(?<!\b[A-Z])(?<!\b[A-Z][a-z])[.!?](?=\s)|(?=[\n\r])")
_LEAD = re.compile(
    rf"(?:\s+|```\w*\n|[*_`:|{_SIGNS}]+|~+(?!\d)|[{_DASHES}]+(?![\d.])|[{_BULLETS}]\ufe0f?(?=\s)"
    r"|(?i:assistant|model|bot):|(?:[#\u2022-]|>(?!\s*[.\d]))+\s|\\[(\[]|<[^<>\s]{1,40}>)*"
)
# of the text backwards
_TAIL = re.compile(rf"(?:\s+|[*_`~.,;:!|{_SIGNS}]+|[{_DASHES}]+(?!\w)|[)\]]\\|>[^<>\s]{{1,40}}<)*")
_NAMED = re.compile(r"(?<!\w)\w{1,2}\*\W*\Z")  # the only star, which belongs to a name
_NO_SIGNS = frozenset("`~|^\"'.,;:!*_(){}[]\u2026")  # punctuation and markup, alone no answer
_WRAPPED = re.compile(
    r"(?:\\(?:text|math|mbox)[a-z]*\s*\{([^{}]*)\}|\"((?:[^\"\\]|\\.)*)\"|'((?:[^']|(?<=\w)'(?=\w))*)'"
    r"|\(([^()]*)\)|\[([^\[\]]*)\]|\{([^{}]*)\}|\$([^$]*)\$)\Z",
    re.DOTALL,
)
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_FRAME = re.compile(
    r"([\w ,'\u2019-]{1,80}?)(?:['\u2019](?:s|re)"
    r"|\b(?:is|are|was|were|shows?|see|looks like|(?:appear|seem)s? to be))"
    r"\s+(?:an? (?:image|picture|photo)\w* of )?",
    re.IGNORECASE,
)
_SUBJECT = word_set(
    "it this that these those there they he she the a an in of on at to i you we can think believe "
    "image picture photo"
)
_NUMBER_WORD = rf"(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
_NUMBER = rf"(?:[-\u2212]?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?|(?i:{_NUMBER_WORD}(?:(?:-| (?:and )?){_NUMBER_WORD}){{0,9}})(?!\w))"
BINARY, LETTER, COUNTED = "yes|no", "[a-z]", r"-?\d+(?:\.\d+)?"
_KINDS = {  # of people's answers, with the ways in which a text says one, the surest first
    BINARY: (
        r"\A(?i:yes|no)(?=\W*\Z|[\s*_`\"']*[,.;:!\n\u2013\u2014-]|\s+(?i:it|the|there|this|that|they|he|she|i)\b)",
    ),
    LETTER: LETTERS,
    COUNTED: (rf"\A{_NUMBER}(?![\w%/:]|[.,-]\d| (?i:{_NUMBER_WORD})\b|[^\0]*\b{_NUMBER}\b)",),
}
_WHY = word_set("explanation reason reasoning rationale because since as note")
_DOUBTS = EVASIVE | HEDGES | {"or"}


def find_answer(text: str, answers: Sequence[str] = ()) -> tuple[int, int]:
    """Returns the answer's characters [start, end) in the text as written; start == end if it holds
    none.

    answers: people's, of which only the kind counts: letters, numbers, or yes and no. Time is
    linear in the length.
    """
    read = _HIDDEN.sub(lambda found: " " * len(found[0]), blanked(text))
    place = announced(read)
    start, end = trimmed(read, *(place or (0, len(read))))
    if place is None and end - start > SHORT and (sentence := _END.search(read, start, end)):
        end = sentence.end()
    kind = kind_of(answers)
    predicate = trimmed(read, *_predicate(read, start, end, place is not None))
    for begin, finish in (predicate, (start, end)):
        if said := _of_kind(read[begin:finish], kind):
            return begin + said[0], begin + said[1]
    if kind == BINARY and answers:  # a claim says yes or no as a whole sentence
        return trimmed(read, start, end)
    return predicate


def answer_in(
    text: str, answers: Sequence[str], question: str = "", columns: Mapping[str, Any] | None = None
) -> str:
    """Returns the answer in the text as `comparable` has it, "" if it holds none. A claim that
    answers the question is "yes" or "no", and one that denies what is counted "0".
    """
    start, end = find_answer(text, answers)
    answer = text[start:end]
    kind = kind_of(answers)
    options = options_for(answers, question, columns or {})
    if label := named_option(answer, options, question) if options else "":
        return comparable_option(label)
    if kind in (BINARY, COUNTED):
        asked = set(tokens_of(question))
        pieces = pieces_of(plain_answer(answer), asked)
        if kind == BINARY and answers:
            said, _ = binary_answer(question, pieces)
            return said or comparable(answer)
        if kind == COUNTED and denies_all(pieces, question):
            return "0"
    return comparable(answer)


def comparable_answers(
    answers: Sequence[str], question: str = "", columns: Mapping[str, Any] | None = None
) -> list[str]:
    """Returns people's answers in the form of `answer_in`."""
    options = options_for(answers, question, columns or {})
    labels = [named_option(answer, options) if options else "" for answer in answers]
    pairs = zip(answers, labels, strict=True)
    return [comparable_option(label) if label else comparable(answer) for answer, label in pairs]


def options_for(
    answers: Sequence[str], question: str, columns: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the options of the question, empty where most of people's answers name none."""
    options = options_of(question, columns)
    named = [answer for answer in answers if options and named_option(answer, options)]
    return options if 2 * len(named) > len(answers) else {}


def comparable_option(label: str) -> str:
    return f"({label.lower()})"


def kind_of(answers: Sequence[str]) -> str:
    """Returns the kind of most of people's answers, "" if they have none; BINARY without answers."""
    forms = [comparable(answer) for answer in answers] or ["yes"]
    for kind in _KINDS:
        if 2 * sum(re.fullmatch(kind, form) is not None for form in forms) > len(forms):
            return kind
    return ""


def comparable(answer: str) -> str:
    """Returns an answer without markup as VQA's evaluation compares it, but with the signs that
    tell answers apart (`comparable_form`), or in lower case if that is empty ("A").
    """
    start, end = trimmed(answer, 0, len(answer))
    plain = plain_answer(answer[start:end])
    return comparable_form(plain) or plain.lower()


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns the characters without the white space, markup, quotes, tags and final punctuation
    around them. Signs alone are an answer.
    """
    whole = text[start:end]
    if whole.count("*") == 1 and _NAMED.search(whole):
        text = text.replace("*", "x")
    first = start, end
    for _ in range(NESTED):
        start = end - len(_LEAD.sub("", text[start:end], count=1))
        end = start + len(_TAIL.sub("", text[start:end][::-1], count=1))
        wrapped = _WRAPPED.match(text, start, end)
        if not wrapped:
            break
        start, end = wrapped.span(wrapped.lastindex or 0)
    if start == end and _is_signs(whole):
        start = first[0] + len(whole) - len(whole.lstrip())
        end = first[0] + len(whole.rstrip())
    return start, end


def _is_signs(text: str) -> bool:
    """Whether a text has no letters and digits, and more than punctuation."""
    signs = False
    for character in text:
        if character.isalnum():
            return False
        category = unicodedata.category(character)
        signs = signs or (category[0] in "PS" and character not in _NO_SIGNS)
    return signs


def _of_kind(said: str, kind: str) -> tuple[int, int] | None:
    """Returns the characters of the one letter, number, yes or no that is said."""
    text = said
    if kind == LETTER:  # "D. A is wrong." says D alone
        text = only(said, asserted(pieces_of(said, ())))
    for sign in _KINDS.get(kind, ()):
        found = list(re.finditer(sign, text))
        if not found:
            continue
        if len({comparable(match[0]) for match in found}) > 1:
            return None
        word = found[0][0].lower()
        against = set() if kind == LETTER else DENYING
        if word == "no":
            against = YES
        doubted = not _DOUBTS.union(against).isdisjoint({*_words(text)} - {word})
        return None if doubted else found[0].span()
    return None


def _predicate(text: str, start: int, end: int, sure: bool) -> tuple[int, int]:
    """Returns the predicate of the first sentence, or the sentence. All stays where what follows
    adds an answer: it is too short for a sentence, denies or doubts, or says "It is" again and
    nothing is announced (`sure`).
    """
    stop = _END.search(text, start, end)
    first = stop.end() if stop else end
    rest = _words(text[first:end])
    frame = _framed(text, start, first)
    alone = (
        sure
        or _WHY.issuperset(rest[:1])
        or (frame and _words(text[start:frame])[0] != "there" and not _framed(text, first + 1, end))
    )
    if rest and (len(rest) < LISTED or not alone or not _DOUBTS.union(DENYING).isdisjoint(rest)):
        return start, end
    return frame or start, first


def _framed(text: str, start: int, end: int) -> int | None:
    """Returns where the predicate of a sentence such as "It is a dog" begins, None if it is none or
    a denial.
    """
    frame = _FRAME.match(text, start, end)
    said = _words(text[frame.end() : end]) if frame else []
    return (
        frame.end()
        if frame and said and said[0] not in NO and _SUBJECT.issuperset(_words(frame[1]))
        else None
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
