"""Keeps values (bytes) by key in one SQLite file that several processes use at once. If the file is
too large, the least recently used values are evicted.

    store = Store(Path("ratings.sqlite"), max_bytes=1 << 30)
    store.write({"key": b"value"})
    store.read(["key", "other"])            # {"key": b"value"}

A store never stops a run. If the file cannot be used (damaged, disk full, read-only, locked too
long), the store logs one warning. Reads then find nothing, and writes keep nothing. After a wait of
LOCK_SECONDS for another process's lock, later calls wait only SHORT_LOCK_SECONDS, until a call
succeeds again.

Each value is stored with a hash. A read removes a damaged value. Each call opens a new connection,
so a store can be pickled, and its process can be forked. Values that a killed process had committed
remain in the file. The file must be on a local disk, because SQLite's write-ahead log does not work
over a network.
"""

import fcntl
import hashlib
import json
import logging
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

log = logging.getLogger(__name__)

LOCK_SECONDS = 30.0  # seconds to wait for another process's write
SHORT_LOCK_SECONDS = 0.1  # seconds to wait if the last wait took longer than LOCK_SECONDS
HASH_BYTES = 8
# SQLite's application_id ("Span") and user_version (of this format)
DATABASE_MARKS = (0x5370616E, 1)
# The share of max_bytes that the values fill after an eviction. An eviction takes some seconds at
# 1 GiB, and other processes wait for its end.
EVICTED_TO = 63 / 64
MIN_BYTES = 1 << 16

CREATE_TABLE = (
    "CREATE TABLE answers (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, value BLOB NOT NULL)"
)
# The ids order the values by their last use: a new value gets the largest id, and TO_THE_END gives
# the largest id to a value that is read. The third column of READ_VALUES is whether the value's id
# is in the lower half of the ids. The CAST is for damaged values, which may be NULL or a number.
READ_VALUES = """SELECT key, coalesce(CAST(value AS BLOB), x''),
    2 * id < (SELECT min(id) FROM answers) + (SELECT max(id) FROM answers) FROM answers
    WHERE key IN (SELECT value FROM json_each(?))"""
TO_THE_END = "UPDATE answers SET id = (SELECT max(id) + 1 FROM answers) WHERE key = ?"
REMOVE_ANSWER = "DELETE FROM answers WHERE key = ?"
# Removes the oldest 64th of the ids: those up to min + (max - min) / 64.
REMOVE_OLDEST = """DELETE FROM answers
    WHERE 64 * id <= 63 * (SELECT min(id) FROM answers) + (SELECT max(id) FROM answers)"""


class Store:
    """A file of values by key.

    Args:
        path: the file, which the first `write` makes.
        max_bytes: the largest size of the file, at least 64 KiB. During a `write` the file may
            exceed this size by the bytes of the new values.

    Attributes:
        damaged: how many damaged values the reads found.

    Raises:
        ValueError: for max_bytes below 64 KiB, and for a path to a file that is no store, or a
            store of another version.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        if max_bytes < MIN_BYTES:
            raise ValueError(
                f"max_bytes is {max_bytes}, and a cache needs at least {MIN_BYTES}: give it more."
            )
        # An unreadable file raises nothing here: `_with_connection` warns, and the judge gives the
        # answers.
        is_readable = path.is_file() and os.access(path, os.R_OK)
        if is_readable and not _is_store(path):
            raise ValueError(
                f"{path} is not a cache of ratings, or of another version: remove it, or give "
                "another path."
            )
        self.path = path
        self.max_bytes = max_bytes
        self.damaged = 0
        self._warned = False
        self._busy = False  # whether the last call found the file locked for longer than it waited

    def read(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Returns the values of the keys that exist. The values that were read become the most
        recently used values, which are evicted last.
        """
        values: dict[str, bytes] = {}

        def read_values(connection: sqlite3.Connection) -> None:
            """Adds the values of the keys to `values`."""
            # All keys are one parameter (JSON), because SQLite limits the number of parameters.
            cursor = connection.execute(READ_VALUES, (json.dumps(keys),))
            rows = cursor.fetchall()
            self._read_rows(rows, set(keys), values, connection)
            # A file below half of max_bytes is far from an eviction, so its order may be wrong.
            if _used_bytes(connection) > self.max_bytes // 2:
                _move_old_keys_to_the_end(connection, rows)

        self._with_connection(read_values)
        return values

    def _read_rows(
        self,
        rows: Sequence[tuple[str, bytes, bool]],
        keys: set[str],
        values: dict[str, bytes],
        connection: sqlite3.Connection,
    ) -> None:
        """Adds the values of the rows to `values`, and removes damaged rows from the file. If the
        removal raises, the values have been added.

        rows: the result of READ_VALUES: for each row its key, its sealed value, and whether it is
        in the older half of the file. keys: the keys that were asked for.
        """
        damaged: set[str] = set()
        for key, sealed, _ in rows:
            value = sealed[HASH_BYTES:]
            # a damaged index may return rows of keys that were not asked for
            if key in keys and sealed == _with_hash(key, value):
                values[key] = value
            else:
                damaged.add(key)
        damaged -= values.keys()  # a damaged index may return a key twice, once with its value
        if damaged:
            not_found = keys - values.keys()
            self._remove(connection, damaged, not_found)

    def _remove(
        self, connection: sqlite3.Connection, damaged: set[str], not_found: set[str]
    ) -> None:
        """Removes the rows of these keys from the file, and counts the damaged values.

        damaged: the keys whose values are damaged. not_found: the keys that were asked for, and for
        which the read returned no sound value. Such a key may have a row nevertheless: a damaged
        index may hide a row from the read. A hidden row would block the next write of its key.
        """
        self.damaged += len(damaged)
        log.warning(
            "%d answers in the cache %s are damaged: they are asked again.",
            len(damaged),
            self.path,
        )
        with connection:
            connection.executemany(REMOVE_ANSWER, [(key,) for key in damaged | not_found])

    def write(self, values: Mapping[str, bytes]) -> None:
        """Adds the values to the file: all of the values, or no value if an error occurs. A key
        that exists keeps its old value.
        """

        def keep(connection: sqlite3.Connection) -> None:
            """Adds the values to the file, and evicts old values if the file is too large."""
            with connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO answers (key, value) VALUES (?, ?)",
                    _rows_with_hashes(values),
                )
                # evict down to less than max_bytes, so that not every `write` has to evict
                if _used_bytes(connection) > self.max_bytes:
                    while _used_bytes(connection) > EVICTED_TO * self.max_bytes:
                        connection.execute(REMOVE_OLDEST)

        self._with_connection(keep, create=True)

    def _with_connection(
        self, action: Callable[[sqlite3.Connection], None], create: bool = False
    ) -> None:
        """Calls `action` with a connection to the file, if the file exists. An error is not raised:
        the first error of this store is logged as a warning.

        create: whether to make the file if it does not exist.
        """
        try:
            if create and not self.path.exists():
                _create_store(self.path)
            if self.path.exists():
                patience = SHORT_LOCK_SECONDS if self._busy else LOCK_SECONDS
                with closing(_connection_to(self.path, patience)) as connection:
                    # NORMAL is enough with a write-ahead log: a killed process loses no committed
                    # value.
                    connection.execute("PRAGMA synchronous = NORMAL")
                    self._busy = False
                    action(connection)
        except Exception as error:  # any kind, because a damaged file may hold values of any type
            self._busy = "locked" in str(error)
            self._warn_once(error)

    def _warn_once(self, error: Exception) -> None:
        """Logs the first error of this store as a warning."""
        if not self._warned:
            log.warning(
                "the cache %s cannot be used (%s): the judge is asked instead.", self.path, error
            )
            self._warned = True


