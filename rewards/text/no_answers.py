"""What stands in an answer's place and is none: the failure of whoever was asked.

    samples = [Sample("", "litellm.RateLimitError: Error code: 429", references=("A heron.",))]
    no_answers(samples, ["7"])[0].why   # "named like an exception, litellm.RateLimitError"
    failure_in("A heron.")  # "", an answer

Scripts that ask an API write its exception, or one fixed text, where an answer is missing. A metric
reads that as a bad answer. Two marks tell it: the form of an exception, of an HTTP status or of an
error object, and one text for many different rows. Neither counts for a text that says what its row
expects: the picture may show an error message.
"""

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus

import numpy as np

from spanreward.rewards.base.marks import as_numbers, mark_number, mark_numbers
from spanreward.rewards.base.texts import MISSING
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.base.views import View
from spanreward.rewards.text.bag_of_words import STOP_WORDS

LEAST_ROWS = 3  # different rows that one text must answer
SHARE_OF_ROWS = 0.1  # of all rows, which is too many for chance
BLIND_SHARE = 0.2  # likewise, where no row says what is expected
OUTSTANDING = 3  # times as often as any other text is too many too
ALWAYS = 0.9  # a short text for more of the rows is all that a model has learnt to say
SHORT_ANSWER_WORDS = 4  # words of an answer that may come back: yes, B, two boats
NAMED_KINDS = 3  # kinds that a sentence names
SHOWN_CHARACTERS = 100  # characters of each
HEAD_CHARACTERS = 2000  # characters in which a failure names itself
# how Python, pandas, JavaScript, JSON and SQL write that there is no value
NO_VALUE = frozenset((*MISSING, "NULL", "undefined"))
ERROR_KEYS = frozenset(["error", "errors", "exception", "error_message", "error_code"])

