"""Reads rows one by one from JSONL, JSON, CSV, TSV and parquet files, which may be gzipped, or from
a Hugging Face dataset.

    for where, row in read_table("a.csv", {"reference": "caption"}, limit=100):
    # "a.csv row 1", {...}
    for number, where, row in table_rows("a.jsonl"):
    # 3, "line 3", and {...} or a sentence about the line's fault

`hub:NAME` or `hub:NAME:SPLIT` is a dataset of the hub, or a folder that `datasets` can read or has
saved. The default split is `train`. Pictures are not decoded: a picture is a dict with "bytes" and
"path". Blank lines are skipped.

Only one row is in memory at a time, or one batch of a parquet file. A JSON file with one list, or
with objects over several lines, is read as a whole. Gzipped files and pipes are first copied into a
temporary file without a name.
"""

import gzip
import json
import logging
import re
import shutil
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from spanreward.rewards.files.hub import HUB_PREFIX, load_split, with_undecoded_pictures
from spanreward.rewards.files.json_lines import (
    BYTE_ORDER_MARK,
    checked_encodable,
    lines_of,
    read_object,
)
from spanreward.rewards.files.on_disk import without_name
from spanreward.rewards.rows.columns import without_missing
from spanreward.rewards.rows.delimited import TableRow, delimited_rows

log = logging.getLogger(__name__)

FILE_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
# keys of the file results.json that `spanreward compare` writes
KEYS_OF_RESULTS = {"schema", "models", "difference"}
# keys of the verdicts that `spanreward score` writes
KEYS_OF_VERDICTS = {"score", "status", "spans"}
_ANY_SPACE = re.compile(r"\s*")
BRACKET_LINE = re.compile(rb"\s*[{[]\s*\n")  # a first line that has only an opening bracket

BATCH_ROWS = 64  # rows of a parquet batch: few, because rows may hold pictures
GZIP_BEGINNING = b"\x1f\x8b"  # the first bytes of a gzip file
ZIP_BEGINNING = b"PK"  # the first bytes of a zip archive; a workbook (.xlsx) is a zip archive, too

Rows = Path | str | Iterable[Mapping[str, Any]]  # a file, a data set of the hub, or rows


def is_table(source: str | Path) -> bool:
    """Whether this is the name of a file of rows, by its ending. The file need not exist."""
    return str(source).lower().removesuffix(".gz").endswith(FILE_ENDINGS)


def read_table(
    source: str | Path,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each row with its place, such as "a.csv row 1".

    columns: for each of our names, the source's name of the column. limit: the largest number of
    rows. Raises OSError, and ValueError for an unreadable file or row.
    """
    for _, where, row in table_rows(source, columns, limit):
        if isinstance(row, str):
            raise ValueError(f"{source} {row}")
        place = f"{source} {where}"
        yield place, checked_encodable(row, place)


def table_rows(
    source: Rows,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Iterator[TableRow]:
    """Yields the number, the place and the content of each row, at most `limit` rows.

    The content is a dict, or a sentence about the fault of the row. Texts for a missing value, such
    as "nan", become None, and a warning is logged once. columns: for each of our names, the
    source's name of the column. Raises OSError, and ValueError, with a message of one sentence, for
    a file that cannot be read at all.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"a limit of rows is 1 or more, got {limit}.")
    missing = Counter[str]()
    try:
        for number, where, row in islice(_rows_of_source(source), limit):
            if columns and isinstance(row, dict):
                row = _with_our_names(row, columns, where)
            if isinstance(row, dict):
                row = without_missing(row, missing)
            yield number, where, row
    finally:  # log the warning even if the caller stops early
        warn_of_missing(missing, source if isinstance(source, str | Path) else "the table")


def warn_of_missing(missing: Mapping[str, int], source: object) -> None:
    """Logs how many texts `without_missing` replaced by None, by column."""
    if not missing:
        return
    counts = ", ".join(f"{count} of {column!r}" for column, count in missing.items())
    log.warning(
        "%s: values that a program wrote as text, such as 'nan', are read as missing: %s",
        source,
        counts,
    )


