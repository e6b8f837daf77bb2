"""The rule for the files that a command writes: an output that exists is resumed under the same
settings, refused, or overwritten by --overwrite. An input is never an output.

    check_apart([Path("verdicts.jsonl"), None], [Path("rows.jsonl")])
    with resumed_lines(Path("verdicts.jsonl"), {"reward": "posh"}, {"id": str}) as (file, lines):
        file.write(...)  # after `lines`, the whole lines that an interrupted run has left
    write_whole(Path("page.html"), "<p>...")    # whole, or not at all
"""

import fcntl
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any, TextIO

from spanreward.rewards.files.json_lines import object_in
from spanreward.rewards.files.on_disk import Lines

OUTPUT_REMEDY = "choose another output, or --overwrite to start anew."


def check_apart(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Raises ValueError for an output that is the same file as an input or another output, even
    under another path or through a link. None stands for a file that is not used.
    """
    roles: dict[Any, str] = {}  # the role in the command of each file, by the file's identity
    for path in inputs:
        if path:
            roles[_identity_of(path)] = "an input"
    for path in outputs:
        if not path:
            continue
        identity = _identity_of(path)
        if identity in roles:
            raise ValueError(
                f"{path} is {roles[identity]} of this command, which would be lost: choose another "
                "output."
            )
        roles[identity] = "another output"


def _identity_of(path: Path) -> Any:
    """Returns a value that is equal for all names of one file: its device and inode. For a missing
    file the value is its absolute path.
    """
    if not path.exists():
        return path.resolve()
    status = path.stat()
    return status.st_dev, status.st_ino


@contextmanager
def resumed_lines(
    output: Path,
    settings: Mapping[str, Any],
    keys: Mapping[str, Any],
    overwrite: bool = False,
) -> Iterator[tuple[TextIO, Lines]]:
    """Yields the output, opened for appending, and the objects of the lines that an earlier run has
    left in the output.

    A last line that was cut is removed. While the output is open, no other process may write it.

    settings: everything that decides the lines; kept in `<output>.settings.json`. keys: the keys
    that each line must have, with the types of their values. overwrite: removes the lines first.

    Raises ValueError if another process writes the output, if its settings differ, or if a line
    lacks a key.
    """
    if output.exists() and not output.is_file():
        raise ValueError(
            f"{output} is no plain file, and what was written is read again: choose another output."
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("a", encoding="utf-8") as file:
        _lock(file, output)
        if overwrite:
            file.truncate(0)  # before new settings are written
        has_lines = output.stat().st_size > 0
        settings_file = output.with_name(f"{output.name}.settings.json")
        settle_settings(settings_file, settings, output if has_lines else None)
        lines = Lines(output)
        # even with equal settings the lines may be of another command
        _check_keys(lines, keys, output)
        file.truncate(lines.size)  # removes a last line that was cut
        yield file, lines


def _lock(file: TextIO, output: Path) -> None:
    """Locks an opened output, so that only one process writes it. Raises ValueError if another
    process has locked or replaced the output.

    The lock ends when the file is closed, even if the process is killed.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # another process may have replaced the file since it was opened here
        opened = os.fstat(file.fileno())
        if not os.path.samestat(opened, output.stat()):
            raise BlockingIOError
    except BlockingIOError:
        raise ValueError(
            f"another process writes {output}: wait for its end, or choose another output."
        ) from None


def _check_keys(lines: Lines, keys: Mapping[str, Any], output: Path) -> None:
    """Raises ValueError if a line of the output lacks a key, or has a value of a wrong type.

    keys: the needed keys, with the types of their values.
    """
    for number, line in enumerate(lines, start=1):
        for key, kind in keys.items():
            if key not in line or not isinstance(line[key], kind):
                raise ValueError(
                    f"line {number} of {output} has no {key!r} as each has here: {OUTPUT_REMEDY}"
                )


def settle_settings(settings_file: Path, settings: Mapping[str, Any], output: Path | None) -> None:
    """Writes the settings of a new output to `settings_file`. For an output that already has lines,
    checks instead that the settings in `settings_file` are the same.

    output: the output if it already has lines, or None. Raises ValueError if `output` is given, and
    `settings_file` is missing or has other settings. The version of this package is one of the
    settings.
    """
    new_settings = _settings_as_json(settings)
    if output is None:
        write_json(settings_file, new_settings)
        return
    old_settings: dict[str, Any] = {}
    if settings_file.is_file():
        old_settings = object_in(settings_file.read_bytes())
    if not old_settings:
        raise ValueError(
            f"{output} exists and nothing says what made it (in {settings_file}): {OUTPUT_REMEDY}"
        )
    # The settings that differ, with their old and their new values.
    old_values: dict[str, Any] = {}
    new_values: dict[str, Any] = {}
    for key in {**old_settings, **new_settings}:
        if old_settings.get(key) != new_settings.get(key):
            old_values[key] = old_settings.get(key)
            new_values[key] = new_settings.get(key)
    if old_values:
        raise ValueError(
            f"{output} was made with {old_values}, and you ask for {new_values}: {OUTPUT_REMEDY}"
        )


def check_place(path: Path | None) -> None:
    """Raises ValueError if no file can be made at `path`, which is a folder or lies in a file. A
    command writes its numbers or its page last, so it checks the place before its work.
    """
    if path is None:
        return
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file in it.")
    for folder in path.parents:
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{path} cannot be made, as {folder} is a file: choose another file.")


def _settings_as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings, and the version of this package, as they are read from JSON: a path as
    a text, a tuple as a list. So they can be compared with the settings in a file.
    """
    with_version = {**settings, "spanreward": version("spanreward")}
    as_json: dict[str, Any] = json.loads(json.dumps(with_version, default=str))
    return as_json


def check_json(path: Path | None, like: Mapping[str, Any], overwrite: bool) -> None:
    """Raises ValueError if the file of --json cannot be made, or already holds something other than
    earlier numbers of the same command and settings.

    like: the keys and values that the content of such a file has. A value None means that the key
    may have any value: {"metric": "posh", "scores": None} allows {"metric": "posh", "scores": [1]}.
    """
    check_place(path)
    if overwrite or path is None or not path.is_file():
        return
    if not path.stat().st_size:
        return  # an empty file may be overwritten
    content = object_in(path.read_bytes())
    for key, value in like.items():
        any_value_is_right = value is None
        is_alike = key in content and (any_value_is_right or content[key] == value)
        if not is_alike:
            raise ValueError(
                f"{path} exists, and holds no {key!r} as this command's numbers do: choose another "
                "file."
            )


def write_json(path: Path | None, numbers: Any) -> None:
    """Writes numbers as JSON to a file, and makes the file's folder.

    path: None writes nothing. `-` is the standard output of the process, even if sys.stdout is
    redirected in Python.
    """
    if path is None:
        return
    text = json.dumps(numbers, indent=2) + "\n"
    if path == Path("-"):
        print(text, end="", file=sys.__stdout__, flush=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)


def write_whole(path: Path, text: str) -> None:
    """Writes a file in one step: if the process ends before that step, the file is as it was.
    Raises OSError.
    """
    write_texts(path, [text])


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Writes texts one after another to a file, in one step like `write_whole`. Raises OSError."""
    path = path.resolve()  # a link is kept, and its target is written
    if path.exists() and not path.is_file():  # for example /dev/stdout, which is written directly
        with path.open("w", encoding="utf-8") as file:
            file.writelines(texts)
        return
    # The texts are written to a temporary file, which then replaces the file in one step. The
    # temporary file is in the same folder, because that step works only on one disk. The temporary
    # file's name is random, so that two processes do not write the same file.
    unfinished = path.with_name(f"{path.name}.{token_hex(4)}.tmp")
    try:
        with _new_file(unfinished) as file:
            file.writelines(texts)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _new_file(path: Path) -> TextIO:
    """Returns a new file, opened for writing. Raises OSError if a file or a link with this name
    exists.
    """
    flags = os.O_WRONLY | os.O_CREAT
    flags |= os.O_EXCL | os.O_NOFOLLOW
    number = os.open(path, flags, 0o666)  # minus the user's umask
    return os.fdopen(number, "w", encoding="utf-8")
