"""Outputs that exist, and inputs that would have been outputs."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards.files import outputs
from spanreward.rewards.files.outputs import (
    check_apart,
    check_json,
    resumed_lines,
    write_json,
    write_whole,
)
from tests.support.files import on_full_disk


@pytest.mark.parametrize(
    "path", ["rows", "./rows", "hard", "soft", "folder/rows", "x/../rows", "folder/new", "new"]
)
def test_an_input_is_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    rows, other, new = tmp_path / "rows", tmp_path / "other", tmp_path / "new"  # new is not there
    rows.write_text("mine\n")
    os.link(rows, tmp_path / "hard")
    (tmp_path / "soft").symlink_to(rows)
    (tmp_path / "folder").symlink_to(tmp_path)
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path)
    check_apart([other, None], [rows, None])
    with pytest.raises(ValueError, match=f"{path.rpartition('/')[2]} is an input"):
        check_apart([other, Path(path)], [rows, new])


@pytest.mark.parametrize(
    "numbers", [{"a": 1}, {"a": 1, "made": {"by": "you", "with": [1, 2]}, "b": None}]
)
def test_numbers_of_the_same_command_are_replaced(tmp_path: Path, numbers: Any) -> None:
    path = tmp_path / "new" / "numbers.json"
    like = {"a": None, **({"made": numbers["made"]} if "made" in numbers else {})}
    check_json(path, like, overwrite=False)
    write_json(path, numbers)
    check_json(path, like, overwrite=False)
    assert json.loads(path.read_text()) == numbers
    path.write_text("")
    check_json(path, like, overwrite=False)  # as mktemp leaves it


@pytest.mark.parametrize("content", [
    "{}", "[]", "mine", '{"a": 1, "made": {"by": "me"}}', '{"made": {"by": "you"}}', "\x00",
])  # fmt: skip
def test_a_file_of_anything_else_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "numbers.json"
    path.write_text(content)
    like = {"a": None, "made": {"by": "you"}}
    with pytest.raises(ValueError, match=r"numbers.json exists, .*'(a|made)'"):
        check_json(path, like, overwrite=False)
    check_json(path, like, overwrite=True)
    check_json(None, like, overwrite=False)
    check_json(Path("/dev/stdout"), like, overwrite=False)


def test_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "page.html", tmp_path / "link.html"
    write_whole(path, "old")
    link.symlink_to(path)
    write_whole(link, "new")
    assert (link.is_symlink(), path.read_text()) == (True, "new")
    monkeypatch.setattr(outputs, "_new_file", on_full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "x" * 100_000)
    assert path.read_text() == "new"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.html", "page.html"]


def test_no_link_is_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, victim = tmp_path / "page.html", tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "page.html.tmp").symlink_to(victim)
    write_whole(path, "new")
    assert (path.read_text(), victim.read_text()) == ("new", "mine")
    monkeypatch.setattr(outputs, "token_hex", lambda count: "guessed")
    (tmp_path / "page.html.guessed.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(path, "newer")
    assert (path.read_text(), victim.read_text()) == ("new", "mine")


def test_a_new_file_has_the_mode_that_any_has(tmp_path: Path) -> None:
    write_whole(tmp_path / "page.html", "new")
    (tmp_path / "other").write_text("new")
    modes = [(tmp_path / name).stat().st_mode for name in ("page.html", "other")]
    assert modes[0] == modes[1]


def test_lines_go_on_after_what_an_interrupted_run_has_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lines.jsonl"
    with resumed_lines(path, {"judge": "a"}, {"id": int}) as (file, lines):
        assert list(lines) == []
        file.write('{"id": 1}\n{"id": 2}\n{"id"')
    with resumed_lines(path, {"judge": "a"}, {"id": int}) as (file, lines):
        assert list(lines) == [{"id": 1}, {"id": 2}]
        file.write('{"id": 3}\n')
    assert path.read_text() == '{"id": 1}\n{"id": 2}\n{"id": 3}\n'
    with pytest.raises(ValueError, match="made with"), resumed_lines(path, {"judge": "b"}, {}):
        pass
    with (
        pytest.raises(ValueError, match=r"line 1 of .* 'score'"),
        resumed_lines(path, {"judge": "a"}, {"score": int}),
    ):
        pass
    with resumed_lines(path, {"judge": "b"}, {"id": int}, overwrite=True) as (_, lines):
        assert list(lines) == []
    assert path.read_text() == ""
    # a kill before the first line
    with resumed_lines(path, {"judge": "c"}, {"id": int}) as (_, lines):
        assert list(lines) == []


def test_what_cannot_be_an_output_of_lines(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    told = "mine.txt .*nothing says .*mine.txt.settings"
    with pytest.raises(ValueError, match=told), resumed_lines(tmp_path / "mine.txt", {}, {}):
        pass
    pipe = tmp_path.with_name(f"{tmp_path.name}.pipe")
    os.mkfifo(pipe)
    for place in (tmp_path, pipe):  # /dev/stdout is a pipe behind `| head`
        with pytest.raises(ValueError, match="is no plain file"), resumed_lines(place, {}, {}):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