def folder_of(source: Rows) -> Path:
    """Returns the folder in which relative paths of the source's pictures begin."""
    if isinstance(source, str | Path):
        return Path(source).parent
    return Path()


def no_rows(source: Rows) -> ValueError:
    """Returns the error for a source without rows."""
    advice = "write one JSON object a line"
    if str(source).lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        advice = "write one a line, below the line of the columns' names"
    return ValueError(f"{source} holds no rows: {advice}.")


def check_texts(row: Mapping[str, Any], source: object) -> None:
    """Raises ValueError if the row is a verdict that `spanreward score` wrote, without texts."""
    if row.keys() >= KEYS_OF_VERDICTS and "completion" not in row:
        raise ValueError(
            f"{source} holds verdicts of `spanreward score` and no texts: give the rows that were "
            "scored."
        )


def row_id(row: Mapping[str, Any], number: int) -> str:
    """Returns the row's id, or the row's number for a row without an id."""
    name = row.get("id")
    if name is None:
        return str(number)
    return str(name)


def _with_our_names(
    row: dict[str, Any], columns: Mapping[str, str], where: str
) -> dict[str, Any] | str:
    """Returns the row with our names of the columns added, or a sentence about a missing column.

    With the columns {"reference": "caption"}, the row {"caption": "A dog."} becomes
    {"caption": "A dog.", "reference": "A dog."}.
    """
    ours = {}
    for name, key in columns.items():
        if key not in row:
            return f"{where} has no {key!r}, only {sorted(map(str, row))}."
        ours[name] = row[key]
    return {**row, **ours}


def _rows_of_source(source: Rows) -> Iterator[TableRow]:
    """Returns the rows of the source, with the source's own names of the columns.

    source: a file, the mappings of a table, or "hub:NAME:SPLIT" for a dataset of the hub, by
    default its split "train".
    """
    if not isinstance(source, str | Path):
        return _rows_of_values("row", source)
    source = str(source)
    if source.startswith(HUB_PREFIX):
        name, _, split = source.removeprefix(HUB_PREFIX).partition(":")
        return _numbered_rows("row", with_undecoded_pictures(load_split(name, split or "train")))
    return _rows_of_file(source)


def _rows_of_file(source: str) -> Iterator[TableRow]:
    """Yields the rows of a file, in the format of its ending. Files of other endings are JSON."""
    ending = Path(source.lower().removesuffix(".gz")).suffix
    with _opened_source(source) as file:
        if ending == ".parquet":
            yield from _numbered_rows("row", _rows_of_parquet(file, source))
        elif ending in (".csv", ".tsv"):
            yield from delimited_rows(file, source, ending)
        else:
            yield from _rows_of_json(file, source)


def check_there(source: str) -> None:
    """Raises FileNotFoundError if the source does not exist, and IsADirectoryError for a folder.

    Datasets of the hub are not checked.
    """
    if source.startswith(HUB_PREFIX):
        return
    if Path(source).is_dir():
        raise IsADirectoryError(
            f"the input {source} is a folder: give a file in it, or hub:{source} for a data set "
            "that `datasets` saved there."
        )
    if not Path(source).exists():
        advice = ""
        if "://" in source:
            advice = ": nothing is downloaded, so give a file, or hub:NAME"
        raise FileNotFoundError(f"there is no input file {source}{advice}.")


@contextmanager
def _opened_source(source: str) -> Iterator[BinaryIO]:
    """Yields the unpacked content of a file or a pipe, as a file that can be read several times.

    Raises FileNotFoundError, IsADirectoryError for a folder, and ValueError for a zip archive or a
    damaged gzip file.
    """
    check_there(source)
    with ExitStack() as stack:
        file: BinaryIO = stack.enter_context(Path(source).open("rb"))
        if not file.seekable():  # a pipe
            file = _temporary_copy(file, stack)
        # detect gzip by the first bytes: a name may lack ".gz", and a pipe has no name
        if file.read(len(GZIP_BEGINNING)) == GZIP_BEGINNING:
            file.seek(0)
            unpacked = stack.enter_context(gzip.GzipFile(fileobj=file))
            try:
                file = _temporary_copy(unpacked, stack)
            except (OSError, EOFError, zlib.error) as error:
                raise ValueError(
                    f"{source} cannot be unpacked ({error}): it is damaged or not whole."
                ) from None
        # refuse archives
        file.seek(0)
        if file.read(len(ZIP_BEGINNING)) == ZIP_BEGINNING:
            raise ValueError(
                f"{source} is a zip archive or a workbook: unpack it, or save it as CSV."
            )
        file.seek(0)
        yield file


