"""How much of what was written no judge was shown, over many completions.

    found = not_read([(text, verdict.unread), ...])
    str(found)      # "42 of 1,310 characters: special tokens 30, Markdown 12"

A difference in markup is then never taken for one in content.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from spanreward.rewards.base.verdict import Unread

MUCH = 0.05  # a larger share of the characters is named


@dataclass(frozen=True, slots=True)
class NotRead:
    """How much of some completions was not read.

    Args:
        characters: of all completions.
        unread: how many of them were not read, by kind, the most first.
    """

    characters: int
    unread: dict[str, int]

    @classmethod
    def of(cls, characters: int, counts: Mapping[str, int]) -> Self:
        """Returns it from the characters not read by kind, in any order."""
        most_first = sorted(counts.items(), key=lambda part: -part[1])
        return cls(characters, dict(most_first))

    @property
    def share(self) -> float:
        """The share of the characters that was not read, 0 to 1. 0 without any characters."""
        return sum(self.unread.values()) / max(self.characters, 1)

    def __str__(self) -> str:
        text = f"{sum(self.unread.values()):,} of {self.characters:,} characters"
        if not self.unread:
            return text
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.unread.items())
        return f"{text}: {kinds}"


def not_read(completions: Iterable[tuple[str, Sequence[Unread]]]) -> NotRead:
    """Returns the sum over completions, each with its verdict's `unread`."""
    characters = 0
    counts: dict[str, int] = {}
    for text, unread in completions:
        characters += len(text)
        for part in unread:
            length = part.end - part.start
            counts[part.kind] = counts.get(part.kind, 0) + length
    return NotRead.of(characters, counts)
