"""Rows from any file, one by one: JSONL, JSON, CSV, TSV, parquet, each maybe gzipped, or a Hugging
Face dataset.

    for where, row in read_table("a.csv", {"reference": "caption"}, limit=100):
    # "a.csv row 1", {...}
    for number, where, row in table_rows("a.jsonl"):
    # 3, "line 3", {...} or a sentence on why there is none

`hub:NAME` or `hub:NAME:SPLIT` is a dataset of the hub, or a folder that `datasets` reads or has
saved; its split is `train` by default. Pictures stay undecoded, {"bytes", "path"}. Blank lines are
no rows.

One row is in memory at a time, of parquet one batch. Only JSON that is no JSON Lines, a list or
objects over several lines, is read as a whole. What is gzipped, or comes through a pipe, lies in a
file without a name meanwhile, in the folder for temporary files.
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

from spanreward.rewards.files.hub import HUB, load_split, undecoded
from spanreward.rewards.files.json_lines import BOM, encodable, lines_of, read_object
from spanreward.rewards.files.on_disk import without_name
from spanreward.rewards.rows.columns import without_missing
from spanreward.rewards.rows.delimited import TableRow, delimited_rows

log = logging.getLogger(__name__)

ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
# keys of what `spanreward compare` writes as results.json
RESULTS = {"schema", "models", "difference"}
VERDICT = {"score", "status", "spans"}  # keys of what `spanreward score` writes
_ANY_SPACE = re.compile(r"\s*")

BATCH_ROWS = 64  # rows of parquet at a time: pictures may be in them
GZIPPED = b"\x1f\x8b"  # begins a file of gzip
ZIPPED = b"PK"  # begins an archive of zip, which a workbook is too

Rows = Path | str | Iterable[Mapping[str, Any]]  # a file, a data set of the hub, or rows


def is_table(source: str | Path) -> bool:
    """Whether this is the name of a file of rows, wherever it may be."""
    return str(source).lower().removesuffix(".gz").endswith(ENDINGS)


def read_table(
    source: str | Path,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each row with the name of its place.

    Raises as `table_rows`, and ValueError for an unreadable row.
    """
    for _, where, row in table_rows(source, columns, limit):
        if isinstance(row, str):
            raise ValueError(f"{source} {row}")
        place = f"{source} {where}"
        yield place, encodable(row, place)