def _temporary_copy(file: Any, stack: ExitStack) -> BinaryIO:
    """Returns a temporary copy of the rest of a file, without a name. `stack` closes the copy."""
    copy: Any = stack.enter_context(without_name())
    shutil.copyfileobj(file, copy)
    copy.seek(0)
    opened: BinaryIO = copy
    return opened


def _numbered_rows(place: str, rows: Iterable[Any]) -> Iterator[TableRow]:
    """Yields each row with its number, from 1, and its place, such as "row 1".

    place: the word for a row, such as "row" or "entry".
    """
    for number, row in enumerate(rows, start=1):
        yield number, f"{place} {number}", row


def _rows_of_values(place: str, values: Iterable[Any]) -> Iterator[TableRow]:
    """Yields each value with its number, from 1, and its place, such as "entry 1".

    A value that is no object is replaced by a sentence about the fault.
    """
    for number, value in enumerate(values, start=1):
        where = f"{place} {number}"
        yield number, where, _object_or_fault(value, where)


def _rows_of_parquet(file: BinaryIO, source: str) -> Iterator[dict[str, Any]]:
    """Yields the rows of a parquet file.

    Raises ValueError for a damaged file, and if pyarrow is not installed.
    """
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise ValueError(
            f"{source} is read by pyarrow, which is missing: pip install 'spanreward[train]'."
        ) from None
    try:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=BATCH_ROWS):
            yield from batch.to_pylist()
    except (ValueError, OSError) as error:  # pyarrow's errors are subclasses of these two
        reason = " ".join(str(error).split())
        raise ValueError(f"{source} is no parquet file, or damaged: {reason}") from None


def _rows_of_json(file: BinaryIO, source: str) -> Iterator[TableRow]:
    """Returns the rows of a JSON file: JSON Lines, a list of objects, or one object after another.

    A blank file and an empty list have no rows. Raises ValueError for any other file without
    objects, for a single object that holds a whole table by columns, and for the file results.json
    of `spanreward compare`.
    """
    lines_left = _json_lines(file)
    first_two = list(islice(lines_left, 2))
    if not first_two:  # a blank file
        return iter(())
    # the object in the first line, or a sentence about the fault of a line that is no object
    _, _, object_or_fault = first_two[0]
    if len(first_two) == 1:
        _check_rows(object_or_fault, source)
    if isinstance(object_or_fault, str):
        return _rows_of_whole_json(file, source, object_or_fault)
    # JSON Lines, read line by line
    return chain(first_two, lines_left)


def _rows_of_whole_json(file: BinaryIO, source: str, fault: str) -> Iterator[TableRow]:
    """Returns the rows of a JSON file whose first line is no object.

    Such a file may be a list of objects, or objects over several lines: each object is a row. It
    may also be JSON Lines with a damaged first line: each line is a row, and the damaged line gives
    a sentence about its fault. Raises ValueError for a file of any other form.

    fault: a sentence about the first line.
    """
    file.seek(0)
    content = file.read()
    entries = _entries_of_json(content)
    if entries is not None:
        if len(entries) == 1:
            _check_rows(entries[0], source)
            _check_no_results(entries[0], source)
        return _rows_of_values("entry", entries)
    # If the first line is only a bracket, the file is a single value over several lines, which is
    # damaged. A line of such a file is no row.
    is_one_value = BRACKET_LINE.match(content.removeprefix(BYTE_ORDER_MARK)) is not None
    # If some line is an object, the file is JSON Lines with a damaged first line.
    if not is_one_value and _holds_objects(file):
        return _json_lines(file)
    reason = fault.rstrip(".")
    tables = ", ".join(FILE_ENDINGS[3:])
    raise ValueError(
        f"{source} {reason}; rows are JSON objects, one a line or in a list, or a table whose name "
        f"ends with {tables}."
    )


