"""Sequences on the disk: what was put in comes out, and memory holds none of it."""

import gc
import json
import os
import pickle
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards.files import on_disk
from spanreward.rewards.files.on_disk import Lines, OnDisk
from spanreward.rewards.rows.lines import read_rows


@pytest.mark.parametrize("in_memory", [0, 1 << 20])
def test_values_come_back_in_any_order(in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes lie behind the JSON. What would come back as another value stays in memory."""
    monkeypatch.setattr(on_disk, "IN_MEMORY", in_memory)
    lock = threading.Lock()  # cannot be pickled
    in_json = [{"a": "\ud800"}, b"\0\n", 10**400, None, "", float("inf")]
    in_json.append({"image": {"bytes": b"\x89PNG\0", "path": None}, "again": [b"", b"\xff"]})
    in_json.append({"halves": "\ud83d\ude00", "whole": "\U0001f600"})
    others = [lock, (1.5, 2), {1: "a number for a key"}, {"a tuple": (1, 2)}, {"set": {1}}]
    values = [*in_json, *others]
    kept = OnDisk(iter(values))
    assert list(kept) == values
    assert [kept[number] for number in kept._in_memory] == others
    for number in (8, 0, 2, -1, -13):
        assert kept[number] == values[number]
    assert (kept[1:5:2], kept[15:], kept[8] is lock) == (values[1:5:2], [], True)
    for number in (13, -14):
        with pytest.raises(IndexError):
            kept[number]
    assert list(OnDisk([])) == []


def test_values_are_on_the_disk_alone() -> None:
    """8 bytes a value, however large; an array of them grows by an eighth at a time."""

    def texts(count: int) -> Iterator[str]:
        for number in range(count):
            yield f"{number} " * 1000

    def kept_bytes(count: int) -> int:
        tracemalloc.start()
        kept = OnDisk(texts(count))
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(kept) == count
        return size

    assert kept_bytes(2000) - kept_bytes(1000) <= 16 * 1000


def test_a_full_disk_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """People seldom know that rows lie in the folder for temporary files."""
    monkeypatch.setattr(on_disk, "without_name", partial(Path("/dev/full").open, "r+b"))
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    with pytest.raises(OSError, match=r"No space left .*TMPDIR"):
        OnDisk(number * "x" for number in range(1000))
    gc.collect()
    assert unraisable == []


def test_whole_lines_are_read_where_they_lie(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a": 1}\n[2]\nbroken\n\n{"a": 3}\n{"a"')
    lines = Lines(path)
    assert list(lines) == [{"a": 1}, {}, {}, {}, {"a": 3}]
    assert lines.size == path.read_bytes().rindex(b"\n") + 1
    with path.open("a") as file:
        file.truncate(lines.size)
        file.write('{"a": 4}\n')
        file.flush()
        assert len(lines) == 5
        lines.grow()
        assert (lines[5], lines[-6], lines[4:]) == ({"a": 4}, {"a": 1}, [{"a": 3}, {"a": 4}])
        file.truncate(0)
        lines.forget()
        file.write('{"b": 5}\n')
        file.flush()
        lines.grow()
    assert list(lines) == [{"b": 5}]


def test_a_cut_end_that_was_read_is_not_read_again(tmp_path: Path) -> None:
    """What a killed run left of a long line may be longer than all lines that follow."""
    path = tmp_path / "lines.jsonl"
    path.write_text('{"a": 1}\n{"a": "' + 1000 * "x")
    lines = Lines(path)
    assert list(lines) == [{"a": 1}]
    with path.open("a") as file:
        file.truncate(lines.size)
        file.write('{"a": 2}\n{"a": 3}\n')
    lines.grow()
    assert list(lines) == [{"a": 1}, {"a": 2}, {"a": 3}]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_rows_come_through_a_pipe(tmp_path: Path, ending: str) -> None:
    """A pipe is read once, and a table's marks are looked at before its rows."""
    content: Any = json.dumps({"completion": "A dog.", "reference": "A cat."}) + "\n"
    if ending == "csv":
        content = 'completion,reference\n"A dog.",A cat.\n'
    pipe = tmp_path / f"rows.{ending}"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(content,))
    writer.start()
    (row,) = read_rows(pipe)
    writer.join()
    assert dict(row.values) == {"completion": "A dog.", "reference": "A cat."}


def test_what_another_program_wrote_never_runs() -> None:
    """It would, if the file held pickles: one may call any function."""
    rows = OnDisk([{"id": "a"}, {"id": "b" * 100}])
    rows._file.seek(rows._ends[1])
    rows._file.write(pickle.dumps(Calling("planted")))
    assert rows[0] == {"id": "a"}
    with pytest.raises(ValueError, match=r"codec|Expecting|Extra data"):
        _ = rows[1]
    assert CALLS == []


CALLS: list[str] = []


class Calling:
    """A value whose pickle notes that it was read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> Any:
        return CALLS.append, (self.name,)
