"""Tables of texts, CSV and TSV: a row a line, and no row within a cell of another.

    for number, where, row in delimited_rows(b"id,text\\n1,A dog.\\n", "rows.csv", ".csv"):
    # 1, "row 1", {"id": "1", "text": "A dog."}

A cell in quotation marks may hold line breaks and separators. So one mark too many makes a cell of
all rows up to the next mark. Such a CSV file is refused. TSV has no quotation marks in its standard
(IANA text/tab-separated-values): such a file is read without them.
"""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from spanreward.rewards.files.json_lines import BOM

SEPARATORS = ",;\t|"  # of CSV: the most frequent one in its first line
TWICE = "write each mark within a cell twice, and the cell between marks"

# its number, its place, and the row or why it cannot be read
Row = tuple[int, str, dict[str, Any] | str]


def delimited_rows(content: bytes, source: str, ending: str) -> Iterator[Row]:
    """Yields rows of texts, under the names of the first line. Raises ValueError in one sentence
    for a file that cannot be read at all.
    """
    csv.field_size_limit(2**31 - 1)  # a text may be long
    try:
        text = content.removeprefix(BOM).decode()
        _check_bytes(text)
        lines = list(io.StringIO(text, newline=""))
        separator = _separator(lines, ending)
        quoting = csv.QUOTE_MINIMAL
        fault = _fault(lines, separator) if '"' in text else ""
        if fault and (ending != ".tsv" or _has_quoted_cells(lines, separator)):
            raise ValueError(f"{fault}: {TWICE}")
        if fault:
            quoting = csv.QUOTE_NONE
        yield from _read(lines, separator, quoting)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} is not in UTF-8 ({error.reason} at byte {error.start}): save it as UTF-8, "
            "which spreadsheets call CSV UTF-8."
        ) from None
    except (csv.Error, ValueError) as error:
        raise ValueError(
            f"{source} cannot be read as {ending[1:].upper()} in UTF-8: {error}."
        ) from None


def _check_bytes(text: str) -> None:
    place = text.find("\0")
    if place >= 0:
        line = text.count("\n", 0, place) + 1
        raise ValueError(f"line {line} holds a NUL byte, so it is damaged or in another encoding")


def _separator(lines: list[str], ending: str) -> str:
    if ending == ".tsv" or not lines:
        return "\t"
    return max(SEPARATORS, key=lines[0].count)


def _read(lines: list[str], separator: str, quoting: Any) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=separator, quoting=quoting, strict=True)
    names = next(reader, [])
    if len(set(names)) < len(names):
        raise ValueError(
            f"two columns have one name in {names}: give each a name of its own, in a first line "
            "if this one is a row"
        )
    number, before = 0, reader.line_num
    for cells in reader:
        first, before = before + 1, reader.line_num
        if not cells:
            continue
        number += 1
        where = f"row {number}"
        if cells == names:
            yield number, where, f"{where} has the columns' names again (line {first})."
        elif len(cells) == len(names):
            yield number, where, dict(zip(names, cells, strict=True))
        else:
            counts = f"{len(cells)} cells, and {len(names)} columns have names"
            yield number, where, f"{where} has {counts} ({_lines(first, before)})."


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _fault(lines: list[str], separator: str) -> str:
    """Returns why the table's quotation marks are not those of its cells, "" where they are."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    first = 1
    try:
        count = len(next(reader, []))
        while True:
            first = reader.line_num + 1
            cells = next(reader, None)
            if cells is None:
                return ""
            of_row = lines[first - 1 : reader.line_num]
            if cells and count > 1 and _holds_others(cells, of_row, separator, count):
                place = _lines(first, reader.line_num)
                return f"a cell in quotation marks holds cells of its own row or others ({place})"
    except csv.Error as error:
        return f"{error}, in the row that begins in line {first}"


def _holds_others(cells: list[str], lines: list[str], separator: str, count: int) -> bool:
    """Returns whether the cells of a row, on these lines of a table of so many columns, are others
    without quotation marks.
    """
    odd = len(cells) != count
    if len(lines) > 1:
        return odd or _are_rows(lines, separator, count)
    return odd and separator == "\t" and '"' in lines[0] and _are_rows(lines, separator, count)


def _are_rows(lines: list[str], separator: str, count: int) -> bool:
    """Returns whether each of the lines would be a row of so many cells without quotation marks."""
    # a comma of a sentence stands before a space, and one of a number before three digits
    within = r"(?! )(?!(?<=\d.)\d{3}(?!\d))" if separator in ",;" else ""
    found = re.compile(re.escape(separator) + within)
    return all(len(found.findall(line)) == count - 1 for line in lines)


def _has_quoted_cells(lines: list[str], separator: str) -> bool:
    """Returns whether some cell begins and ends with a quotation mark on one line."""
    for line in lines:
        for cell in line.rstrip("\r\n").split(separator):
            if len(cell) > 1 and cell[0] == cell[-1] == '"':
                return True
    return False