def _check_no_results(value: dict[str, Any], source: str) -> None:
    """Raises ValueError for the content of results.json, a file of `spanreward compare`."""
    if value.keys() >= KEYS_OF_RESULTS:
        raise ValueError(
            f"{source} holds a comparison's numbers and no rows: its answers are in "
            "completions.jsonl."
        )


def _json_lines(file: BinaryIO) -> Iterator[TableRow]:
    """Yields the row of each line that is not blank, from the start of the file."""
    file.seek(0)
    for number, line in lines_of(file):
        where = f"line {number}"
        yield number, where, _object_or_fault(line, where)


def _holds_objects(file: BinaryIO) -> bool:
    """Whether any line of the file is a JSON object."""
    return any(isinstance(row, dict) for _, _, row in _json_lines(file))


def _check_rows(value: Any, source: str) -> None:
    """Raises ValueError for a single object that holds a whole table by columns.

    pandas writes such an object by default: each value is a column. A column is a list of texts, or
    an object with the numbers of the rows as keys.
    """
    if not isinstance(value, dict) or len(value) < 2:
        return
    if "completion" not in value:
        return
    columns = list(value.values())
    if _are_lists_of_texts(columns) or _have_the_same_keys(columns):
        raise ValueError(
            f"{source} holds columns, and not rows: write one object a row, as pandas does with "
            "to_json(path, orient='records', lines=True)."
        )


def _are_lists_of_texts(columns: list[Any]) -> bool:
    """Whether all columns are lists of texts, with at least one text in all: yes for [["A dog."],
    ["A cat."]].
    """
    count = 0
    for column in columns:
        if not isinstance(column, list):
            return False
        if not all(isinstance(entry, str) for entry in column):
            return False
        count += len(column)
    return count > 0


def _have_the_same_keys(columns: list[Any]) -> bool:
    """Whether all columns are objects with the same keys in the same order."""
    if not all(isinstance(column, dict) for column in columns):
        return False
    keys = list(columns[0])
    return all(list(column) == keys for column in columns)


def _object_or_fault(value: Any, where: str) -> dict[str, Any] | str:
    """Returns the JSON object of a line or a value, or a sentence about the fault.

    value: the bytes of a line, or a value that was read from JSON. where: the place of the value,
    such as "line 3", for the sentence.
    """
    try:
        return read_object(value, where)
    except ValueError as error:
        return str(error)


def _entries_of_json(content: bytes) -> list[Any] | None:
    """Returns the entries of a file that is a list, or the objects of a file of several objects:
    b'[{"id": 1}]' gives [{"id": 1}].

    Returns None for a file of another form, and for a list without any object.
    """
    try:
        text = content.removeprefix(BYTE_ORDER_MARK).decode().strip()
        values = _values_in_text(text)
    except (ValueError, RecursionError):
        return None
    if len(values) == 1 and isinstance(values[0], list):
        entries: list[Any] = values[0]
        # An empty list has no rows. In a list with objects and other entries, each other entry
        # becomes a row with a sentence about the fault.
        if entries and not any(isinstance(entry, dict) for entry in entries):
            return None
        return entries
    if all(isinstance(value, dict) for value in values):
        return values
    return None


def _values_in_text(text: str) -> list[Any]:
    """Returns the JSON values of a text with one value after another: '{"id": 1}\\n{"id": 2}' gives
    [{"id": 1}, {"id": 2}].

    Raises ValueError for a fault, and RecursionError for deep nesting.
    """
    decoder = json.JSONDecoder()
    values: list[Any] = []
    place = 0
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        values.append(value)
        space = _ANY_SPACE.match(text, place)
        if space is not None:  # always true, because the pattern also matches no space
            place = space.end()
    return values
