"""Store: nothing is lost or halved, whoever writes or dies, and no trouble is raised."""

import logging
import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards.judges.cache import store as module
from spanreward.rewards.judges.cache.store import Store

FORK = multiprocessing.get_context("fork")
MIB = 1 << 20


@pytest.fixture
def path(tmp_path: Path) -> Any:
    return tmp_path / "folder" / "ratings.sqlite"


def sql(path: Path, *statements: str) -> tuple[Any, ...] | None:
    """The first row that the last of the statements gives."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return [connection.execute(one).fetchone() for one in statements][-1]


def rows(name: str, count: int) -> dict[str, bytes]:
    return {f"{name}-{number}": f"{name} says {number}".encode() * 4 for number in range(count)}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_what_was_written_first_is_read(path: Path) -> None:
    store = Store(path, MIB)
    assert store.read(["a"]) == {}
    store.write({"a": b"\x00 \xff", "b": b""})
    store.write({"a": b"other", "c": b"3"})
    assert store.read(["c", "a", "b", "d"]) == {"a": b"\x00 \xff", "b": b"", "c": b"3"}
    assert Store(path, MIB).read(["a"]) == {"a": b"\x00 \xff"}
    assert [file.name for file in path.parent.iterdir()] == ["ratings.sqlite"]


def run_together(
    work: Callable[..., None], path: Path, names: Sequence[str], meanwhile: Callable[[], None]
) -> None:
    """Runs processes that begin at once, and asserts that none fails."""
    start = FORK.Barrier(len(names) + 1)
    processes = [FORK.Process(target=work, args=(path, name, start)) for name in names]
    for process in processes:
        process.start()
    start.wait()
    meanwhile()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(names)


@contextmanager
def locked(path: Path) -> Iterator[float]:
    """While another connection holds the file. Gives the time at which that begins."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield time.monotonic()


def write_rows(path: Path, name: str, start: Any, undamaged: bool = True) -> None:
    store = Store(path, 16 * MIB)
    start.wait()
    for number in range(20):
        values = rows(f"{name}.{number}", 20) | rows("shared", 20)
        store.write(values)
        found = store.read(list(values))
        assert found.items() <= values.items()
        assert not undamaged or found == values


