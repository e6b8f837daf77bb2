"""Reads a value of a row, in any layout that datasets use for texts, as a tuple of texts.

    texts_of_value("A red circle.", "reference")  # ("A red circle.",)
    # a list as pandas writes it into CSV
    texts_of_value("['surfing', 'surf']", "answers")  # ("surfing", "surf")
    # answers as VQA datasets write them
    answers_of_people([{"answer": "2", "answer_id": 1}], "answers")  # ("2",)

`texts_of_value` and `answers_of_people` return () for a missing or blank value: None, NaN, "". For
a value of another type, such as a number, the functions raise ValueError with the column's name. A
list that is written in a string is read if the string is JSON or Python. `Sample` reads its fields
with these functions too. The folder rewards/rows has the readers of other values.
"""

import ast
import io
import json
import re
import tokenize
from collections.abc import Mapping
from typing import Any

import numpy as np

# the texts that pandas, Python and JSON write for a missing value
TEXTS_OF_MISSING = ("None", "nan", "NaN", "null", "<NA>", "NaT")
_MISSING_PATTERN = "|".join(TEXTS_OF_MISSING)
_LIST_TEXT = re.compile(
    rf"""\s*+(?:array\()?\[\s*+\[?+\s*+\{{?+\s*+(?:(?:{_MISSING_PATTERN})\s*+,\s*+)*+(?:np\.str_\()?['"\u201c]
    (?:.*\]\s*+\Z|[^'"]*+['"]\s*+,\s*+['"])""",
    re.DOTALL | re.VERBOSE,
)  # the beginning of a list of texts, which may be cut off
# a list of numbers with a missing value in it, or a list of missing values
_LIST_WITH_MISSING = re.compile(
    rf"\s*+\[\s*+(?:[-+\d.e]++\s*+,\s*+)*+(?:{_MISSING_PATTERN})\s*+(?:,[-+\d.e,\sa-zA-Z<>]*+)?\]\s*+\Z"
)
_NUMPY_LIST = re.compile(
    r"\bnp\.str_\(((['\"])(?:(?!\2).)*\2)\)|\Aarray\((?=\[)|(?<=\])(?:, dtype=[\w<.']+)?\)\Z"
)


def texts_of_value(value: Any, column: str) -> tuple[str, ...]:
    """Returns the texts of a column's value, without blank texts. See the examples above."""
    return texts_of(entries_of_value(value, column), column, "a text or a list of texts", value)


def is_joined(value: Any) -> bool:
    """Whether the value is a single text that holds several answers, such as "red|blue" or "red;
    blue".

    Commas separate answers only if an answer is repeated, as in "red, red, blue". "Paris, France"
    is a single answer.
    """
    if not isinstance(value, str) or value.lstrip().startswith(("[", "{", "(")):
        return False
    if re.search(r"\w\s*[|;]\s*\w", value):
        return True
    parts = [part.strip() for part in value.split(",")]
    return len(set(parts)) < len(parts)


def answers_of_people(value: Any, column: str) -> tuple[str, ...]:
    """Returns the answers of several people to a question, as texts: `[{"answer": "red"}, "blue"]`
    gives `("red", "blue")`, and `[2, 3]` gives `("2", "3")`.

    value: a text, an object with the key "answer", or a list of texts, of such objects, or of
    numbers. Each of these may also be written in a string. An object's answer may be a number:
    `{"answer": 2}` gives `("2",)`. Raises ValueError for any other value, such as the number 2.

    column: the column's name, for the error.
    """
    # the value that is written in the string, or the value itself
    parsed = _parsed_answers(value)
    answers: list[Any] = []
    for entry in entries_of_value(parsed, column, (str, dict)):
        if isinstance(entry, Mapping) and "answer" in entry:
            answers += _numbers_as_texts(entries_of_value(entry["answer"], column))
        else:
            answers.append(entry)
    # The entries of a list may be numbers. A value that is a lone number stays a number here, and
    # `texts_of` refuses it.
    if isinstance(parsed, list | tuple):
        answers = _numbers_as_texts(answers)
    kind = 'a text, a list of texts or of {"answer": text}'
    return texts_of(answers, column, kind, value)


