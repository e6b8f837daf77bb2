"""Bytes by key in one SQLite file, which several processes use at once and which forgets what is least used.

    store = Store(Path("ratings.sqlite"), max_bytes=1 << 30)
    store.write({"key": b"value"})
    store.read(["key", "other"])            # {"key": b"value"}

It never stops a run: where the file cannot be read or written (disk full, read-only, damaged, locked too long) one
warning says so, reads find nothing and writes keep nothing; what was locked too long is hardly waited for until it is
free again. A value is kept with a hash of itself, and one that was damaged is removed when it is read, as if it had
never been there. No connection outlives a call, so a store may be pickled and its process forked. A killed process
leaves what it had committed. The file must be on a local disk, as SQLite's write-ahead log does not work over a
network.

Rows are kept in the order of their last use: a new one comes last, and one that is read from the older half moves to
the end. Eviction cuts off the beginning, which frees whole pages.
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
IMPATIENCE = 0.1  # while it stays locked
HASH_BYTES = 8
MARKS = (0x5370616E, 1)  # SQLite's application_id ("Span") and user_version: whose file it is, and its format
KEPT = 63 / 64  # the share of max_bytes that an eviction leaves; others wait for it, some seconds at 1 GiB
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
    """max_bytes: the file's size, at least 64 KiB; it may exceed it by what one `write` adds.

    Attributes:
        damaged: values so far that were not what had been written.

    Raises ValueError for a smaller max_bytes, and for a path where there is a file of another kind or version, which is
    left as it is.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        if max_bytes < SMALLEST:
            raise ValueError(f"max_bytes is {max_bytes}, and a cache needs at least {SMALLEST}: give it more.")
        self.path = path
        self.max_bytes = max_bytes
        self.damaged = 0
        self._warned = False
        self._busy = False  # by another process, for longer than PATIENCE
        self.read([])

    def read(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values of those keys that are there. Raises ValueError as the constructor does."""
        found: dict[str, bytes] = {}
        try:
            if not self.path.exists():
                return found
            with self._connection() as connection:
                rows = connection.execute(READ, (json.dumps(keys),)).fetchall()
                asked = set(keys)  # a damaged index leads to other rows
                found = {
                    key: sealed[HASH_BYTES:]
                    for key, sealed, _ in rows
                    if key in asked and sealed == _sealed(key, sealed[HASH_BYTES:])
                }
                self._remove(connection, [key for key, *_ in rows if key not in found])
                if _used_bytes(connection) > self.max_bytes // 2:  # before, nothing is about to be evicted
                    with connection:
                        connection.executemany(TO_THE_END, [(key,) for key, _, old in rows if old])
        except (sqlite3.Error, OSError) as error:
            self._warn(error)
        return found

    def write(self, values: Mapping[str, bytes]) -> None:
        """Keep all of them or, where that fails, none; a key that is there keeps its value."""
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

    def _remove(self, connection: sqlite3.Connection, keys: Sequence[str]) -> None:
        """Forget the damaged values of these keys."""
        if keys:
            self.damaged += len(keys)
            log.warning("%d answers in the cache %s are damaged: they are asked again.", len(keys), self.path)
            with connection:
                connection.executemany(REMOVE, [(key,) for key in keys])

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection to the file, if it is one of ours."""
        with closing(_connect(self.path, IMPATIENCE if self._busy else PATIENCE)) as connection:
            if _marks(connection) != MARKS:
                raise ValueError(
                    f"{self.path} is not a cache of ratings, or of another version: remove it, or give another path."
                )
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.text_factory = lambda text: text.decode(errors="replace")  # a damaged key is another's
            yield connection
        self._busy = False

    def _warn(self, error: Exception) -> None:
        self._busy = "locked" in str(error)
        if not self._warned:
            log.warning("the cache %s cannot be used (%s): the judge is asked instead.", self.path, error)
            self._warned = True


def _connect(path: Path, patience: float) -> sqlite3.Connection:
    return sqlite3.connect(path, patience, isolation_level="IMMEDIATE")


def _sealed(key: str, value: bytes) -> bytes:
    """The value behind a hash of it and its key."""
    return hashlib.blake2b(key.encode() + b"\0" + value, digest_size=HASH_BYTES).digest() + value


def _create(path: Path) -> None:
    """Make an empty store, finished before anybody sees it: SQLite's own steps fail where two processes take them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent), tempfile.TemporaryDirectory(prefix=path.name, dir=path.parent) as folder:
        if path.exists():  # another process was faster
            return
        for rest in ("-wal", "-shm"):  # of a file that was removed after its process was killed: it would be replayed
            path.with_name(path.name + rest).unlink(missing_ok=True)
        unfinished = Path(folder) / path.name
        with closing(_connect(unfinished, PATIENCE)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(TABLE)
            connection.execute(f"PRAGMA application_id = {MARKS[0]}")
            connection.execute(f"PRAGMA user_version = {MARKS[1]}")
        unfinished.rename(path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process of this machine at a time."""
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """Whose file it is, and its format; zeros where it is not SQLite's."""
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            return (0, 0)
        raise
    return application, version


def _used_bytes(connection: sqlite3.Connection) -> int:
    """The file's size less its free pages, as this transaction sees it."""
    pragmas = ("page_count", "freelist_count", "page_size")
    pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas)
    return (pages - free) * size
