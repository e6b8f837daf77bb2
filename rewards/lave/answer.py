"""Finds the answer in what a model wrote, for LAVE and for the metrics that LAVE is compared with.

    find_answer("It has four legs. **Answer:** a dog.")       # (30, 35): "a dog"
    find_answer("(B) that one", ["B"] * 10)  # (1, 2): people answered with a letter

It is what the text announces (announced.py), or else the whole of a text of at most SHORT
characters, or the first sentence or line. Of "It is a dog." it is the predicate. Reasoning,
comments, markup, quotes, end-of-turn tokens and the last punctuation do not belong to it. Only one
answer counts: what takes it back, doubts it or adds another stays whole.
"""

import re
from collections.abc import Sequence

from spanreward.rewards.judges.match.answer_pieces import DENYING, EVASIVE, NO, YES
from spanreward.rewards.language.answer_text import normalise
from spanreward.rewards.language.words import DIGITS, HEDGES, word_set
from spanreward.rewards.lave.announced import announced
from spanreward.rewards.text.plain_text import plain_text
from spanreward.rewards.text.shown import blanked

SHORT = 160  # characters
NESTED = 6  # marks around an answer, one inside the other
LISTED = 3  # words; fewer behind a sentence are an item of a list
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|~~(?=\S).*?~~", re.DOTALL)
_SIGNS = (  # marks and pictures beside ASCII's
    "\u00a1\u00ab\u00bb\u00bf\u2010-\u205e\u2190-\u2bff\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\ufe0f\U0001f000-\U0001faff"
)
_END = re.compile(r"(?<!\b[A-Z])(?<!\b[A-Z][a-z])[.!?](?=\s)|(?=[\n\r])")
_LEAD = re.compile(
    rf"(?:\s+|```\w*\n|[*_`~:|{_SIGNS}]+|(?i:assistant|model|bot):|[#>\u2022\u2013-]+\s|\\[(\[]|<[^<>\s]{{1,40}}>)*"
)
# of the text backwards
_TAIL = re.compile(rf"(?:\s+|[*_`~.,;:!|{_SIGNS}]+|[)\]]\\|>[^<>\s]{{1,40}}<)*")
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
_LETTER, _I = r"(?<![\w'\u2019])", r"(?=\W*\Z|\s*[,\n])"  # "A" and "I" alone are words
_NUMBER = rf"(?:\d+|(?i:{'|'.join(DIGITS)}))"
_KINDS = {  # of people's answers, with the ways in which a text says one, the surest first
    "yes|no": (
        r"\A(?i:yes|no)(?=\W*\Z|[\s*_`\"']*[,.;:!\n\u2013\u2014-]|\s+(?i:it|the|there|this|that|they|he|she|i)\b)",
    ),
    "[a-z]": (
        rf"(?<=\()[A-Za-z](?=\))|{_LETTER}[A-Z](?=[).:\]])|\A[a-z](?=\W*\Z|[).:])",
        rf"{_LETTER}(?:[B-HJ-Z](?![\w'\u2019])|[AI]{_I}"
        rf"|(?<=[Oo]ption )[AI]\b|(?<=[Cc]hoice )[AI]\b)",
    ),
    r"\d+": (rf"\A{_NUMBER}(?![\w%/:]|[.,-]\d| (?:hundred|thousand|million)|[^\0]*\b{_NUMBER}\b)",),
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
    predicate = trimmed(read, *_predicate(read, start, end, place is not None))
    for begin, finish in (predicate, (start, end)):
        if said := _of_kind(read[begin:finish], answers):
            return begin + said[0], begin + said[1]
    return predicate


def answer_in(text: str, answers: Sequence[str]) -> str:
    """Returns the answer in the text as `comparable` has it, "" if it holds none."""
    start, end = find_answer(text, answers)
    return comparable(text[start:end])


def comparable(answer: str) -> str:
    """Returns an answer without markup as VQA's evaluation compares it, or in lower case if that is
    empty ("A").
    """
    start, end = trimmed(answer, 0, len(answer))
    plain, _ = plain_text(answer[start:end])
    return normalise(plain) or plain.lower()


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns the characters without the white space, markup, quotes, tags and final punctuation
    around them.
    """
    for _ in range(NESTED):
        start = end - len(_LEAD.sub("", text[start:end], count=1))
        end = start + len(_TAIL.sub("", text[start:end][::-1], count=1))
        wrapped = _WRAPPED.match(text, start, end)
        if not wrapped:
            break
        start, end = wrapped.span(wrapped.lastindex or 0)
    return start, end


def _of_kind(said: str, answers: Sequence[str]) -> tuple[int, int] | None:
    """Returns the characters of the one letter, number, yes or no that is said, where most of the
    answers are such.
    """
    forms = [comparable(answer) for answer in answers] or ["yes"]
    for kind, signs in _KINDS.items():
        if 2 * sum(re.fullmatch(kind, form) is not None for form in forms) > len(forms):
            found = next(filter(None, (list(re.finditer(sign, said)) for sign in signs)), [])
            if len({comparable(one[0]) for one in found}) == 1:
                word = found[0][0].lower()
                against = YES if word == "no" else DENYING
                return (
                    found[0].span()
                    if _DOUBTS.union(against).isdisjoint({*_words(said)} - {word})
                    else None
                )
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
