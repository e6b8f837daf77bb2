"""Bytes by key in one SQLite file that several processes use at once. It evicts the least recently used values.

    store = Store(Path("ratings.sqlite"), max_bytes=1 << 30)
    store.write({"key": b"value"})
    store.read(["key", "other"])            # {"key": b"value"}

A store never stops a run. If the file cannot be used (disk full, read-only, damaged, locked too long), it warns once;
reads then find nothing and writes keep nothing. After a lock that took too long, it waits only IMPATIENCE until the
file is free again. Each value has a hash; a damaged value is removed when it is read. A connection lives for one call,
so a store can be pickled and its process forked. What a killed process had committed stays. The file must be on a
local disk, because SQLite's write-ahead log does not work over a network.

Rows are in the order of their last use: a new row comes last, and a row of the older half moves to the end when it is
read. Eviction deletes the first rows, which frees whole pages.
"""

import fcntl
import hashlib
import json
import logging
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

log = logging.getLogger(__name__)

PATIENCE = 30.0  # seconds to wait for another process's write
IMPATIENCE = 0.1  # seconds to wait after the file was locked for longer than PATIENCE
HASH_BYTES = 8
MARKS = (0x5370616E, 1)  # SQLite's application_id ("Span") and user_version (of our format)
KEPT = 63 / 64  # the share of max_bytes after an eviction; other processes wait for it, some seconds at 1 GiB
SMALLEST = 1 << 16

TABLE = "CREATE TABLE answers (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, value BLOB NOT NULL)"
READ = """SELECT key, coalesce(CAST(value AS BLOB), x''),
    2 * id < (SELECT min(id) FROM answers) + (SELECT max(id) FROM answers) FROM answers
    WHERE key IN (SELECT value FROM json_each(?))"""
TO_THE_END = "UPDATE answers SET id = (SELECT max(id) + 1 FROM answers) WHERE key = ?"
REMOVE = "DELETE FROM answers WHERE key = ?"
OLDEST = """DELETE FROM answers
    WHERE 64 * id <= 63 * (SELECT min(id) FROM answers) + (SELECT max(id) FROM answers)"""


class Store:
    """max_bytes: the file's largest size, at least 64 KiB. One `write` may exceed it by what it adds.

    damaged: how many values were not what had been written.

    Raises ValueError for a smaller max_bytes, and for a path to a file of another kind or version.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        if max_bytes < SMALLEST:
            raise ValueError(f"max_bytes is {max_bytes}, and a cache needs at least {SMALLEST}: give it more.")
        self.path = path
        self.max_bytes = max_bytes
        self.damaged = 0
        self._warned = False
        self._busy = False  # locked by another process for longer than PATIENCE
        self.read([])

    def read(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Returns the values of the keys that exist. Raises ValueError as the constructor does."""
        found: dict[str, bytes] = {}
        try:
            if not self.path.exists():
                return found
            with self._connection() as connection:
                rows = connection.execute(READ, (json.dumps(keys),)).fetchall()
                asked = set(keys)  # a damaged index may return other rows
                found = {
                    key: sealed[HASH_BYTES:]
                    for key, sealed, _ in rows
                    if key in asked and sealed == _sealed(key, sealed[HASH_BYTES:])
                }
                wrong = [(key,) for key, *_ in rows if key not in found]
                if wrong:
                    self.damaged += len(wrong)
                    log.warning("%d answers in the cache %s are damaged: they are asked again.", len(wrong), self.path)
                    with connection:
                        connection.executemany(REMOVE, wrong)
                if _used_bytes(connection) > self.max_bytes // 2:  # in a smaller file the order does not matter yet
                    with connection:
                        connection.executemany(TO_THE_END, [(key,) for key, _, old in rows if old])
        except (sqlite3.Error, OSError) as error:
            self._warn(error)
        return found

    def write(self, values: Mapping[str, bytes]) -> None:
        """Keeps all values, or none if that fails. A key that exists keeps its value."""
        try:
            if not self.path.exists():
                _create(self.path)
            sealed = ((key, _sealed(key, value)) for key, value in values.items())
            with self._connection() as connection, connection:
                connection.executemany("INSERT OR IGNORE INTO answers (key, value) VALUES (?, ?)", sealed)
                if _used_bytes(connection) > self.max_bytes:
                    while _used_bytes(connection) > KEPT * self.max_bytes:
                        connection.execute(OLDEST)
        except (sqlite3.Error, OSError) as error:
            self._warn(error)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Connects to the file. Raises ValueError if it is not a store of this version."""
        patience = IMPATIENCE if self._busy else PATIENCE
        with closing(sqlite3.connect(self.path, patience, isolation_level="IMMEDIATE")) as connection:
            if _marks(connection) != MARKS:
                raise ValueError(
                    f"{self.path} is not a cache of ratings, or of another version: remove it, or give another path."
                )
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.text_factory = lambda text: text.decode(errors="replace")  # for damaged keys
            yield connection
        self._busy = False

    def _warn(self, error: Exception) -> None:
        self._busy = "locked" in str(error)
        if not self._warned:
            log.warning("the cache %s cannot be used (%s): the judge is asked instead.", self.path, error)
            self._warned = True


def _sealed(key: str, value: bytes) -> bytes:
    """The hash of key and value, then the value."""
    return hashlib.blake2b(key.encode() + b"\0" + value, digest_size=HASH_BYTES).digest() + value


def _create(path: Path) -> None:
    """Makes an empty store elsewhere and moves it to its place: two processes that make one file fail in SQLite."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent), tempfile.TemporaryDirectory(prefix=path.name, dir=path.parent) as folder:
        if path.exists():  # another process was faster
            return
        for rest in ("-wal", "-shm"):  # left by a killed process whose file was removed; SQLite would replay them
            path.with_name(path.name + rest).unlink(missing_ok=True)
        unfinished = Path(folder) / path.name
        with closing(sqlite3.connect(unfinished)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(TABLE)
            connection.execute(f"PRAGMA application_id = {MARKS[0]}")
            connection.execute(f"PRAGMA user_version = {MARKS[1]}")
        unfinished.rename(path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lets one process of this machine at a time into the `with`."""
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """application_id and user_version; zeros if it is not a file of SQLite."""
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            return (0, 0)
        raise
    return application, version


def _used_bytes(connection: sqlite3.Connection) -> int:
    """The file's size without its free pages, as this transaction sees it."""
    pragmas = ("page_count", "freelist_count", "page_size")
    pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas)
    return (pages - free) * size
