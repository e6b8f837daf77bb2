"""Bytes by key in one SQLite file that several processes use at once. It evicts the least recently used values.

    store = Store(Path("ratings.sqlite"), max_bytes=1 << 30)
    store.write({"key": b"value"})
    store.read(["key", "other"])            # {"key": b"value"}

A store never stops a run. If the file cannot be used (disk full, read-only, locked too long), it warns once; reads
then find nothing and writes keep nothing. After a lock that took too long, it waits only IMPATIENCE until the file is
free again. Each value has a hash; a damaged value is removed when it is read. A damaged file is renamed (.damaged-1),
and a new one begins. A connection lives for one call, so a store can be pickled and its process forked. What a killed
process had committed stays. The file must be on a local disk, because SQLite's write-ahead log does not work over a
network.

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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

log = logging.getLogger(__name__)

PATIENCE = 30.0  # seconds to wait for another process's write
IMPATIENCE = 0.1  # seconds to wait after the file was locked for longer than PATIENCE
HASH_BYTES = 8
MARKS = (0x5370616E, 1)  # SQLite's application_id ("Span") and user_version (of our format)
KEPT = 63 / 64  # the share of max_bytes after an eviction; other processes wait for it, some seconds at 1 GiB
SMALLEST = 1 << 16
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # ERROR: the table is not as made here
WAL = 2  # the format in byte 18 of a file with a write-ahead log; SQLite writes to none of a later format
BESIDE = ("", "-wal", "-shm")  # the files of one store

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
        if path.is_file() and os.access(path, os.R_OK) and not _is_store(path):
            raise ValueError(
                f"{path} is not a cache of ratings, or of another version: remove it, or give another path."
            )
        self.path = path
        self.max_bytes = max_bytes
        self.damaged = 0
        self._warned = False
        self._busy = False  # locked by another process for longer than PATIENCE

    def read(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Returns the values of the keys that exist."""
        found: dict[str, bytes] = {}

        def read_rows(connection: sqlite3.Connection) -> None:
            rows = connection.execute(READ, (json.dumps(keys),)).fetchall()
            asked = set(keys)
            for key, sealed, _ in rows:
                value = sealed[HASH_BYTES:]
                if key in asked and sealed == _sealed(key, value):  # a damaged index may return other keys
                    found[key] = value
            damaged = {key for key, *_ in rows} - found.keys()
            if damaged:
                self.damaged += len(damaged)
                log.warning("%d answers in the cache %s are damaged: they are asked again.", len(damaged), self.path)
                not_found = asked - found.keys()  # a damaged index may hide their rows
                _remove(connection, damaged | not_found)
            if _used_bytes(connection) > self.max_bytes // 2:  # in a smaller file the order does not matter yet
                old_keys = [(key,) for key, _, in_older_half in rows if in_older_half]
                with connection:
                    connection.executemany(TO_THE_END, old_keys)

        self._use(read_rows)
        return found

    def write(self, values: Mapping[str, bytes]) -> None:
        """Keeps all values, or none if that fails. A key that exists keeps its value."""

        def keep(connection: sqlite3.Connection) -> None:
            sealed = ((key, _sealed(key, value)) for key, value in values.items())
            with connection:
                connection.executemany("INSERT OR IGNORE INTO answers (key, value) VALUES (?, ?)", sealed)
                if _used_bytes(connection) > self.max_bytes:
                    while _used_bytes(connection) > KEPT * self.max_bytes:
                        connection.execute(OLDEST)

        if self._use(keep, create=True):  # was damaged
            self._use(keep, create=True)

    def remove(self, keys: Collection[str]) -> None:
        """Forgets these keys, such as those of values that are not what was asked for."""
        self._use(lambda connection: _remove(connection, keys))

    def _use(self, action: Callable[[sqlite3.Connection], None], create: bool = False) -> bool:
        """Runs the action on the file, if it exists. Returns True if the file was damaged, and is now set aside."""
        try:
            if create and not self.path.exists():
                _create(self.path)
            if self.path.exists():
                inode = self.path.stat().st_ino
                try:
                    with self._connection() as connection:
                        action(connection)
                except sqlite3.DatabaseError as error:
                    code = error.sqlite_errorcode & 0xFF
                    if not (code in DAMAGE or (code == sqlite3.SQLITE_READONLY and _page(self.path)[18] != WAL)):
                        raise
                    _set_aside(self.path, inode, error)
                    return True
        except (sqlite3.Error, OSError) as error:
            self._warn(error)
        return False

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Connects to the file and never makes one. Raises DatabaseError also if its marks are another file's."""
        patience, place = IMPATIENCE if self._busy else PATIENCE, f"{self.path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(place, patience, isolation_level="IMMEDIATE", uri=True)) as connection:
            pragmas = ("application_id", "user_version")
            if tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas) != MARKS:
                other = sqlite3.DatabaseError("it does not begin as a cache does")
                other.sqlite_errorcode = sqlite3.SQLITE_NOTADB
                raise other
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
        for rest in BESIDE[1:]:  # left by a killed process whose file was removed; SQLite would replay them
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


def _is_store(path: Path) -> bool:
    """Whether the first page says that the file is a store of this version. One bit of the page may be damaged."""
    page = _page(path)
    version = int.from_bytes(page[60:64], "big")
    marked = page[:16] == b"SQLite format 3\0" and (int.from_bytes(page[68:72], "big"), version) == MARKS
    return marked or (TABLE.encode() in page and (version ^ MARKS[1]).bit_count() < 2)


def _page(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096)


def _set_aside(path: Path, inode: int, error: sqlite3.DatabaseError) -> None:
    """Renames a damaged store, unless another process has done so: then the file has another inode, or is missing."""
    with _locked(path.parent):
        if not path.exists() or path.stat().st_ino != inode:
            return
        aside = next(name for n in count(1) if not (name := path.with_name(f"{path.name}.damaged-{n}")).exists())
        for rest in BESIDE:
            if (file := path.with_name(path.name + rest)).exists():
                file.rename(aside.with_name(aside.name + rest))
    log.warning("the cache %s is damaged (%s): it is now %s, and a new one begins.", path, error, aside.name)


def _remove(connection: sqlite3.Connection, keys: Collection[str]) -> None:
    with connection:
        connection.executemany(REMOVE, [(key,) for key in keys])


def _used_bytes(connection: sqlite3.Connection) -> int:
    """The file's size without its free pages, as this transaction sees it."""
    pragmas = ("page_count", "freelist_count", "page_size")
    pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas)
    return (pages - free) * size