def _parsed_answers(value: Any) -> Any:
    """Returns the answers that a string holds as an object or as numbers: `'{"answer": "red"}'`
    gives {"answer": "red"}, and "[1, 2]" gives [1, 2].

    Any other value is returned as it is, even a list of texts in a string, which `entries_of_value`
    reads.
    """
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    parsed = list_in(value.strip())
    if isinstance(parsed, dict) and "answer" in parsed:
        return parsed
    if isinstance(parsed, list) and parsed and all(map(_is_number, parsed)):
        return parsed
    return value


def _numbers_as_texts(answers: list[Any]) -> list[Any]:
    """Returns the answers as texts if all are numbers: [1, 2] gives ["1", "2"]. Other lists are
    returned as they are.
    """
    if not all(map(_is_number, answers)):
        return answers
    return list(map(str, answers))


def _is_number(value: Any) -> bool:
    """Whether the value is an int or a float, but not True, False or NaN."""
    if isinstance(value, bool):  # for Python, True is an int
        return False
    return isinstance(value, int | float) and not is_nan(value)


def texts_of(listed: list[Any], column: str, kind: str, value: Any) -> tuple[str, ...]:
    """Returns the listed texts that are not blank. Raises ValueError if an entry is no text.

    column: the column's name, for the error. kind: the kind of value that the column must hold, for
    the error, such as "a text or a list of texts". value: the value of the row, for the error.
    """
    if not all(isinstance(text, str) for text in listed):
        raise ValueError(f"the column {column!r} must hold {kind}, got {value!r}")
    return tuple(text for text in listed if text.strip())


def entries_of_value(value: Any, column: str, kinds: tuple[type, ...] = (str,)) -> list[Any]:
    """Returns the value as a list.

    A list gives its entries, and None and NaN give []. A list that is written in a string gives its
    entries if all entries have one of the types `kinds`: `"['surfing', 'surf']"` gives
    `["surfing", "surf"]`. Any other value gives a list with the value: `"[A dog]"` gives
    `["[A dog]"]`.

    Raises ValueError for a string that begins like a list of texts and cannot be read as a list,
    such as `"['surfing', 'su"`.
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
        # If a list that was cut off were read as a single text, no completion would match the text
        if _LIST_TEXT.match(value) or _LIST_WITH_MISSING.match(value):
            raise ValueError(
                f"the column {column!r} holds a list in a string that cannot be read, "
                f"{value!r:.80}: give the list itself, or write it as JSON"
            )
    return [value]


def is_nan(value: Any) -> bool:
    """Whether the value is NaN, which pandas writes for a missing value."""
    return isinstance(value, float) and value != value


def list_in(text: str) -> Any:
    """Returns the value that the text writes out as JSON, as Python, or in numpy's notation: "[1,
    2]" gives [1, 2]. Returns None if the text is not such a value.
    """
    text = _NUMPY_LIST.sub(r"\1", text)  # "array([np.str_('a')])" becomes "['a']"
    # JSON comes first: Python cannot read JSON's null and true, and reads some escapes differently
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        value = ast.literal_eval(text)
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            # numpy writes "['a' 'b']" without commas, which Python has read as ["ab"]
            return _strings_in(text)
        return value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _strings_in(text: str) -> list[str]:
    """Returns each string of a list that is written as Python or by numpy: `"['a' 'b']"` gives
    `["a", "b"]`.

    Numpy writes no commas between strings. Python's own parser joins strings without a comma to a
    single string, "ab", so this function reads the tokens.
    """
    strings = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            strings.append(ast.literal_eval(token.string))
    return strings
