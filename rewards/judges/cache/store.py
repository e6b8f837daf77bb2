"""Bytes by key in one SQLite file that several processes use at once. It evicts the least recently
used values.

    store = Store(Path("ratings.sqlite"), max_bytes=1 << 30)
    store.write({"key": b"value"})
    store.read(["key", "other"])            # {"key": b"value"}

A store never stops a run. If the file cannot be used (damaged, disk full, read-only, locked too
long), it warns once; reads then find nothing and writes keep nothing. After a lock that took too
long, it waits only IMPATIENCE until the file is free again. Each value has a hash; a damaged value
is removed when it is read. A connection lives for one call, so a store can be pickled and its
process forked. What a killed process had committed stays. The file must be on a local disk, because
SQLite's write-ahead log does not work over a network.
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

PATIENCE = 30.0  # seconds to wait for another process's write
IMPATIENCE = 0.1  # seconds to wait after the file was locked for longer than PATIENCE
HASH_BYTES = 8
MARKS = (0x5370616E, 1)  # SQLite's application_id ("Span") and user_version (of our format)
# the share of max_bytes after an eviction; other processes wait for it, some seconds at 1 GiB
EVICTED_TO = 63 / 64
MIN_BYTES = 1 << 16

TABLE = (
    "CREATE TABLE answers (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, value BLOB NOT NULL)"
)
# An id says when a value was last used: a new value gets the largest, and so may one that is read.
# The third column says whether the value is in the older half of the ids. A damaged value may be
# NULL or a number, and is read as bytes all the same.
READ_VALUES = """SELECT key, coalesce(CAST(value AS BLOB), x''),
    2 * id < (SELECT min(id) FROM answers) + (SELECT max(id) FROM answers) FROM answers
    WHERE key IN (SELECT value FROM json_each(?))"""
TO_THE_END = "UPDATE answers SET id = (SELECT max(id) + 1 FROM answers) WHERE key = ?"
REMOVE = "DELETE FROM answers WHERE key = ?"
# the oldest 64th of the ids: up to min + (max - min) / 64
OLDEST = """DELETE FROM answers
    WHERE 64 * id <= 63 * (SELECT min(id) FROM answers) + (SELECT max(id) FROM answers)"""


class Store:
    """A file of values by key.

    Args:
        path: the file, which the first `write` makes.
        max_bytes: the file's largest size, at least 64 KiB. One `write` may exceed it by what it
            adds.

    Attributes:
        damaged: how many values were not what had been written.

    Raises:
        ValueError: for a smaller max_bytes, and for a path to a file of another kind or version.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        if max_bytes < MIN_BYTES:
            raise ValueError(
                f"max_bytes is {max_bytes}, and a cache needs at least {MIN_BYTES}: give it more."
            )
        # a file that cannot be read is no error: `_use` warns of it, and the judge is asked
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
        self._busy = False  # locked by another process for longer than PATIENCE

    def read(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Returns the values of the keys that exist. What is used thereby becomes the last to be
        evicted.
        """
        values: dict[str, bytes] = {}

        def read_rows(connection: sqlite3.Connection) -> None:
            # all keys in one parameter, because SQLite bounds how many a statement has
            cursor = connection.execute(READ_VALUES, (json.dumps(keys),))
            rows = cursor.fetchall()
            wished = set(keys)
            damaged: set[str] = set()
            for key, sealed, _ in rows:
                value = sealed[HASH_BYTES:]
                # a damaged index may return other keys
                if key in wished and sealed == _sealed(key, value):
                    values[key] = value
                else:
                    damaged.add(key)
            damaged -= values.keys()  # a damaged index may also return a key twice
            if damaged:
                self._remove(connection, damaged, wished - values.keys())
            # in a smaller file the order does not matter yet
            if _used_bytes(connection) > self.max_bytes // 2:
                # the younger half stays in its place, which saves most of these writes
                old_keys: list[tuple[str]] = []
                for key, _, in_older_half in rows:
                    if in_older_half:
                        old_keys.append((key,))
                with connection:
                    connection.executemany(TO_THE_END, old_keys)

        self._use(read_rows)
        return values

    def _remove(self, connection: sqlite3.Connection, damaged: set[str], missing: set[str]) -> None:
        """Removes and counts damaged values, and removes what is under the missing keys too: a
        damaged index may hide their rows.
        """
        self.damaged += len(damaged)
        log.warning(
            "%d answers in the cache %s are damaged: they are asked again.",
            len(damaged),
            self.path,
        )
        with connection:
            connection.executemany(REMOVE, [(key,) for key in damaged | missing])

    def write(self, values: Mapping[str, bytes]) -> None:
        """Keeps all values, or none if that fails. A key that exists keeps its value."""

        def keep(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO answers (key, value) VALUES (?, ?)", _sealed_rows(values)
                )
                # more than is needed for now, so that not each `write` has to evict
                if _used_bytes(connection) > self.max_bytes:
                    while _used_bytes(connection) > EVICTED_TO * self.max_bytes:
                        connection.execute(OLDEST)

        self._use(keep, create=True)

    def _use(self, action: Callable[[sqlite3.Connection], None], create: bool = False) -> None:
        """Runs the action on the file, if it exists. An error is a warning, once for this store.

        create: makes the file where there is none.
        """
        try:
            if create and not self.path.exists():
                _create(self.path)
            if self.path.exists():
                patience = IMPATIENCE if self._busy else PATIENCE
                # mode=rw: a file that was removed just now is not made anew without its table.
                # IMMEDIATE: a transaction waits for its lock at its beginning, where it can.
                place = f"{self.path.absolute().as_uri()}?mode=rw"
                with closing(
                    sqlite3.connect(place, patience, isolation_level="IMMEDIATE", uri=True)
                ) as connection:
                    # with a write-ahead log this loses no committed value to a killed process
                    connection.execute("PRAGMA synchronous = NORMAL")
                    # for damaged keys
                    connection.text_factory = lambda text: text.decode(errors="replace")
                    self._busy = False
                    action(connection)
        except Exception as error:  # a damaged file may hold values of any kind
            self._busy = "locked" in str(error)
            if not self._warned:
                log.warning(
                    "the cache %s cannot be used (%s): the judge is asked instead.",
                    self.path,
                    error,
                )
                self._warned = True


def _sealed(key: str, value: bytes) -> bytes:
    """Returns the hash of key and value, then the value."""
    content = key.encode() + b"\0" + value
    return hashlib.blake2b(content, digest_size=HASH_BYTES).digest() + value


def _sealed_rows(values: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yields keys with sealed values, one after another, so that many are not in memory twice."""
    for key, value in values.items():
        yield key, _sealed(key, value)


def _create(path: Path) -> None:
    """Makes an empty store elsewhere and moves it to its place: two processes that make one file
    fail in SQLite.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The folder is the lock: it is there before the file and needs no file of its own.
    lock = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():  # another process was faster
            return
        # left by a killed process whose file was removed; SQLite would replay them
        for rest in ("-wal", "-shm"):
            path.with_name(path.name + rest).unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix=path.name, dir=path.parent) as folder:
            unfinished = Path(folder) / path.name
            with closing(sqlite3.connect(unfinished)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(TABLE)
                connection.execute(f"PRAGMA application_id = {MARKS[0]}")
                connection.execute(f"PRAGMA user_version = {MARKS[1]}")
            unfinished.rename(path)
    finally:
        os.close(lock)  # which ends the lock too


def _is_store(path: Path) -> bool:
    """Returns whether the file's header says that it is a store of this version."""
    with path.open("rb") as file:
        header = file.read(72)
    # the offsets of SQLite's file format, section 1.3
    application_id = int.from_bytes(header[68:72], "big")
    user_version = int.from_bytes(header[60:64], "big")
    is_sqlite = header.startswith(b"SQLite format 3\0")
    return is_sqlite and (application_id, user_version) == MARKS


def _used_bytes(connection: sqlite3.Connection) -> int:
    """Returns the file's size without its free pages, as this transaction sees it."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return (pages - free) * size
