"""Votes on file: what was said about pairs of a model's text and another, however their source lays them out.

    Battle("m", "prompt 7", (Vote(1, "B>A", first=False),))          # the model's text is better, and stood second

mllm_bench.py, wildvision_bench.py and iiw_votes.py read these from votes.jsonl, a JSON object a line, with what this
file has for all of them.

A label that is none of the layout's, such as a sentence of a judge that gave no verdict, is a vote that cannot be read,
and no tie. Where most labels are none of them, the file speaks another vocabulary, which is an error.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHOWN = 40  # characters of a strange label that a message quotes


@dataclass(frozen=True, slots=True)
class Vote:
    """One answer to which of two texts is better.

    Attributes:
        level: 2 the model's is much better, 1 better, 0 neither, -1 worse, -2 much worse; None could not be read.
        label: as the judge gave it.
        first: whether the model's text stood first; None where the source does not say.
        spoken: whether the judge's own words hold a verdict; a label without one was filled in by the source.
    """

    level: int | None
    label: str
    first: bool | None = None
    spoken: bool = True


@dataclass(frozen=True, slots=True)
class Battle:
    """A model's text against another's, on one prompt: a vote, or one per order.

    lengths: in words, of the model's text and of the other, where both are known. slice: the part of the set that
    tables show apart, "" for none.
    """

    model: str
    prompt: str
    votes: tuple[Vote, ...]
    lengths: tuple[int, int] | None = None
    slice: str = ""


@dataclass(frozen=True, slots=True)
class VoteFolder:
    """All battles of a folder, in its order. `anchor` is the other side's name, "" where it differs."""

    layout: str
    anchor: str
    battles: tuple[Battle, ...]
    published: Mapping[str, Any] = field(default_factory=dict)

    def by_model(self) -> dict[str, list[Battle]]:
        """Models in order of appearance."""
        models: dict[str, list[Battle]] = {}
        for battle in self.battles:
            models.setdefault(battle.model, []).append(battle)
        return models


@dataclass(frozen=True, slots=True)
class Line:
    """A line's object and the words that name it in messages."""

    where: str
    row: dict[str, Any]

    def get(self, key: str, kind: type | tuple[type, ...]) -> Any:
        """Its value. Raises ValueError where it is missing or of another kind."""
        if key not in self.row:
            raise ValueError(f"{self.where} has no {key!r}: it has {', '.join(self.row)}.")
        value = self.row[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{self.where}: {key!r} holds {value!r}, which is of the wrong kind.")
        return value

    def lengths(self, ours: str, other: str) -> tuple[int, int] | None:
        """The values of two keys, where both are numbers."""
        one, two = self.row.get(ours), self.row.get(other)
        return (one, two) if isinstance(one, int) and isinstance(two, int) else None

    def name(self, key: str) -> str:
        """The value of an id, which may be a number, as text."""
        return str(self.get(key, (str, int)))


def read_lines(path: Path) -> list[Line]:
    """A JSONL file's objects. Raises FileNotFoundError where it is missing, ValueError for a line that is no object."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: give a folder that holds {path.name}.")
    lines = []
    for number, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except ValueError as error:
            raise ValueError(f"{path} line {number} is not JSON ({error}): mend or remove it.") from None
        if not isinstance(row, dict):
            raise ValueError(f"{path} line {number} must hold a JSON object, got {row!r}.")
        lines.append(Line(f"{path} line {number}", row))
    if not lines:
        raise ValueError(f"{path} is empty: there is no vote in it.")
    return lines


def read_text(path: Path) -> str:
    """Raises ValueError for a file that is not UTF-8."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8.") from None


def read_published(path: Path) -> dict[str, Any]:
    """What the source published; {} where the folder does not have it. Raises ValueError for no JSON object."""
    if not path.is_file():
        return {}
    try:
        published = json.loads(read_text(path))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}): mend or remove it.") from None
    if not isinstance(published, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(published).__name__}.")
    return published


def label_of(value: Any, where: str) -> str | None:
    """A label as text, None where there is none. Raises ValueError for what is neither."""
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{where}: a label is a text or null, got {value!r}.")
    return value


def check_vocabulary(votes: Iterable[Vote], labels: Iterable[str], path: Path) -> None:
    """Raises ValueError where more than half of the labels are none of `labels`."""
    given = [vote for vote in votes if vote.label]
    strange = Counter(vote.label for vote in given if vote.level is None)
    if 2 * strange.total() > len(given):
        (label, count), *_ = strange.most_common(1)
        raise ValueError(
            f"{path}: {strange.total()} of {len(given)} labels are unknown, such as {label[:SHOWN]!r} ({count} times): "
            f"the labels are {', '.join(labels)}."
        )


class Once:
    """Refuses what was there before: `once(line, model, prompt)` for every line of a file."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.seen: dict[tuple[str, ...], str] = {}

    def __call__(self, line: Line, *key: str) -> None:
        """Raises ValueError for a key that another line had."""
        if key in self.seen:
            first = self.seen[key].rsplit(" ", 1)[-1]
            raise ValueError(f"{line.where} repeats line {first}: {self.what} {', '.join(key)} is there twice.")
        self.seen[key] = line.where
