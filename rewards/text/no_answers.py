"""Finds completions that are no answers, such as the error message of a failed request.

    samples = [Sample("", "litellm.RateLimitError: Error code: 429", references=("A heron.",))]
    no_answers(samples, ["7"])[0].why   # "named like an exception, litellm.RateLimitError"
    failure_in("A heron.")  # "", an answer

If a request to an API fails, many scripts write the exception, or one fixed text, in place of the
answer. A metric would read such a text as a bad answer. A text counts as a failure in two cases:

- The text has the form of an exception, of an HTTP status or of an error object.
- The text is the completion of many different rows.

A text that a row expects is never a failure: the picture may show an error message.
"""

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus

import numpy as np

from spanreward.rewards.base.lazy_sequences import View
from spanreward.rewards.base.marks import as_numbers, mark_number, mark_numbers
from spanreward.rewards.base.texts import TEXTS_OF_MISSING
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.text.bag_of_words import STOP_WORDS

LEAST_ROWS = 3  # a repeated text may be a failure from so many different rows on
SHARE_OF_ROWS = 0.1  # one text for this share of all rows cannot be chance
BLIND_SHARE = 0.2  # the same share, for rows without references, answers and context
OUTSTANDING_FACTOR = 3  # a text with 3 times as many rows as any other text cannot be chance
# a short text for more than this share of the rows is a model's only answer
ONLY_ANSWER_SHARE = 0.9
SHORT_ANSWER_WORDS = 4  # short answers of at most so many words may repeat: yes, B, two boats
NAMED_KINDS = 3  # kinds of failures that `in_a_sentence` names
SHOWN_CHARACTERS = 100  # characters of each failure that `in_a_sentence` shows
HEAD_CHARACTERS = 2000  # the first characters of a text, in which a failure is searched
# how Python, pandas, JavaScript, JSON and SQL write that there is no value
NO_VALUE = frozenset((*TEXTS_OF_MISSING, "NULL", "undefined"))
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
_SPOKEN_ERROR = re.compile(  # "API error: ...", "An error occurred while ..."
    r"\A\W{0,3}(?:[\w'-]{1,30} ){0,4}?(?P<name>error|exception)s?"
    r"(?:\s*[:\[({]|[.!](?:\s|\Z)|\s[-\u2013\u2014]\s|\s(?:code\s)?#?\d"
    r"|\s(?:has |have )?occurr?ed\b)",
    re.IGNORECASE,
)
_ERROR_PHRASES = "|".join(
    status.phrase.replace(" ", r"\s").replace("Timeout", "Time-?out")
    for status in HTTPStatus
    if status >= HTTPStatus.BAD_REQUEST
)
# "429 Too Many Requests", "HTTP 502", "status code 500", "Error code: 429"
_STATUS_LINE = re.compile(
    rf"\b(?P<code>[45]\d\d)\b\W{{0,3}}(?i:{_ERROR_PHRASES})\b"
    r"|(?i:\b(?:http(?:/[\d.]+)?(?: status| error| code)*|status(?: code)?|error code|response))"
    r"\W{1,3}(?P<other>[45]\d\d)\b"
)
_LONE_PHRASE = re.compile(rf"\A\W*(?P<phrase>{_ERROR_PHRASES})\W*\Z", re.IGNORECASE)
_HTML_PAGE = re.compile(
    r"\A\s*(?:<\?xml[^<>]*>\s*)?<(?:!doctype\s+html|html|head)\b", re.IGNORECASE
)
_HTML_TITLE = re.compile(r"<(?:title|h1)[^<>]*>([^<]{0,200})", re.IGNORECASE)
_CUT_OBJECT = re.compile(
    r"""\A\s*\[?\{\s*["'](?:error|exception)s?["']\s*:\s*(?!null|None|false|False|["']["'])""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The rows whose completions look like the same kind of failure.

    text: the completion of the first row. why: the kind of failure, such as "an HTTP status, 429".
    rows: the ids of all rows, in order.
    """

    text: str
    why: str
    rows: tuple[str, ...]


def no_answers(
    samples: Sequence[Sample], ids: Sequence[str], repeated: bool = True
) -> list[NoAnswer]:
    """Returns the kinds of failures among the completions, kinds with the most rows first.

    Each row belongs to one kind at most. The samples are read several times, and 17 bytes of memory
    are kept for each row.

    ids: the name of each sample. repeated: whether one text for many different rows counts as a
    failure. Pass False for completions of the user's own model: a policy may repeat itself without
    any failure.
    """
    rows_of, texts = _failures_by_form(samples)
    groups = list(rows_of.items())
    if repeated:
        groups += _failures_by_repetition(samples, texts)
    no_answer_texts = []
    for why, numbers in groups:
        names = tuple(ids[number] for number in numbers)
        text = samples[numbers[0]].completion
        no_answer_texts.append(NoAnswer(text, why, names))
    return sorted(no_answer_texts, key=lambda no_answer: -len(no_answer.rows))


def _failures_by_form(samples: Sequence[Sample]) -> tuple[dict[str, "array[int]"], "_Texts"]:
    """Returns the failures that the form of a text shows, such as "Error code: 429", and the texts
    of all other rows.

    The failures are a dict from the kind of failure to the numbers of its rows. A kind joins texts
    that differ only in a time or in the number of a request.
    """
    rows_of: dict[str, array[int]] = {}
    texts = _Texts()
    for number, sample in enumerate(samples):
        why = failure_in(sample.completion)
        if not why and is_missing(sample):
            why = "what a table holds in place of no value"
        if why and not is_expected(sample):
            rows_of.setdefault(why, array("Q")).append(number)
        elif sample.completion.strip():
            texts.add(number, sample.completion)
    return rows_of, texts


def _failures_by_repetition(
    samples: Sequence[Sample], texts: "_Texts"
) -> Iterator[tuple[str, "array[int]"]]:
    """Yields the kind of failure and the numbers of the rows for each text that too many different
    rows have.

    texts: the texts of the samples that may be repeated.
    """
    for numbers, rows_of_other in texts.repeated():
        # a View reads a sample when it is needed, so that no copies of samples are kept
        of_text = View(samples, numbers, lambda sample: sample)
        if is_repeated(of_text, samples, rows_of_other):
            yield f"one text for {len(numbers)} rows that differ", numbers


class _Texts:
    """Finds the rows that have the same text. The object keeps 17 bytes per row, and no texts."""

    def __init__(self) -> None:
        self._numbers = array("Q")  # the number of each row
        self._marks = array("Q")  # a hash of each row's text
        self._long = bytearray()  # for each row, whether its text is long

    def add(self, number: int, text: str) -> None:
        """Adds the row of this number. Texts that differ only in white space count as equal."""
        words = " ".join(text.split())
        self._numbers.append(number)
        self._marks.append(mark_number(words))
        self._long.append(is_long(text))

    def repeated(self) -> Iterator[tuple["array[int]", int]]:
        """Yields (numbers, rows_of_other) for each text that at least LEAST_ROWS rows have, in the
        order of the texts' first rows.

        numbers: the numbers of the rows with the text. rows_of_other: the number of rows of the
        most frequent other text that is long, at least 1. `is_repeated` compares the two.
        """
        # the indices of the rows, sorted so that the rows of one text are neighbours
        marks = as_numbers(self._marks)
        by_text = np.argsort(marks, kind="stable")
        # for each different text, where its rows start in `by_text`, and how many rows it has
        _, starts, counts = np.unique(
            marks[by_text],
            return_index=True,
            return_counts=True,
        )
        # for each different text, the index of its first row, and whether the text is long
        first_rows = by_text[starts]
        is_long_text = np.frombuffer(self._long, dtype=bool)[first_rows]
        # how many rows the two most frequent long texts have; 1 for a long text that is not there
        counts_of_long = sorted([1, 1, *counts[is_long_text].tolist()])
        most, second_most = counts_of_long[-1], counts_of_long[-2]
        # text: the number of a different text
        for text in np.argsort(first_rows).tolist():
            count = int(counts[text])
            if count < LEAST_ROWS:
                continue
            # for the most frequent long text, the most frequent other text is the second
            is_most_frequent = is_long_text[text] and count == most
            rows_of_other = second_most if is_most_frequent else most
            start = starts[text]
            places = np.sort(by_text[start : start + count])
            numbers = as_numbers(self._numbers)[places]
            yield array("Q", numbers.tolist()), rows_of_other


def in_a_sentence(no_answer_texts: Sequence[NoAnswer], count: int, what: str) -> str:
    """Returns a sentence on the failures: their number, and the most frequent kinds.

    "2 of 9 completions look like failures, not answers: 'Error code: 429' (2, such as row '7': an
    HTTP status, 429)". count: the number of all answers. what: a plural noun for the answers, such
    as "completions".
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
    """Returns the kind of failure that the text looks like, or "" for an answer.

    `"Error code: 429"` gives `"an HTTP status, 429"`.
    """
    head = text[:HEAD_CHARACTERS].strip()
    if _TRACEBACK.search(head):
        return "what a program prints as it stops"
    if _HTML_PAGE.match(head):
        return "an HTML page of an error" if _is_error_page(head) else ""
    if is_error_object(text):
        return "an object with the key error"
    named = _NAMED_EXCEPTION.match(head) or _SPOKEN_ERROR.match(head)
    status = _STATUS_LINE.search(head[:200])
    # prefer the name of an exception to a status, and a status to the bare word "error"
    has_name = named is not None and named["name"].lower() not in ("error", "exception")
    if status and not has_name:
        return f"an HTTP status, {status['code'] or status['other']}"
    if named:
        return f"named like an exception, {named['name']}"
    phrase = _LONE_PHRASE.match(head)
    # a phrase of one word, such as "Conflict", may be a caption
    if phrase and " " in phrase["phrase"]:
        return f"an HTTP status, {phrase['phrase']}"
    return ""


def _is_error_page(page: str) -> bool:
    """Whether a title of an HTML page names a failure: "<title>502 Bad Gateway</title>"."""
    titles = " ".join(_HTML_TITLE.findall(page))
    forms = (_STATUS_LINE, _NAMED_EXCEPTION, _SPOKEN_ERROR, _LONE_PHRASE)
    return any(form.search(titles) for form in forms)


def is_error_object(text: str) -> bool:
    """Whether the text is a JSON object that reports an error, such as `{"error": "overloaded"}`.
    The object may be cut off.
    """
    # remove a code fence around the object; a text that begins with a brace needs no copy
    if text[:1].isspace() or text[:1] not in "{[":
        text = text.strip()
        text = text.removeprefix("```json").strip("`").strip()
    if not text.startswith(("{", "[")):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return bool(_CUT_OBJECT.match(text))
    # some APIs put the object into a list
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
    """Whether the completion is a program's word for a missing value, such as "NaN" or "None".

    "None" as the answer to a question is an answer: "Which of these birds can swim?"
    """
    text = sample.completion.strip()
    if text == "None" and sample.question:
        return False
    return text in NO_VALUE


def is_expected(sample: Sample) -> bool:
    """Whether the row itself expects the completion, so that the completion is no failure: the
    completion "404 Not Found" of a row with the reference "404 Not Found".

    An expected completion shares at least half of its content words with one reference, answer or
    context of the row. A completion that occurs word for word in the question, as an option does,
    is expected, too.
    """
    words = content_of_text(sample.completion)
    for text in expected_texts(sample):
        shared_words = words & content_of_text(text)
        if words and 2 * len(shared_words) >= len(words):
            return True
    answer = spaced_words(sample.completion)
    question = spaced_words(sample.question or "")
    # a completion that repeats the whole question, or that has no words, is no option
    return bool(answer.strip()) and answer in question and answer != question


def is_repeated(of_text: Sequence[Sample], samples: Sequence[Sample], rows_of_other: int) -> bool:
    """Whether one text, such as "Failed to answer", is the completion of too many different rows to
    be a real answer.

    of_text: the samples with this text. samples: all samples. rows_of_other: the number of rows of
    the most frequent other text that is long.
    """
    text = of_text[0].completion
    # rows with the same question and expected texts count as one row; hashes take less memory
    hashes_of_rows = mark_numbers(
        repr(identifying_content(number, sample)) for number, sample in enumerate(of_text)
    )
    different_rows = len(np.unique(hashes_of_rows))
    if different_rows < LEAST_ROWS:
        return False
    if not _is_frequent(of_text, different_rows, len(samples), rows_of_other):
        return False
    # a text that half of its rows expect is an answer
    if 2 * sum(map(is_expected, of_text)) >= len(of_text):
        return False
    if is_long(text):
        return True
    # a short text may be a real answer of many rows, such as "yes"
    if len(of_text) > ONLY_ANSWER_SHARE * len(samples):
        return False
    names_a_value = text.strip() not in NO_VALUE
    if names_a_value and all(map(is_short_answer, of_text)):
        return False
    return not is_said(text, samples)


def _is_frequent(
    of_text: Sequence[Sample], different_rows: int, count: int, rows_of_other: int
) -> bool:
    """Whether a text has a large share of all rows, or far more rows than any other text.

    of_text: the samples with this text. different_rows: the number of different rows among these
    samples (`identifying_content`). count: the number of all samples. rows_of_other: the number of
    rows of the most frequent other text that is long.
    """
    has_references = any(any(expected_texts(sample)) for sample in of_text)
    share = SHARE_OF_ROWS if has_references else BLIND_SHARE
    if different_rows >= share * count:
        return True
    has_far_more_rows = len(of_text) >= OUTSTANDING_FACTOR * rows_of_other
    return has_references and is_long(of_text[0].completion) and has_far_more_rows


def is_long(text: str) -> bool:
    """Whether a text has more words than a short answer: more than SHORT_ANSWER_WORDS."""
    return len(_WORD_OR_SIGN.findall(text)) > SHORT_ANSWER_WORDS


def is_short_answer(sample: Sample) -> bool:
    """Whether the completion is one word and may be the answer to this row.

    The word may be the answer if the row has a question, expects a short text, or has no expected
    text at all.
    """
    if not _ONE_WORD.fullmatch(sample.completion.strip()):
        return False
    if sample.question:
        return True
    lengths = [len(_WORD_OR_SIGN.findall(text)) for text in expected_texts(sample)]
    return min(lengths, default=0) <= SHORT_ANSWER_WORDS


def is_said(text: str, samples: Iterable[Sample]) -> bool:
    """Whether the words of the text occur, in this order, in a question or an expected text of any
    sample.
    """
    words = spaced_words(text)
    if not words.strip():
        return False
    for sample in samples:
        for other in (*expected_texts(sample), sample.question or ""):
            if words in spaced_words(other):
                return True
    return False


def spaced_words(text: str) -> str:
    """Returns the lower-case words without articles, between spaces: `"A dog."` gives `" dog "`.

    The spaces let `in` find whole words only.
    """
    words = _WORD_OR_SIGN.findall(text.lower())
    without_articles = [word for word in words if word not in ("a", "an", "the")]
    return f" {' '.join(without_articles)} "


def content_of_text(text: str) -> set[str]:
    """Returns the set of lower-case words without stop words."""
    return set(_WORD_OR_SIGN.findall(text.lower())) - STOP_WORDS


def expected_texts(sample: Sample) -> list[str]:
    """Returns the texts of a row that hold right content: references, answers and context."""
    texts = [*sample.references, *sample.answers]
    if sample.context:
        texts.append(sample.context)
    return texts


def identifying_content(number: int, sample: Sample) -> tuple[object, ...]:
    """Returns the content by which a row is compared with other rows: question and expected texts.

    A row without expected texts gives its number, so that the row differs from all other rows.
    """
    texts = expected_texts(sample)
    if not texts:
        return (number,)
    return sample.question, *texts
