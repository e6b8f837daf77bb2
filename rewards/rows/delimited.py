"""Tables of texts, CSV and TSV: a row a line, and no row within a cell of another.

    file = io.BytesIO(b"id,text\\n1,A dog.\\n")
    for number, where, row in delimited_rows(file, "rows.csv", ".csv"):
    # 1, "row 1", {"id": "1", "text": "A dog."}

A cell in quotation marks may hold line breaks and separators. So one mark too many makes a cell of
all rows up to the next mark. Such a CSV file is refused. TSV has no quotation marks in its standard
(IANA text/tab-separated-values): such a file is read without them. Which it is shows at the end
only, so a file is read several times, and is never in memory as a whole.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from spanreward.rewards.files.json_lines import BOM

SEPARATORS = ",;\t|"  # of CSV: the most frequent one in its first line
PIECE_BYTES = 1 << 20  # bytes that are decoded at once
TWICE = "write each mark within a cell twice, and the cell between marks"

# its number, its place, and the row or why it cannot be read
TableRow = tuple[int, str, dict[str, Any] | str]


def delimited_rows(file: BinaryIO, source: str, ending: str) -> Iterator[TableRow]:
    """Yields rows of texts, under the names of the first line. Raises ValueError in one sentence
    for a file that cannot be read at all. file: one that can be read again from its start.
    """
    csv.field_size_limit(2**31 - 1)  # a text may be long
    try:
        quoted = _check_text(file)
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        try:
            yield from _rows_as_quoted(lines, ending, quoted)
        finally:
            lines.detach()  # the file stays open
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} is not in UTF-8 ({error.reason} at byte {error.start}): save it as UTF-8, "
            "which spreadsheets call CSV UTF-8."
        ) from None
    except (csv.Error, ValueError) as error:
        raise ValueError(
            f"{source} cannot be read as {ending[1:].upper()} in UTF-8: {error}."
        ) from None


def _check_text(file: BinaryIO) -> bool:
    """Returns whether the text has a quotation mark. Raises UnicodeDecodeError, whose place is that
    in the text, and ValueError for a NUL byte.
    """
    quoted = False
    damaged = 0  # the line of the first NUL byte
    line = 1
    for text in _decoded_pieces(file):
        quoted = quoted or '"' in text
        place = text.find("\0")
        if place >= 0 and not damaged:
            damaged = line + text.count("\n", 0, place)
        line += text.count("\n")
    if damaged:
        raise ValueError(
            f"line {damaged} holds a NUL byte, so it is damaged or in another encoding"
        )
    return quoted


def _decoded_pieces(file: BinaryIO) -> Iterator[str]:
    """Yields the text in pieces. Raises UnicodeDecodeError, whose place is that in the text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    file.seek(0)
    if file.read(len(BOM)) != BOM:
        file.seek(0)
    start = 0  # of the piece
    final = False
    while not final:
        piece = file.read(PIECE_BYTES)
        final = not piece
        held = len(decoder.getstate()[0])  # bytes of a character that the last piece cut
        try:
            text = decoder.decode(piece, final)
        except UnicodeDecodeError as error:
            error.start += start - held
            raise
        yield text
        start += len(piece)


def _separator(first: str, ending: str) -> str:
    """first: the table's first line."""
    if ending == ".tsv" or not first:
        return "\t"
    return max(SEPARATORS, key=first.count)


def _rows_as_quoted(lines: io.TextIOWrapper, ending: str, quoted: bool) -> Iterator[TableRow]:
    """quoted: whether there is a quotation mark at all."""
    lines.seek(0)
    separator = _separator(lines.readline(), ending)
    quoting = csv.QUOTE_MINIMAL
    lines.seek(0)
    fault = _fault(lines, separator) if quoted else ""
    lines.seek(0)
    if fault and (ending != ".tsv" or _has_quoted_cells(lines, separator)):
        raise ValueError(f"{fault}: {TWICE}")
    if fault:
        quoting = csv.QUOTE_NONE
    lines.seek(0)
    yield from _csv_rows(lines, separator, quoting)


def _csv_rows(lines: Iterable[str], separator: str, quoting: Any) -> Iterator[TableRow]:
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
            yield number, where, f"{where} has {counts} ({_lines_in_words(first, before)})."


def _lines_in_words(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _noted(lines: Iterable[str], of_row: list[str]) -> Iterator[str]:
    """Yields the lines, and appends each to the list when it is taken."""
    for line in lines:
        of_row.append(line)
        yield line


def _fault(lines: Iterable[str], separator: str) -> str:
    """Returns why the table's quotation marks are not those of its cells, "" where they are."""
    of_row: list[str] = []  # the lines that the reader took for it
    reader = csv.reader(_noted(lines, of_row), delimiter=separator, strict=True)
    first = 1
    try:
        count = len(next(reader, []))
        while True:
            first = reader.line_num + 1
            of_row.clear()
            cells = next(reader, None)
            if cells is None:
                return ""
            if cells and count > 1 and _holds_others(cells, of_row, separator, count):
                place = _lines_in_words(first, reader.line_num)
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
    separators = re.compile(re.escape(separator) + within)
    return all(len(separators.findall(line)) == count - 1 for line in lines)


def _has_quoted_cells(lines: Iterable[str], separator: str) -> bool:
    """Returns whether some cell begins and ends with a quotation mark on one line."""
    for line in lines:
        for cell in line.rstrip("\r\n").split(separator):
            if len(cell) > 1 and cell[0] == cell[-1] == '"':
                return True
    return False
