"""Reads CSV and TSV files row by row, and refuses files whose quotation marks hide rows.

    file = io.BytesIO(b"id,text\\n1,A dog.\\n")
    for number, where, row in delimited_rows(file, "rows.csv", ".csv"):
    # 1, "row 1", {"id": "1", "text": "A dog."}

A cell between quotation marks may contain line breaks and separators. So a single superfluous mark
turns all rows up to the next mark into one cell. A CSV file with such a cell is refused. The
standard of TSV (IANA text/tab-separated-values) has no quotation marks. A TSV file with such a cell
is read with its marks as plain characters. The fault may be in the last row, so a file is read
several times. The whole file is never in memory.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from spanreward.rewards.files.json_lines import BYTE_ORDER_MARK

# signs that may separate cells of CSV: the first line's most frequent sign
CELL_SEPARATORS = ",;\t|"
PIECE_BYTES = 1 << 20  # bytes that are decoded at once
# what comes after a comma that belongs to a text, and separates no cells
END_OF_CLAUSE = " "  # as in "red, blue"
THOUSANDS_DIGITS = (
    r"(?<=\d.)\d{3}(?!\d)"  # exactly three digits, with a digit before the comma: "1,234"
)
QUOTING_REMEDY = "write each mark within a cell twice, and the cell between marks"

# the row's number from 1, its place such as "row 1", and the row or the reason why it is unreadable
TableRow = tuple[int, str, dict[str, Any] | str]


def delimited_rows(file: BinaryIO, source: str, ending: str) -> Iterator[TableRow]:
    """Yields the rows of a CSV or TSV file, whose first line has the names of the columns.

    All values are texts. file: a file that can be read several times (seekable). source: the file's
    name, for errors. ending: ".csv" or ".tsv". Raises ValueError, with a message of one sentence,
    for a file that cannot be read at all.
    """
    csv.field_size_limit(2**31 - 1)  # a text may be long
    try:
        has_quotation_mark = _has_quotation_mark(file)
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        try:
            yield from _rows_as_quoted(lines, ending, has_quotation_mark)
        finally:
            lines.detach()  # otherwise `lines` would close the file
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} is not in UTF-8 ({error.reason} at byte {error.start}): save it as UTF-8, "
            "which spreadsheets call CSV UTF-8."
        ) from None
    except (csv.Error, ValueError) as error:
        kind = ending[1:].upper()
        raise ValueError(f"{source} cannot be read as {kind} in UTF-8: {error}.") from None


def _has_quotation_mark(file: BinaryIO) -> bool:
    """Returns whether the file has a quotation mark.

    Raises UnicodeDecodeError, with the byte offset of the fault, for text that is not UTF-8. The
    offset does not count a byte order mark. Raises ValueError for a NUL byte.
    """
    # Read the file to its end, even after a NUL byte. A file that is not UTF-8 may have NUL bytes,
    # too, and the error about UTF-8 is clearer.
    has_quotation_mark = False
    damaged = 0  # the line of the first NUL byte
    line = 1
    for text in _decoded_pieces(file):
        if '"' in text:
            has_quotation_mark = True
        place = text.find("\0")
        if place >= 0 and not damaged:
            damaged = line + text.count("\n", 0, place)
        line += text.count("\n")
    if damaged:
        raise ValueError(
            f"line {damaged} holds a NUL byte, so it is damaged or in another encoding"
        )
    return has_quotation_mark


def _decoded_pieces(file: BinaryIO) -> Iterator[str]:
    """Yields the text of the file in pieces of about PIECE_BYTES bytes. A character whose bytes are
    in two pieces is yielded with the second piece.

    Raises UnicodeDecodeError, with the byte offset of the fault. A byte order mark is skipped and
    is not counted.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    # skip a byte order mark at the start of the file
    file.seek(0)
    if file.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
        file.seek(0)
    piece_offset = 0  # the offset of the piece in the file
    final = False
    while not final:
        piece = file.read(PIECE_BYTES)
        final = not piece
        # the last bytes of the piece before, if they are the beginning of a character
        unfinished, _ = decoder.getstate()
        try:
            text = decoder.decode(piece, final)
        except UnicodeDecodeError as error:
            # the decoder has decoded the unfinished bytes and the piece, and counts from there
            decoded_offset = piece_offset - len(unfinished)
            error.start += decoded_offset
            raise
        yield text
        piece_offset += len(piece)


def _cell_separator(first: str, ending: str) -> str:
    """Returns the sign between the cells of a table, such as ",". first: the table's first line."""
    if ending == ".tsv" or not first:
        return "\t"
    return max(CELL_SEPARATORS, key=first.count)


