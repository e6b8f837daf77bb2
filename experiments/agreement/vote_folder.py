"""Votes on file: which of a model's text and another text is better, whatever the source's layout.

    Battle("m", "prompt 7", (Vote(1, "B>A", first=False),))
    # the model's text is better, and stood second

mllm_bench.py, wildvision_bench.py and iiw_votes.py read these from votes.jsonl, a JSON object a
line, with the helpers of this file. A label outside the layout's vocabulary, such as a judge's
sentence without a verdict, is a vote that cannot be read, and no tie. A file where most labels are
outside it is an error.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spanreward.rewards.files.json_lines import BYTE_ORDER_MARK, read_object
from spanreward.rewards.rows.tables import read_table

SHOWN = 40  # characters of an unknown label in a message


@dataclass(frozen=True, slots=True)
class Vote:
    """One answer to the question which of two texts is better.

    Attributes:
        level: of the model's text: 2 much better, 1 better, 0 equal, -1 worse, -2 much worse; None
            could not be read.
        label: what the judge said.
        first: whether the model's text stood first; None where the source does not say.
        spoken: whether the judge's own words hold a verdict; False where the source filled the
            label in.
    """

    level: int | None
    label: str
    first: bool | None = None
    spoken: bool = True


@dataclass(frozen=True, slots=True)
class Battle:
    """A model's text against another on one prompt: one vote, or one per order. lengths: in words,
    of the model's text and of the other, where both are known. slice: the part of the set that
    tables show apart, "" for none. capability: a finer part.
    """

    model: str
    prompt: str
    votes: tuple[Vote, ...]
    lengths: tuple[int, int] | None = None
    slice: str = ""
    capability: str = ""


@dataclass(frozen=True, slots=True)
class VoteFolder:
    """All battles of a folder, in its order.

    `anchor` is the other side's name, "" where it differs.
    """

    layout: str
    anchor: str
    battles: tuple[Battle, ...]
    published: Mapping[str, Any] = field(default_factory=dict)

    def by_model(self) -> dict[str, list[Battle]]:
        """Returns the battles of each model, in order of appearance."""
        models: dict[str, list[Battle]] = {}
        for battle in self.battles:
            models.setdefault(battle.model, []).append(battle)
        return models


@dataclass(frozen=True, slots=True)
class Line:
    """A line's object and its file and line, for messages."""

    where: str
    row: dict[str, Any]

    def get(self, key: str, kind: type | tuple[type, ...]) -> Any:
        """Raises ValueError for a value that is missing or of another kind."""
        if key not in self.row:
            raise ValueError(f"{self.where} has no {key!r}: it has {', '.join(self.row)}.")
        value = self.row[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{self.where}: {key!r} holds {value!r}, which is of the wrong kind.")
        return value

    def lengths(self, ours: str, other: str) -> tuple[int, int] | None:
        """Returns the values of two keys, where both are numbers."""
        one, two = self.row.get(ours), self.row.get(other)
        return (one, two) if isinstance(one, int) and isinstance(two, int) else None

    def name(self, key: str) -> str:
        """Returns the value of an id, which may be a number, as text."""
        return str(self.get(key, (str, int)))


def read_lines(path: Path) -> list[Line]:
    """Returns the lines of a JSONL file.

    Raises FileNotFoundError without a file, ValueError for a bad or no line.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: give a folder that holds {path.name}.")
    lines = [Line(where, row) for where, row in read_table(path)]
    if not lines:
        raise ValueError(f"{path} is empty: there is no vote in it.")
    return lines


def read_published(path: Path) -> dict[str, Any]:
    """Returns what the source published, {} where the folder has no such file.

    Raises ValueError for no JSON object.
    """
    if not path.is_file():
        return {}
    return read_object(path.read_bytes().removeprefix(BYTE_ORDER_MARK), str(path))


def check_labels(battles: Iterable[Battle], labels: Iterable[str], path: Path) -> None:
    """Raises ValueError where more than half of the votes' labels are none of `labels`."""
    given = [vote for battle in battles for vote in battle.votes if vote.label]
    strange = Counter(vote.label for vote in given if vote.level is None)
    if 2 * strange.total() > len(given):
        (label, count), *_ = strange.most_common(1)
        raise ValueError(
            f"{path}: {strange.total()} of {len(given)} labels are unknown, such as "
            f"{label[:SHOWN]!r} ({count} times): the labels are {', '.join(labels)}."
        )


class Once:
    """Refuses a repeated key: call `once(line, model, prompt)` for every line of a file."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.seen: dict[tuple[str, ...], str] = {}

    def __call__(self, line: Line, *key: str) -> None:
        """Raises ValueError for a key that another line had."""
        if key in self.seen:
            first = self.seen[key].rsplit(" ", 1)[-1]
            raise ValueError(
                f"{line.where} repeats line {first}: {self.what} {', '.join(key)} is there twice."
            )
        self.seen[key] = line.where
