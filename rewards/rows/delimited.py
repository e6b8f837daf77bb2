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
    """Yields rows of texts, under the names of the first line.

    file: one that can be read again from its start. source: its name, for errors. ending: ".csv" or
    ".tsv". Raises ValueError in one sentence for a file that cannot be read at all.
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
        kind = ending[1:].upper()
        raise ValueError(f"{source} cannot be read as {kind} in UTF-8: {error}.") from None


def _check_text(file: BinaryIO) -> bool:
    """Returns whether the text has a quotation mark. Raises UnicodeDecodeError, whose place is that
    in the text, and ValueError for a NUL byte.
    """
    # All of the file is read, also behind a NUL byte: of text that is no UTF-8 the other error is
    # the clearer one.
    quoted = False
    damaged = 0  # the line of the first NUL byte
    line = 1
    for text in _decoded_pieces(file):
        if '"' in text:
            quoted = True
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
        unfinished, _ = decoder.getstate()  # bytes of a character that the last piece cut
        try:
            text = decoder.decode(piece, final)
        except UnicodeDecodeError as error:
            # the decoder counts from those bytes on
            error.start += start - len(unfinished)
            raise
        yield text
        start += len(piece)


def _separator(first: str, ending: str) -> str:
    """Returns what separates the table's cells. first: its first line."""
    if ending == ".tsv" or not first:
        return "\t"
    return max(SEPARATORS, key=first.count)


def _rows_as_quoted(lines: io.TextIOWrapper, ending: str, quoted: bool) -> Iterator[TableRow]:
    """Yields the table's rows, read with quotation marks or, in TSV, without them where they are
    not those of its cells.

    quoted: whether there is a quotation mark at all. Raises ValueError for a table that can be read
    neither way.
    """
    lines.seek(0)
    separator = _separator(lines.readline(), ending)
    # first to see whether its marks are those of its cells
    fault = ""
    if quoted:
        lines.seek(0)
        fault = _fault(lines, separator)
    quoting = csv.QUOTE_MINIMAL
    if fault:
        # A TSV file with quoted cells was written as CSV is, so the fault is one.
        lines.seek(0)
        if ending != ".tsv" or _has_quoted_cells(lines, separator):
            raise ValueError(f"{fault}: {TWICE}")
        quoting = csv.QUOTE_NONE
    # then for its rows
    lines.seek(0)
    yield from _csv_rows(lines, separator, quoting)


def _csv_rows(lines: Iterable[str], separator: str, quoting: Any) -> Iterator[TableRow]:
    """Yields the rows below the line of the names, or why one cannot be read. quoting: as csv has
    it. Raises ValueError for two columns of one name, and csv.Error.
    """
    reader = csv.reader(lines, delimiter=separator, quoting=quoting, strict=True)
    names = next(reader, [])
    if len(set(names)) < len(names):
        raise ValueError(
            f"two columns have one name in {names}: give each a name of its own, in a first line "
            "if this one is a row"
        )
    number = 0
    last = reader.line_num  # the last line of the row that was read last
    for cells in reader:
        first = last + 1
        last = reader.line_num
        if not cells:  # a blank line
            continue
        number += 1
        where = f"row {number}"
        if cells == names:  # as in files that were put together
            yield number, where, f"{where} has the columns' names again (line {first})."
        elif len(cells) == len(names):
            yield number, where, dict(zip(names, cells, strict=True))
        else:
            counts = f"{len(cells)} cells, and {len(names)} columns have names"
            place = _lines_in_words(first, last)
            yield number, where, f"{where} has {counts} ({place})."


def _lines_in_words(first: int, last: int) -> str:
    """Returns "line 3", or "lines 3 to 5"."""
    if first == last:
        return f"line {first}"
    return f"lines {first} to {last}"


def _copying_lines(lines: Iterable[str], lines_of_row: list[str]) -> Iterator[str]:
    """Yields the lines, and appends each to the list when it is taken."""
    for line in lines:
        lines_of_row.append(line)
        yield line


def _fault(lines: Iterable[str], separator: str) -> str:
    """Returns why the table's quotation marks are not those of its cells, "" where they are."""
    lines_of_row: list[str] = []  # that the reader took for a row
    copied = _copying_lines(lines, lines_of_row)
    reader = csv.reader(copied, delimiter=separator, strict=True)
    first = 1  # line of the row
    try:
        names = next(reader, [])
        count = len(names)
        while True:
            first = reader.line_num + 1
            lines_of_row.clear()
            cells = next(reader, None)
            if cells is None:
                return ""
            # without a separator there is no telling a row from a line of a cell
            if cells and count > 1 and _holds_others(cells, lines_of_row, separator, count):
                place = _lines_in_words(first, reader.line_num)
                return f"a cell in quotation marks holds cells of its own row or others ({place})"
    except csv.Error as error:
        return f"{error}, in the row that begins in line {first}"


def _holds_others(cells: list[str], lines: list[str], separator: str, count: int) -> bool:
    """Returns whether the cells of a row, on these lines of a table of so many columns, are others
    without quotation marks.
    """
    is_odd = len(cells) != count
    if len(lines) > 1:
        return is_odd or _are_rows(lines, separator, count)
    # on one line a pair of marks can swallow the separators between them
    if not is_odd or separator != "\t" or '"' not in lines[0]:
        return False
    return _are_rows(lines, separator, count)


def _are_rows(lines: list[str], separator: str, count: int) -> bool:
    """Returns whether each of the lines would be a row of so many cells without quotation marks."""
    pattern = re.escape(separator)
    if separator in ",;":
        # a comma of a sentence stands before a space, and one of a number before three digits
        pattern += r"(?! )(?!(?<=\d.)\d{3}(?!\d))"
    separators = re.compile(pattern)
    for line in lines:
        cells_of_line = len(separators.findall(line)) + 1
        if cells_of_line != count:
            return False
    return True


def _has_quoted_cells(lines: Iterable[str], separator: str) -> bool:
    """Returns whether some cell begins and ends with a quotation mark on one line."""
    for line in lines:
        for cell in line.rstrip("\r\n").split(separator):
            if len(cell) > 1 and cell.startswith('"') and cell.endswith('"'):
                return True
    return False