def _rows_as_quoted(
    lines: io.TextIOWrapper, ending: str, has_quotation_mark: bool
) -> Iterator[TableRow]:
    """Yields the table's rows: (1, "row 1", {"id": "1", "text": "A dog."}).

    If the marks of a TSV file are not around its cells, the marks are read as plain characters.

    has_quotation_mark: whether the file has any quotation mark. Raises ValueError for a table with
    a fault in its quotation marks.
    """
    lines.seek(0)
    separator = _cell_separator(lines.readline(), ending)
    # first, read the file to find a fault in its quotation marks
    fault = ""
    if has_quotation_mark:
        lines.seek(0)
        fault = _quotation_fault(lines, separator)
    quoting = csv.QUOTE_MINIMAL
    if fault:
        # A CSV file may have cells between quotation marks, and so has a TSV file that was written
        # like CSV.
        quotes_cells = True
        if ending == ".tsv":
            lines.seek(0)
            quotes_cells = _has_quoted_cells(lines, separator)
        if quotes_cells:
            raise ValueError(f"{fault}: {QUOTING_REMEDY}")
        # the marks of this TSV file are plain characters, so the fault is none
        quoting = csv.QUOTE_NONE
    # second, read the rows
    lines.seek(0)
    yield from _csv_rows(lines, separator, quoting)


def _csv_rows(lines: Iterable[str], separator: str, quoting: Any) -> Iterator[TableRow]:
    """Yields the rows below the line with the names of the columns.

    A row with a wrong number of cells is yielded as a sentence about the fault. quoting: a constant
    of the module csv, such as csv.QUOTE_MINIMAL. Raises ValueError for two columns with the same
    name, and csv.Error.
    """
    reader = csv.reader(lines, delimiter=separator, quoting=quoting, strict=True)
    names = next(reader, [])
    if len(set(names)) < len(names):
        # perhaps the file has no line of names, and its first line is a row with two equal cells
        raise ValueError(
            f"two columns have one name in {names}: give each a name of its own, in a first line "
            "if this one is a row"
        )
    # number the rows that are not blank
    number = 0
    last = reader.line_num  # the number of the last line that was read
    for cells in reader:
        first = last + 1
        last = reader.line_num
        if not cells:  # a blank line
            continue
        number += 1
        where = f"row {number}"
        if cells == names:  # a second line of names, where several files were joined
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
    """Yields the lines, and appends each line to `lines_of_row` when the line is read."""
    for line in lines:
        lines_of_row.append(line)
        yield line


def _quotation_fault(lines: Iterable[str], separator: str) -> str:
    """Returns the fault of the table's quotation marks, in words, or "" without a fault.

    The two rows `1,"red` and `2,blue"` are read as one row, 1 and "red\\n2,blue", because a pair of
    marks stands around a line break. The fault is: "a cell in quotation marks holds cells of its
    own row or others (lines 2 to 3)". A mark that breaks the rules of CSV is a fault, too.
    """
    lines_of_row: list[str] = []  # the lines that the reader has read for the current row
    copied = _copying_lines(lines, lines_of_row)
    reader = csv.reader(copied, delimiter=separator, strict=True)
    first = 1  # the number of the row's first line
    try:
        names = next(reader, [])
        count = len(names)
        while True:
            # read one row, and keep its lines
            first = reader.line_num + 1
            lines_of_row.clear()
            cells = next(reader, None)
            if cells is None:  # all rows are read
                return ""
            # in a table of one column, each line of a long text would look like a row
            is_checked = count > 1 and len(cells) > 0
            if is_checked and _hides_cells(cells, lines_of_row, separator, count):
                place = _lines_in_words(first, reader.line_num)
                return f"a cell in quotation marks holds cells of its own row or others ({place})"
    except csv.Error as error:
        return f"{error}, in the row that begins in line {first}"


def _hides_cells(
    cells: list[str],
    lines: list[str],
    separator: str,
    count: int,
) -> bool:
    """Returns whether quotation marks have hidden rows or cells within a cell of this row.

    In a table of three columns, the two lines `1,"a,b` and `2,c",d` are read as one row. Its cell
    "a,b\\n2,c" hides the line break and two commas.

    cells: the cells of the row. lines: the lines of the file that the row was read from. count: the
    number of the table's columns.
    """
    has_wrong_count = len(cells) != count
    if len(lines) > 1:
        # a pair of marks stands around a line break, which may be the end of a row
        return has_wrong_count or _are_rows(lines, separator, count)
    # A pair of marks may stand around separators of this line. Only tabs are looked at, because a
    # comma between marks may belong to a text.
    may_hide_tabs = separator == "\t" and '"' in lines[0]
    return has_wrong_count and may_hide_tabs and _are_rows(lines, separator, count)


def _are_rows(lines: list[str], separator: str, count: int) -> bool:
    """Returns whether each line, without its quotation marks, would be a row of `count` cells: the
    lines "1,a" and "2,b" would be rows of two cells.
    """
    pattern = re.escape(separator)
    if separator in ",;":
        # do not count a comma that belongs to a text
        pattern += rf"(?!{END_OF_CLAUSE}|{THOUSANDS_DIGITS})"
    separators = re.compile(pattern)
    for line in lines:
        cells_of_line = len(separators.findall(line)) + 1
        if cells_of_line != count:
            return False
    return True


def _has_quoted_cells(lines: Iterable[str], separator: str) -> bool:
    """Returns whether any cell begins and ends with a quotation mark on the same line."""
    for line in lines:
        for cell in line.rstrip("\r\n").split(separator):
            if len(cell) > 1 and cell.startswith('"') and cell.endswith('"'):
                return True
    return False