def _connection_to(path: Path, patience: float) -> sqlite3.Connection:
    """Returns a connection to a file that exists.

    patience: the most seconds to wait for another process's lock.
    """
    # mode=rw: if another process has just removed the file, SQLite raises, and does not make a new
    # file without the table. IMMEDIATE: a transaction takes its lock at its beginning, where SQLite
    # waits for another process. Later SQLite may not wait.
    place = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(place, patience, isolation_level="IMMEDIATE", uri=True)
    # damaged keys may be no UTF-8, for which sqlite3 would raise
    connection.text_factory = lambda text: text.decode(errors="replace")
    return connection


def _move_old_keys_to_the_end(
    connection: sqlite3.Connection, rows: Sequence[tuple[str, bytes, bool]]
) -> None:
    """Moves the rows of the older half of the file to its end, where they are evicted last. The
    rows of the younger half stay: they are not evicted soon, and most reads then write nothing.

    rows: the result of READ_VALUES.
    """
    old_keys: list[tuple[str]] = []
    for key, _, in_older_half in rows:
        if in_older_half:
            old_keys.append((key,))
    with connection:
        connection.executemany(TO_THE_END, old_keys)


def _with_hash(key: str, value: bytes) -> bytes:
    """Returns a value as the file stores it: the hash of key and value, then the value."""
    content = key.encode() + b"\0" + value
    return hashlib.blake2b(content, digest_size=HASH_BYTES).digest() + value


def _rows_with_hashes(values: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yields each key with its sealed value. A list would hold all values in memory twice."""
    for key, value in values.items():
        yield key, _with_hash(key, value)


def _create_store(path: Path) -> None:
    """Makes an empty store in a temporary folder and moves the file to `path`. SQLite would fail if
    two processes made the same file at once.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Lock the folder of the file, so that no lock file is needed.
    lock = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():  # another process made the file first
            return
        # Remove the log of an earlier file: if a process was killed and its store was removed,
        # SQLite would replay the log into the new store.
        for rest in ("-wal", "-shm"):
            path.with_name(path.name + rest).unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix=path.name, dir=path.parent) as folder:
            unfinished = Path(folder) / path.name
            with closing(sqlite3.connect(unfinished)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(CREATE_TABLE)
                connection.execute(f"PRAGMA application_id = {DATABASE_MARKS[0]}")
                connection.execute(f"PRAGMA user_version = {DATABASE_MARKS[1]}")
            unfinished.rename(path)
    finally:
        os.close(lock)  # this releases the lock


def _is_store(path: Path) -> bool:
    """Returns whether the file is a store of this version, by its header."""
    with path.open("rb") as file:
        header = file.read(72)
    # The offsets are from "The Database Header", section 1.3 of SQLite's file format.
    application_id = int.from_bytes(header[68:72], "big")
    user_version = int.from_bytes(header[60:64], "big")
    is_sqlite = header.startswith(b"SQLite format 3\0")
    return is_sqlite and (application_id, user_version) == DATABASE_MARKS


def _used_bytes(connection: sqlite3.Connection) -> int:
    """Returns the size of the file without its free pages, as the current transaction sees it."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return (pages - free) * size