def table_rows(
    source: Rows,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Iterator[TableRow]:
    """Yields the first `limit` rows. columns: our names, and the source's names for them.

    What pandas writes for a missing value is None, and is said once. Raises OSError, and ValueError
    in one sentence for a file that cannot be read at all.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"a limit of rows is 1 or more, got {limit}.")
    missing = Counter[str]()
    try:
        for number, where, row in islice(_rows_of_source(source), limit):
            if columns and isinstance(row, dict):
                row = _renamed(row, columns, where)
            if isinstance(row, dict):
                row = without_missing(row, missing)
            yield number, where, row
    finally:  # a reader may take fewer rows
        say_missing(missing, source if isinstance(source, str | Path) else "the table")


def say_missing(missing: Mapping[str, int], source: object) -> None:
    """Logs how many values `without_missing` took out, by column."""
    if not missing:
        return
    counts = ", ".join(f"{count} of {column!r}" for column, count in missing.items())
    log.warning(
        "%s: values that a program wrote as text, such as 'nan', are read as missing: %s",
        source,
        counts,
    )


def folder_of(source: Rows) -> Path:
    """Returns the folder where the paths of a file's pictures begin."""
    if isinstance(source, str | Path):
        return Path(source).parent
    return Path()


def no_rows(source: Rows) -> ValueError:
    """Returns the error for a source without rows."""
    cure = "write one JSON object a line"
    if str(source).lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        cure = "write one a line, below the line of the columns' names"
    return ValueError(f"{source} holds no rows: {cure}.")


def check_texts(row: Mapping[str, Any], source: object) -> None:
    """Raises ValueError for a line that `spanreward score` has written, which has no texts."""
    if row.keys() >= VERDICT and "completion" not in row:
        raise ValueError(
            f"{source} holds verdicts of `spanreward score` and no texts: give the rows that were "
            "scored."
        )


def row_id(row: Mapping[str, Any], number: int) -> str:
    """Returns the row's id, or its number where it has none."""
    name = row.get("id")
    if name is None:
        return str(number)
    return str(name)


def _renamed(row: dict[str, Any], columns: Mapping[str, str], where: str) -> dict[str, Any] | str:
    """Returns the row with our names too, or why it has none of them."""
    ours = {}
    for name, key in columns.items():
        if key not in row:
            return f"{where} has no {key!r}, only {sorted(map(str, row))}."
        ours[name] = row[key]
    return {**row, **ours}


def _rows_of_source(source: Rows) -> Iterator[TableRow]:
    """Returns the rows as the source has them, with its own names of columns."""
    if not isinstance(source, str | Path):
        return _objects("row", source)
    source = str(source)
    if source.startswith(HUB):
        name, _, split = source.removeprefix(HUB).partition(":")
        return _numbered("row", undecoded(load_split(name, split or "train")))
    return _of_file(source)


def _of_file(source: str) -> Iterator[TableRow]:
    """Yields the rows of a file, by its ending; one of no known ending is read as JSON."""
    ending = Path(source.lower().removesuffix(".gz")).suffix
    with _opened(source) as file:
        if ending == ".parquet":
            yield from _numbered("row", _parquet(file, source))
        elif ending in (".csv", ".tsv"):
            yield from delimited_rows(file, source, ending)
        else:
            yield from _json(file, source)


def check_there(source: str) -> None:
    """Raises FileNotFoundError and IsADirectoryError for the name of no file and no pipe. A data
    set of the hub is not looked for.
    """
    if source.startswith(HUB):
        return
    if Path(source).is_dir():
        raise IsADirectoryError(
            f"the input {source} is a folder: give a file in it, or hub:{source} for a data set "
            "that `datasets` saved there."
        )
    if not Path(source).exists():
        cure = ""
        if "://" in source:
            cure = ": nothing is downloaded, so give a file, or hub:NAME"
        raise FileNotFoundError(f"there is no input file {source}{cure}.")


@contextmanager
def _opened(source: str) -> Iterator[BinaryIO]:
    """Yields a file or a pipe, unpacked, to be read from its start any number of times. Raises as
    `check_there`, and ValueError for an archive that holds no table.
    """
    check_there(source)
    with ExitStack() as stack:
        file: BinaryIO = stack.enter_context(Path(source).open("rb"))
        if not file.seekable():  # a pipe
            file = _copied(file, stack)
        # by its first bytes: a name may lack ".gz", and a pipe has none
        if file.read(len(GZIPPED)) == GZIPPED:
            file.seek(0)
            unpacked = stack.enter_context(gzip.GzipFile(fileobj=file))
            try:
                file = _copied(unpacked, stack)
            except (OSError, EOFError, zlib.error) as error:
                raise ValueError(
                    f"{source} cannot be unpacked ({error}): it is damaged or not whole."
                ) from None
        file.seek(0)
        if file.read(len(ZIPPED)) == ZIPPED:
            raise ValueError(
                f"{source} is a zip archive or a workbook: unpack it, or save it as CSV."
            )
        file.seek(0)
        yield file


def _copied(file: Any, stack: ExitStack) -> BinaryIO:
    """Returns the rest of a file as one without a name, which the stack closes."""
    copy: Any = stack.enter_context(without_name())
    shutil.copyfileobj(file, copy)
    copy.seek(0)
    opened: BinaryIO = copy
    return opened


def _numbered(place: str, rows: Iterable[Any]) -> Iterator[TableRow]:
    """Yields rows that are objects, with their numbers from 1 and their places, as in "row 1"."""
    for number, row in enumerate(rows, start=1):
        yield number, f"{place} {number}", row


def _objects(place: str, values: Iterable[Any]) -> Iterator[TableRow]:
    """Yields what may be no object, as `_numbered`, with a sentence in place of such a value."""
    for number, value in enumerate(values, start=1):
        where = f"{place} {number}"
        yield number, where, _object(value, where)


def _parquet(file: BinaryIO, source: str) -> Iterator[dict[str, Any]]:
    """Yields the rows of a parquet file. Raises ValueError for a damaged one, and where pyarrow is
    missing.
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
    except (ValueError, OSError) as error:  # pyarrow's own derive from them
        reason = " ".join(str(error).split())
        raise ValueError(f"{source} is no parquet file, or damaged: {reason}") from None


def _json(file: BinaryIO, source: str) -> Iterator[TableRow]:
    """Returns the objects of JSON Lines, of a list, or of objects one after another, however they
    are printed.

    Raises ValueError for a file without objects, and for one object that holds a whole table or
    `spanreward compare`'s numbers.
    """
    # JSON Lines, whose first line is an object: these are read line by line
    lines = _json_lines(file)
    first_lines = list(islice(lines, 2))
    if not first_lines:
        return lines
    _, _, first_row = first_lines[0]
    if len(first_lines) == 1:
        _check_rows(first_row, source)
    if isinstance(first_row, dict):
        return chain(first_lines, lines)
    # a list, or objects over several lines: these are read as a whole
    file.seek(0)
    content = file.read()
    entries = _entries(content)
    if entries is not None:
        if len(entries) == 1:
            _check_rows(entries[0], source)
            _check_no_results(entries[0], source)
        return _objects("entry", entries)
    # JSON Lines whose first line is damaged: the others are rows. A file that begins with a bracket
    # alone was printed over lines, and one of these may be an object within another.
    printed = re.match(rb"\s*[{[]\s*\n", content.removeprefix(BOM))
    if not printed and _holds_objects(file):
        return _json_lines(file)
    fault = str(first_row).rstrip(".")
    tables = ", ".join(ENDINGS[3:])
    raise ValueError(
        f"{source} {fault}; rows are JSON objects, one a line or in a list, or a table whose name "
        f"ends with {tables}."
    )


def _check_no_results(value: dict[str, Any], source: str) -> None:
    """Raises ValueError for what `spanreward compare` writes as results.json."""
    if value.keys() >= RESULTS:
        raise ValueError(
            f"{source} holds a comparison's numbers and no rows: its answers are in "
            "completions.jsonl."
        )


def _json_lines(file: BinaryIO) -> Iterator[TableRow]:
    """Yields each line that is not blank, from the first on."""
    file.seek(0)
    for number, line in lines_of(file):
        where = f"line {number}"
        yield number, where, _object(line, where)


def _holds_objects(file: BinaryIO) -> bool:
    """Whether some line is an object."""
    return any(isinstance(row, dict) for _, _, row in _json_lines(file))


def _check_rows(value: Any, source: str) -> None:
    """Raises ValueError for one object that holds the columns of a table, as pandas writes it by
    default: a list of texts each, or an object with the same keys each.
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
    """Whether all columns are lists of texts, of which there is at least one."""
    count = 0
    for column in columns:
        if not isinstance(column, list):
            return False
        if not all(isinstance(entry, str) for entry in column):
            return False
        count += len(column)
    return count > 0


def _have_the_same_keys(columns: list[Any]) -> bool:
    """Whether all columns are objects with the same keys in the same order, the rows' numbers."""
    if not all(isinstance(column, dict) for column in columns):
        return False
    keys = list(columns[0])
    return all(list(column) == keys for column in columns)


def _object(value: Any, where: str) -> dict[str, Any] | str:
    """Returns an object of a line or of a file's value, or a sentence on why there is none."""
    try:
        return read_object(value, where)
    except ValueError as error:
        return str(error)


def _entries(content: bytes) -> list[Any] | None:
    """Returns the entries of a list of objects, or objects one after another; None where the file
    is neither.
    """
    try:
        text = content.removeprefix(BOM).decode().strip()
        values = _values(text)
    except (ValueError, RecursionError):
        return None
    if len(values) == 1 and isinstance(values[0], list):
        entries: list[Any] = values[0]
        # an empty list holds no rows, and one with other entries beside objects says which they are
        if entries and not any(isinstance(entry, dict) for entry in entries):
            return None
        return entries
    if all(isinstance(value, dict) for value in values):
        return values
    return None


def _values(text: str) -> list[Any]:
    """Returns JSON values that stand one after another. Raises ValueError, RecursionError."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    place = 0
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        values.append(value)
        space = _ANY_SPACE.match(text, place)
        if space is not None:  # it matches nothing too
            place = space.end()
    return values