def test_processes_write_at_once(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    names = ("one", "two", "three", "four")
    run_together(write_rows, path, names, lambda: None)  # the file is made at the same time, too
    values = rows("shared", 20)
    for name, number in product(names, range(20)):
        values |= rows(f"{name}.{number}", 20)
    assert Store(path, 16 * MIB).read(list(values)) == values
    assert warnings(caplog) == []


class Endless(dict):
    """Rows that stop coming after 50,000, more than SQLite holds in memory."""

    def __init__(self, reached: Any) -> None:
        self.reached = reached

    def items(self) -> Any:
        yield from rows("unfinished", 50_000).items()
        self.reached.set()
        time.sleep(600)


def test_a_process_killed_in_a_write_loses_that_alone(path: Path, caplog: Any) -> None:
    store, before, after = Store(path, 64 * MIB), rows("before", 100), rows("after", 100)
    store.write(before)
    with killed(lambda reached: store.write(Endless(reached))):
        # so the transaction is half on the disk
        assert path.with_name("ratings.sqlite-wal").stat().st_size > MIB
        assert store.read(list(before)) == before  # nobody waits for the writer
    started = time.monotonic()
    store.write(after)
    assert store.read([*before, *rows("unfinished", 50_000), *after]) == before | after
    assert time.monotonic() - started < 10  # its lock died with it
    assert sql(path, "PRAGMA integrity_check") == ("ok",)
    assert warnings(caplog) == []


def test_what_a_killed_process_left_stays_out(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store, new = Store(path, 64 * MIB), rows("new", 1000)

    def write_and_wait(reached: Any) -> None:
        store.write(rows("old", 1000))
        # the last one to be closed would tidy up
        with closing(sqlite3.connect(store.path)) as connection:
            connection.execute("SELECT 1 FROM answers").fetchall()
            store.write(rows("older", 1000))
            reached.set()
            time.sleep(600)

    with killed(write_and_wait):
        pass
    assert path.with_name("ratings.sqlite-wal").stat().st_size > 0
    path.unlink()  # as people do
    store.write(new)
    assert store.read([*rows("old", 1000), *new]) == new
    assert warnings(caplog) == []


@contextmanager
def killed(work: Callable[[Any], None]) -> Iterator[None]:
    """A process that is killed after the block, which begins when the process says so."""
    reached = FORK.Event()
    process = FORK.Process(target=work, args=(reached,))
    process.start()
    assert reached.wait(60)
    yield
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def test_eviction_keeps_what_is_used(path: Path) -> None:
    store = Store(path, MIB)
    used, unused = rows("used", 50), rows("unused", 50)
    store.write(used | unused)
    total = 0
    for number in range(75):
        values = rows(f"filling {number}", 500)
        total += sum(len(key) + len(value) for key, value in values.items())
        store.write(values)
        assert store.read(list(values)) == values
        assert store.read(list(used)) == used
    assert total > 3 * MIB
    assert store.read(list(unused)) == {}
    assert path.stat().st_size < MIB + 200_000  # what one call adds
    (kept,) = sql(path, "SELECT sum(length(key) + length(value)) FROM answers")
    assert kept > MIB / 4  # no more is forgotten than needs be


def test_more_than_fits_at_once(path: Path) -> None:
    store, values = Store(path, 1 << 16), rows("row", 5000)
    store.write(values)
    left = store.read(list(values))
    assert 100 < len(left) < 2000
    assert "row-4999" in left
    store.write({"big": b"x" * MIB})
    assert store.read(["big", "row-4999"]) == {}
    store.write({"small": b"1"})
    assert store.read(["small"]) == {"small": b"1"}


def test_reading_writes_nothing_while_there_is_room(path: Path) -> None:
    store, values = Store(path, MIB), rows("row", 1000)
    store.write(values)
    before = path.read_bytes()
    assert len(store.read(list(values)[:10])) == 10
    assert path.read_bytes() == before


def test_a_full_disk_is_said_once(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As on a full disk, writing fails from a size on."""
    store, before, room = Store(path, 64 * MIB), rows("before", 100), rows("room again", 50_000)
    store.write(before)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, limits[1]))
    try:
        store.write(rows("too many", 50_000))
        store.write(rows("too many", 50_000))
        assert store.read([*before, "too many-0"]) == before
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    (message,) = warnings(caplog)
    assert "ratings.sqlite cannot be used (" in message
    store.write(room)
    assert store.read(list(room)) == room


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nobody may write here; root becomes another user, as permissions do not bind it."""
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.mark.parametrize("exists", [True, False])
def test_a_read_only_folder_is_said_once(exists: bool, caplog: pytest.LogCaptureFixture) -> None:
    with tempfile.TemporaryDirectory() as folder:  # unlike tmp_path, in a folder that all may enter
        path = Path(folder) / "ratings.sqlite"
        if exists:
            Store(path, MIB).write({"a": b"1"})
            path.chmod(0o444)
        with read_only(Path(folder)):
            store = Store(path, MIB)
            store.write({"b": b"2"})
            assert "b" not in store.read(["a", "b"])
        (message,) = warnings(caplog)
        assert str(path) in message
        assert Store(path, MIB).read(["a", "b"]) == ({"a": b"1"} if exists else {})


def test_a_folder_that_cannot_be(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no folder")
    store = Store(tmp_path / "file" / "ratings.sqlite", MIB)
    store.write({"a": b"1"})
    assert store.read(["a"]) == {}
    assert len(warnings(caplog)) == 1


def test_a_lock_that_is_held_too_long_is_not_waited_for(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(path, MIB)
    store.write({"a": b"1"})
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.1)
    with locked(path):
        store.write({"b": b"2"})
        assert store.read(["a", "b"]) == {"a": b"1"}
    (message,) = warnings(caplog)
    assert "database is locked" in message


def test_only_the_first_call_waits_for_a_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(path, MIB)
    store.write({"a": b"1"})
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.5)
    monkeypatch.setattr(module, "SHORT_LOCK_SECONDS", 0.01)
    seconds = []
    with locked(path):
        for number in range(50):
            start = time.monotonic()
            store.write({f"b{number}": b"2"})
            seconds.append(time.monotonic() - start)
    assert [number for number, waited in enumerate(seconds) if waited > 0.45] == [0]
    store.write({"c": b"3"})
    assert store.read(["a", "b0", "c"]) == {"a": b"1", "c": b"3"}
    with locked(path) as start:  # and it is patient again
        store.write({"d": b"4"})
        assert time.monotonic() - start > 0.45


@pytest.mark.parametrize(
    "value",
    [
        *("'text'", "'1'", "CAST(x'ff' AS TEXT)", "7", "x''", "x'00'"),
        "(SELECT value FROM answers LIMIT 1)",
    ],
)
def test_a_damaged_value_is_none_and_makes_room_for_another(
    path: Path, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    store = Store(path, MIB)
    store.write({"a": b"1", "b": b"2"})
    sql(path, f"UPDATE answers SET value = {value} WHERE key = 'b'")
    assert store.read(["a", "b"]) == {"a": b"1"}
    assert store.damaged == 1
    assert f"{path} are damaged" in caplog.text
    store.write({"b": b"3"})
    assert store.read(["a", "b"]) == {"a": b"1", "b": b"3"}
    assert store.damaged == 1


def test_a_damaged_file_is_said_once_and_left(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Store(path, MIB).write(rows("row", 1000))
    whole = path.read_bytes()
    damaged = whole[:4096] + b"\xa5" * (len(whole) - 4096)
    path.write_bytes(damaged)
    store, new = Store(path, MIB), rows("new", 1000)
    assert store.read(list(rows("row", 1000))) == {}
    store.write(new)
    assert store.read([*new, "row-1"]) == {}
    (message,) = warnings(caplog)
    assert "ratings.sqlite cannot be used (database disk" in message
    path.unlink()
    store.write(new)
    assert store.read(list(new)) == new


def test_a_file_of_no_text_stops_nobody(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What SQLite says of it has these words, and is no UTF-8."""
    Store(path, MIB).write(rows("row", 10))
    content = path.read_bytes()
    content = content.replace(b"tableanswersanswers", b"tableansw\xff\xfesanswers")
    path.write_bytes(content.replace(b"CREATE TABLE", b"CREATF TABLE"))
    store = Store(path, MIB)
    assert store.read(["row-1"]) == {}
    store.write(rows("new", 1))
    (message,) = warnings(caplog)
    assert f"the cache {path} cannot be used" in message


def test_one_flipped_bit_anywhere_stops_nobody(tmp_path: Path) -> None:
    """In the header, in a page's header and table, and anywhere: 200 copies."""
    path, values, chance = tmp_path / "whole", rows("row", 120), random.Random(0)
    Store(path, MIB).write(values)
    whole = path.read_bytes()
    places = [chance.randrange(100) for _ in range(70)]
    places += [chance.randrange(0, len(whole), 4096) + chance.randrange(200) for _ in range(70)]
    places += [chance.randrange(len(whole)) for _ in range(60)]
    usable = 0
    for number, place in enumerate(places):
        content = bytearray(whole)
        content[place] ^= 1 << chance.randrange(8)
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(content)
        try:
            store = Store(path, MIB)
        except ValueError:
            assert place < 72  # the marks in its header
            continue
        assert store.read(list(values)).items() <= values.items()
        store.write(values)
        store.write({"new": b"1"})
        other = Store(path, MIB)
        assert other.read(list(values)).items() <= values.items()
        usable += other.read(["new"]) == {"new": b"1"}
    assert usable > 100


def test_a_file_damaged_under_several_processes_stops_none(path: Path) -> None:
    Store(path, 16 * MIB).write(rows("before", 2000))

    def damage() -> None:
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xa5" * 4096 * 5)

    run_together(partial(write_rows, undamaged=False), path, ("one", "two", "three"), damage)


def other_database(path: Path) -> None:
    sql(path, "CREATE TABLE answers (id INTEGER PRIMARY KEY, key TEXT, value BLOB)")


def other_version(path: Path) -> None:
    Store(path, MIB).write({"a": b"1"})
    sql(path, f"PRAGMA user_version = {module.DATABASE_MARKS[1] + 1}")


@pytest.mark.parametrize(
    "make", [other_database, other_version, b"id,rating\n1,5\n", b"some text\n" * 1000, b""]
)
def test_other_files_are_refused_and_left_as_they_are(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "file"
    if isinstance(make, bytes):
        path.write_bytes(make)
    else:
        make(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"file .*remove it"):
        Store(path, MIB)
    assert path.read_bytes() == before


def test_a_damaged_index_gives_no_other_answer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by atheris: one byte of the index led from a key to another key's row."""
    store = Store(path, MIB)
    store.write({"a": b"of a"})
    monkeypatch.setattr(module, "READ_VALUES", "SELECT 'a', value, 0 FROM answers WHERE ? != ''")
    assert store.read(["b"]) == {}
    assert store.read(["a"]) == {}  # removed, as it is not where it belongs
