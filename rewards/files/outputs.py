"""One rule for what a command writes. An output that exists is resumed under the same settings,
refused, or overwritten by --overwrite. An input is never an output.

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

REMEDY = "choose another output, or --overwrite to start anew."


def check_apart(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Raises ValueError for an output that is also an input or another output, by whatever path or
    link.
    """
    met: dict[Any, str] = {}  # by file, what it is for the command
    for path in inputs:
        if path:
            met[_identity_of(path)] = "an input"
    for path in outputs:
        if not path:
            continue
        place = _identity_of(path)
        if place in met:
            raise ValueError(
                f"{path} is {met[place]} of this command, which would be lost: choose another "
                "output."
            )
        met[place] = "another output"


def _identity_of(path: Path) -> Any:
    """Returns what two names of one file have in common; a file that is not there has its path."""
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
    """Yields the output, opened for appending, and the objects of its lines, which stay in it. A
    line that was cut is removed.

    settings: what decides the lines, kept in `<output>.settings.json`. keys: of each line, with
    their types. overwrite: without the lines that are there. Raises ValueError for another writer,
    other settings, and other lines.
    """
    if output.exists() and not output.is_file():
        raise ValueError(
            f"{output} is no plain file, and what was written is read again: choose another output."
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("a", encoding="utf-8") as file:
        # One process at a time. The lock ends with the file, also where the process is killed.
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # replaced since it was opened
            opened = os.fstat(file.fileno())
            if not os.path.samestat(opened, output.stat()):
                raise BlockingIOError
        except BlockingIOError:
            raise ValueError(
                f"another process writes {output}: wait for its end, or choose another output."
            ) from None
        if overwrite:
            file.truncate(0)  # before its settings change
        written = output if output.stat().st_size else None
        beside = output.with_name(f"{output.name}.settings.json")
        settle_settings(beside, settings, written)
        # The settings may be right and the lines those of another command all the same.
        lines = Lines(output)
        for number, line in enumerate(lines, start=1):
            for key, kind in keys.items():
                if key not in line or not isinstance(line[key], kind):
                    raise ValueError(
                        f"line {number} of {output} has no {key!r} as each has here: {REMEDY}"
                    )
        file.truncate(lines.size)  # without a last line that was cut
        yield file, lines


def settle_settings(beside: Path, settings: Mapping[str, Any], path: Path | None) -> None:
    """Writes what decides an output to a file beside it. Raises ValueError where the output is
    there already, at `path`, and that file says otherwise or is missing.
    """
    # Through JSON and back, so that they compare equal with what was read: a path is a text there.
    with_version = {**settings, "spanreward": version("spanreward")}
    settings_text = json.dumps(with_version, default=str)
    new_settings = json.loads(settings_text)
    if path is None:
        write_json(beside, new_settings)
        return
    made_with: dict[str, Any] = {}
    if beside.is_file():
        made_with = object_in(beside.read_bytes())
    if not made_with:
        raise ValueError(f"{path} exists and nothing says what made it (in {beside}): {REMEDY}")
    # what differs, as it was and as it is now
    had = {}
    new_values = {}
    for key in {**made_with, **new_settings}:
        if made_with.get(key) != new_settings.get(key):
            had[key] = made_with.get(key)
            new_values[key] = new_settings.get(key)
    if had:
        raise ValueError(f"{path} was made with {had}, and you ask for {new_values}: {REMEDY}")


def check_json(path: Path | None, like: Mapping[str, Any], overwrite: bool) -> None:
    """Raises ValueError where --json names a file that does not hold earlier numbers of the same
    command and settings. like: what those hold; None is any value.
    """
    if overwrite or path is None or not path.is_file():
        return
    if not path.stat().st_size:
        return  # nothing is lost
    content = object_in(path.read_bytes())
    for key, value in like.items():
        is_alike = key in content and value in (None, content[key])
        if not is_alike:
            raise ValueError(
                f"{path} exists, and holds no {key!r} as this command's numbers do: choose another "
                "file."
            )


def write_json(path: Path | None, numbers: Any) -> None:
    """Writes the numbers there, where a path is given, and makes its folder. The path `-` is
    standard output, whatever stands in for it in this process.
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
    """Writes the file whole, or leaves it as it was, whatever ends this process. Raises OSError."""
    write_texts(path, [text])


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Writes texts one after another, as `write_whole` does. Raises OSError."""
    path = path.resolve()  # a link stays one
    if path.exists() and not path.is_file():  # /dev/stdout
        with path.open("w", encoding="utf-8") as file:
            file.writelines(texts)
        return
    # In the same folder, because a file is replaced in one step only on its own disk. The name is
    # drawn at random, so that two processes do not write one file.
    unfinished = path.with_name(f"{path.name}.{token_hex(4)}.tmp")
    try:
        with _new_file(unfinished) as file:
            file.writelines(texts)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _new_file(path: Path) -> TextIO:
    """Returns a file that this call makes. Raises OSError where something has its name, a link
    too.
    """
    flags = os.O_WRONLY | os.O_CREAT
    flags |= os.O_EXCL | os.O_NOFOLLOW
    number = os.open(path, flags, 0o666)  # less what the user's umask takes away
    return os.fdopen(number, "w", encoding="utf-8")
