"""A text, or several, in any layout that data have: read as a tuple of texts.

    texts("A red circle.", "reference")  # ("A red circle.",): one text is a list of one
    texts("['surfing', 'surf']", "answers")  # ("surfing", "surf"), as pandas writes lists into CSV
    people([{"answer": "2", "answer_id": 1}], "answers")    # ("2",), as VQA datasets have them

A reader returns nothing where the row has none (None, NaN, blank), and raises ValueError, naming
the column, for another kind. A list within a string is read where it is JSON or Python. Samples
made by hand are read so too. rows/ has the readers of other values.
"""

import ast
import io
import json
import re
import tokenize
from collections.abc import Mapping
from typing import Any

import numpy as np

# how pandas, Python and JSON write a missing value as text
MISSING = ("None", "nan", "NaN", "null", "<NA>", "NaT")
_MISSING = "|".join(MISSING)
_LIST_TEXT = re.compile(
    rf"""\s*+(?:array\()?\[\s*+\[?+\s*+\{{?+\s*+(?:(?:{_MISSING})\s*+,\s*+)*+(?:np\.str_\()?['"\u201c]
    (?:.*\]\s*+\Z|[^'"]*+['"]\s*+,\s*+['"])""",
    re.DOTALL | re.VERBOSE,
)  # maybe cut off
# a list of numbers or of nothing, with a missing value
_GAPS = re.compile(
    rf"\s*+\[\s*+(?:[-+\d.e]++\s*+,\s*+)*+(?:{_MISSING})\s*+(?:,[-+\d.e,\sa-zA-Z<>]*+)?\]\s*+\Z"
)
_NUMPY = re.compile(
    r"\bnp\.str_\(((['\"])(?:(?!\2).)*\2)\)|\Aarray\((?=\[)|(?<=\])(?:, dtype=[\w<.']+)?\)\Z"
)


def texts(value: Any, column: str) -> tuple[str, ...]:
    """Returns a text, or several, without the blank ones."""
    return texts_of(entries(value, column), column, "a text or a list of texts", value)


def is_joined(value: Any) -> bool:
    """Whether this is one text with several answers in it: with bars or semicolons between them, or
    with commas where one comes twice, as in "red, red, blue". "Paris, France" is one answer.
    """
    if not isinstance(value, str) or value.lstrip().startswith(("[", "{", "(")):
        return False
    if re.search(r"\w\s*[|;]\s*\w", value):
        return True
    parts = [part.strip() for part in value.split(",")]
    return len(set(parts)) < len(parts)


def people(value: Any, column: str) -> tuple[str, ...]:
    """Returns people's answers to one question: texts, or objects with the text in "answer".

    A list of numbers, and a number in an object, are read as texts.
    """
    written = _written_people(value)
    answers: list[Any] = []
    for entry in entries(written, column, (str, dict)):
        if isinstance(entry, Mapping) and "answer" in entry:
            answers += _in_words(entries(entry["answer"], column))
        else:
            answers.append(entry)
    # a single number as the whole column is no list of answers, and is refused
    if isinstance(written, list | tuple):
        answers = _in_words(answers)
    kind = 'a text, a list of texts or of {"answer": text}'
    return texts_of(answers, column, kind, value)


def _written_people(value: Any) -> Any:
    """Returns the object with an answer, or the list of numbers, that a text writes out; else the
    value.
    """
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    written = list_in(value.strip())
    if isinstance(written, dict) and "answer" in written:
        return written
    if isinstance(written, list) and written and all(map(_is_number, written)):
        return written
    return value


def _in_words(answers: list[Any]) -> list[Any]:
    """Returns numbers as texts where all are numbers."""
    if not all(map(_is_number, answers)):
        return answers
    return list(map(str, answers))


def _is_number(value: Any) -> bool:
    """Whether the value is an int or a float, but not True, False or NaN."""
    if isinstance(value, bool):  # which Python counts among the ints
        return False
    return isinstance(value, int | float) and not is_nan(value)


def texts_of(listed: list[Any], column: str, kind: str, value: Any) -> tuple[str, ...]:
    """Returns the texts that are not blank. kind: what the column holds, for the error. value: the
    column's, as it is written. Raises ValueError where an entry is no text.
    """
    if not all(isinstance(text, str) for text in listed):
        raise ValueError(f"the column {column!r} must hold {kind}, got {value!r}")
    return tuple(text for text in listed if text.strip())


def entries(value: Any, column: str, kinds: tuple[type, ...] = (str,)) -> list[Any]:
    """Returns a list's entries, those of a list of such kinds within a string, or the one value; []
    for None and NaN.

    `"['surfing', 'surf']"` gives `["surfing", "surf"]`, and `"[A dog]"` gives `["[A dog]"]`. Raises
    ValueError for a string that begins as a list of texts and cannot be read as one.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return list(value)
    if value is None or is_nan(value):
        return []
    if isinstance(value, str) and value.lstrip().startswith(("[", "(", "array(")):
        listed = list_in(value.strip())
        if isinstance(listed, list | tuple) and all(isinstance(entry, kinds) for entry in listed):
            return list(listed)
        # read as one text, a list that was cut off would be a reference that nothing matches
        if _LIST_TEXT.match(value) or _GAPS.match(value):
            raise ValueError(
                f"the column {column!r} holds a list in a string that cannot be read, "
                f"{value!r:.80}: give the list itself, or write it as JSON"
            )
    return [value]


def is_nan(value: Any) -> bool:
    """Whether the value is NaN, which is pandas' None."""
    return isinstance(value, float) and value != value


def list_in(text: str) -> Any:
    """Returns the value that is the whole text, in JSON, Python or as numpy shows it; None where
    there is none.
    """
    text = _NUMPY.sub(r"\1", text)  # "array([np.str_('a')])" becomes "['a']"
    # JSON first, whose null, true and escapes Python reads otherwise or not at all
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        value = ast.literal_eval(text)
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return _strings_in(text)
        return value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _strings_in(text: str) -> list[str]:
    """Returns each string of a Python list: numpy writes no commas between them, and Python joins
    such strings. `"['a' 'b']"` gives `["a", "b"]`.
    """
    strings = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            strings.append(ast.literal_eval(token.string))
    return strings