# a sign of Chinese, Japanese or Korean counts as a word
_WORD_OR_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
_ONE_WORD = re.compile(r"\w(?:[\w.,:/-]*\w)?[.!]?|\W?\w\W{0,2}")
_TRACEBACK = re.compile(
    r"^[^\w\n]*+Traceback \(most recent call last\)"
    r"|^[^\S\n]*+at [\w.$<>]++ ?\([^()\n]*:\d+(?::\d+)?\)"
    r"|^panic: |^goroutine \d+ \[|^Exception in thread |^[^\w\n]*\[(?:Errno|WinError) -?\d+\]",
    re.MULTILINE,
)
_NAMED_EXCEPTION = (
    re.compile(  # ValueError: ..., <class 'KeyError'>, API failed: openai.APITimeoutError(...)
        r"\A(?:[^\n.!?:]{0,80}:\s*)?\W{0,3}(?:class ')?"
        r"(?P<name>(?:\w{1,40}\.){0,8}(?:_?[A-Z]\w{0,60}?(?:Error|Exception|Timeout|Failure)"
        r"|(?i:error|exception))|(?:\w{1,40}\.){0,6}(?:exceptions?|errors?)\.[A-Z]\w{0,60})"
        r"(?:\W*\Z|['\"]?\s*[:(\[{>])"
    )
)
_SPOKEN = re.compile(  # "API error: ...", "An error occurred while ..."
    r"\A\W{0,3}(?:[\w'-]{1,30} ){0,4}?(?P<name>error|exception)s?"
    r"(?:\s*[:\[({]|[.!](?:\s|\Z)|\s[-\u2013\u2014]\s|\s(?:code\s)?#?\d"
    r"|\s(?:has |have )?occurr?ed\b)",
    re.IGNORECASE,
)
_PHRASES = "|".join(
    status.phrase.replace(" ", r"\s").replace("Timeout", "Time-?out")
    for status in HTTPStatus
    if status >= HTTPStatus.BAD_REQUEST
)
_STATUS = re.compile(  # "429 Too Many Requests", "HTTP 502", "status code 500", "Error code: 429"
    rf"\b(?P<code>[45]\d\d)\b\W{{0,3}}(?i:{_PHRASES})\b"
    r"|(?i:\b(?:http(?:/[\d.]+)?(?: status| error| code)*|status(?: code)?|error code|response))"
    r"\W{1,3}(?P<other>[45]\d\d)\b"
)
_PHRASE = re.compile(rf"\A\W*(?P<phrase>{_PHRASES})\W*\Z", re.IGNORECASE)
_PAGE = re.compile(r"\A\s*(?:<\?xml[^<>]*>\s*)?<(?:!doctype\s+html|html|head)\b", re.IGNORECASE)
_TITLE = re.compile(r"<(?:title|h1)[^<>]*>([^<]{0,200})", re.IGNORECASE)
_CUT_OBJECT = re.compile(
    r"""\A\s*\[?\{\s*["'](?:error|exception)s?["']\s*:\s*(?!null|None|false|False|["']["'])""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """A text that looks like a failure.

    text: as the first of its rows has it. why: what it looks like. rows: the ids of all of them,
    in order.
    """

    text: str
    why: str
    rows: tuple[str, ...]


def no_answers(
    samples: Sequence[Sample], ids: Sequence[str], repeated: bool = True
) -> list[NoAnswer]:
    """Returns the texts that look like failures, those of most rows first; a row has one.

    ids: the samples' names. Both are read several times, and 17 bytes a row are kept.
    repeated: whether one text for many different rows counts. It does not where a model wrote here:
    what it repeats is its own.
    """
    rows_of: dict[str, array[int]] = {}  # by what they look like
    texts = _Texts()
    # first by the form of a text, and for those that have none by how often it comes
    for number, sample in enumerate(samples):
        why = failure_in(sample.completion)
        if not why and is_missing(sample):
            why = "what a table holds in place of no value"
        if why and not is_expected(sample):
            # one exception has many texts: a request's number, a time
            rows_of.setdefault(why, array("Q")).append(number)
        elif sample.completion.strip():
            texts.add(number, sample.completion)
    groups = list(rows_of.items())
    if repeated:
        for numbers, rows in texts.repeated():
            # the rows are read from where they are, and not kept
            of_text = View(samples, numbers, lambda sample: sample)
            if is_repeated(of_text, samples, rows):
                groups.append((f"one text for {len(numbers)} rows that differ", numbers))
    no_answer_texts = []
    for why, numbers in groups:
        names = tuple(ids[number] for number in numbers)
        text = samples[numbers[0]].completion
        no_answer_texts.append(NoAnswer(text, why, names))
    return sorted(no_answer_texts, key=lambda no_answer: -len(no_answer.rows))


class _Texts:
    """Which rows have one text: 17 bytes a row, and no text."""

    def __init__(self) -> None:
        self._numbers = array("Q")  # of the rows
        self._marks = array("Q")  # of their texts: equal for equal texts
        self._long = bytearray()  # whether the text is long

    def add(self, number: int, text: str) -> None:
        """Adds a row. White space does not tell its text from another one."""
        words = " ".join(text.split())
        self._numbers.append(number)
        self._marks.append(mark_number(words))
        self._long.append(is_long(text))

    def repeated(self) -> Iterator[tuple["array[int]", int]]:
        """Yields the rows of each text that LEAST_ROWS of them have, in the order of their first
        ones, and how many have the most frequent long text beside it.
        """
        # sorted by their marks, rows of one text stand together, from `starts` on
        marks = as_numbers(self._marks)
        order = np.argsort(marks, kind="stable")
        _, starts, counts = np.unique(
            marks[order],
            return_index=True,
            return_counts=True,
        )
        firsts = order[starts]
        is_of_long = np.frombuffer(self._long, dtype=bool)[firsts]
        counts_of_long = np.sort(counts[is_of_long])
        most = [1, *counts_of_long[-2:].tolist()]
        for group in np.argsort(firsts).tolist():
            count = int(counts[group])
            if count < LEAST_ROWS:
                continue
            # the most frequent one compares with the second
            other_counts = list(most)
            if is_of_long[group] and count == other_counts[-1]:
                other_counts.pop()
            start = starts[group]
            places = np.sort(order[start : start + count])
            numbers = as_numbers(self._numbers)[places]
            yield array("Q", numbers.tolist()), other_counts[-1]


def in_a_sentence(no_answer_texts: Sequence[NoAnswer], count: int, what: str) -> str:
    """Returns how many of `count` answers look like failures, and which. what: the answers, in a
    word or two.
    """
    failures = sum(len(no_answer.rows) for no_answer in no_answer_texts)
    kinds = []
    for no_answer in no_answer_texts[:NAMED_KINDS]:
        line = " ".join(no_answer.text[:SHOWN_CHARACTERS].split())
        rows = f"{len(no_answer.rows)}, such as row {no_answer.rows[0]!r}"
        kinds.append(f"{line!r} ({rows}: {no_answer.why})")
    if len(no_answer_texts) > NAMED_KINDS:
        kinds.append(f"{len(no_answer_texts) - NAMED_KINDS} kinds more")
    form = "look like failures, not answers"
    if failures == 1:
        form = "looks like a failure, not an answer"
    return f"{failures} of {count} {what} {form}: {'; '.join(kinds)}"


def failure_in(text: str) -> str:
    """Returns what failure the text looks like, "" for an answer."""
    head = text[:HEAD_CHARACTERS].strip()
    if _TRACEBACK.search(head):
        return "what a program prints as it stops"
    if _PAGE.match(head):
        # the page may be an answer: its titles say what it is
        titles = " ".join(_TITLE.findall(head))
        forms = (_STATUS, _NAMED_EXCEPTION, _SPOKEN, _PHRASE)
        failed = any(form.search(titles) for form in forms)
        return "an HTML page of an error" if failed else ""
    if is_error_object(text):
        return "an object with the key error"
    named = _NAMED_EXCEPTION.match(head) or _SPOKEN.match(head)
    status = _STATUS.search(head[:200])
    # a name says more than a status, and a status more than the bare word "error"
    has_name = named is not None and named["name"].lower() not in ("error", "exception")
    if status and not has_name:
        return f"an HTTP status, {status['code'] or status['other']}"
    if named:
        return f"named like an exception, {named['name']}"
    phrase = _PHRASE.match(head)
    # "Conflict", of one word, is a caption too
    if phrase and " " in phrase["phrase"]:
        return f"an HTTP status, {phrase['phrase']}"
    return ""


def is_error_object(text: str) -> bool:
    """Whether the text is a JSON object, maybe cut, that holds an error."""
    # a fence around it; what begins with a brace is not copied
    if text[:1].isspace() or text[:1] not in "{[":
        text = text.strip()
        text = text.removeprefix("```json").strip("`").strip()
    if not text.startswith(("{", "[")):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return bool(_CUT_OBJECT.match(text))
    # some interfaces put it into a list
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return False
    for key, content in value.items():
        if key.lower() in ERROR_KEYS and content:
            return True
        says_kind = key in ("object", "type", "status")  # "object": "error"
        if says_kind and str(content).lower() in ERROR_KEYS:
            return True
    return False


def is_missing(sample: Sample) -> bool:
    """Whether the completion is how a program writes no value; "None" is a word too, and answers a
    question.
    """
    text = sample.completion.strip()
    if text == "None" and sample.question:
        return False
    return text in NO_VALUE


def is_expected(sample: Sample) -> bool:
    """Whether the row's own texts say at least half of what the completion says, or offer it as an
    option in the question.
    """
    words = content_of_text(sample.completion)
    for text in expected_texts(sample):
        shared_words = words & content_of_text(text)
        if words and 2 * len(shared_words) >= len(words):
            return True
    question = sample.question or ""
    answer = spaced_words(sample.completion)
    question_words = spaced_words(question)
    # two spaces: no words
    if not 2 < len(answer) < len(question_words):
        return False
    return answer in question_words


def is_repeated(of_text: Sequence[Sample], samples: Sequence[Sample], rows_of_other: int) -> bool:
    """Whether one text answers too many different rows for chance, and is no answer that may come
    back. of_text: the samples that have it. rows_of_other: how many have the most frequent long
    text beside it.
    """
    text = of_text[0].completion
    contents = mark_numbers(
        repr(identifying_content(number, sample)) for number, sample in enumerate(of_text)
    )
    different = len(np.unique(contents))
    if different < LEAST_ROWS:
        return False
    has_references = any(any(expected_texts(sample)) for sample in of_text)
    # too many rows for chance, or far more than any other text has
    share = SHARE_OF_ROWS if has_references else BLIND_SHARE
    is_frequent = len(of_text) >= OUTSTANDING * rows_of_other
    is_outstanding = has_references and is_long(text) and is_frequent
    if different < share * len(samples) and not is_outstanding:
        return False
    # half of its rows or more expect it
    if 2 * sum(map(is_expected, of_text)) >= len(of_text):
        return False
    if is_long(text):
        return True
    # a short text may be an answer that comes back, such as "yes"
    if len(of_text) > ALWAYS * len(samples):
        return False
    may_be_value = text.strip() not in NO_VALUE
    if may_be_value and all(map(is_short_answer, of_text)):
        return False
    return not is_said(text, samples)


def is_long(text: str) -> bool:
    """Whether a text has more words than an answer that may come back."""
    return len(_WORD_OR_SIGN.findall(text)) > SHORT_ANSWER_WORDS


def is_short_answer(sample: Sample) -> bool:
    """Whether a text of one word may be an answer to this row: it asks a question, or expects a
    short text, or nothing that is known.
    """
    if not _ONE_WORD.fullmatch(sample.completion.strip()):
        return False
    if sample.question:
        return True
    lengths = [len(_WORD_OR_SIGN.findall(text)) for text in expected_texts(sample)]
    return min(lengths, default=0) <= SHORT_ANSWER_WORDS


def is_said(text: str, samples: Iterable[Sample]) -> bool:
    """Whether these words stand in a row of what any row expects or asks."""
    words = spaced_words(text)
    if not words.strip():
        return False
    for sample in samples:
        for other in (*expected_texts(sample), sample.question or ""):
            if words in spaced_words(other):
                return True
    return False


def spaced_words(text: str) -> str:
    """Returns the lower-case words but for articles, with a space around each."""
    words = _WORD_OR_SIGN.findall(text.lower())
    without_articles = [word for word in words if word not in ("a", "an", "the")]
    return f" {' '.join(without_articles)} "


def content_of_text(text: str) -> set[str]:
    """Returns the lower-case words without stop words."""
    return set(_WORD_OR_SIGN.findall(text.lower())) - STOP_WORDS


def expected_texts(sample: Sample) -> list[str]:
    """Returns the texts that say what is right for a row."""
    texts = [*sample.references, *sample.answers]
    if sample.context:
        texts.append(sample.context)
    return texts


def identifying_content(number: int, sample: Sample) -> tuple[object, ...]:
    """Returns what tells a row from others; its number, where nothing says what is expected."""
    texts = expected_texts(sample)
    if not texts:
        return (number,)
    return sample.question, *texts
