"""Counts the characters of completions that no judge was shown, such as markup.

    found = not_read([(text, verdict.unread), ...])
    str(found)      # "42 of 1,310 characters: special tokens 30, Markdown 12"

The count warns a reader of scores: two models with the same scores may still differ in their
markup, which no judge was shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from spanreward.rewards.base.verdict import Unread

UNREAD_SHARE_TO_WARN = 0.05  # a larger share of unread characters is worth a warning


@dataclass(frozen=True, slots=True)
class NotRead:
    """The number of characters of some completions that no judge was shown.

    Args:
        characters: the number of all characters of the completions.
        unread: the number of characters that no judge was shown, by kind, the largest first, such
            as {"special tokens": 30, "Markdown": 12}.
    """

    characters: int
    unread: dict[str, int]

    @classmethod
    def of(cls, characters: int, counts: Mapping[str, int]) -> Self:
        """Returns a NotRead, from counts in any order.

        characters: the number of all characters. counts: the number of unread characters by kind.
        """
        most_first = sorted(counts.items(), key=lambda part: -part[1])
        return cls(characters, dict(most_first))

    @property
    def share(self) -> float:
        """The share of the characters that was not read, from 0 to 1; 0 if there are no
        characters.
        """
        return sum(self.unread.values()) / max(self.characters, 1)

    def __str__(self) -> str:
        text = f"{sum(self.unread.values()):,} of {self.characters:,} characters"
        if not self.unread:
            return text
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.unread.items())
        return f"{text}: {kinds}"


def not_read(completions: Iterable[tuple[str, Sequence[Unread]]]) -> NotRead:
    """Returns the sum over completions. completions: (text, `unread` of its verdict) of each."""
    characters = 0
    counts: dict[str, int] = {}
    for text, unread in completions:
        characters += len(text)
        for part in unread:
            length = part.end - part.start
            counts[part.kind] = counts.get(part.kind, 0) + length
    return NotRead.of(characters, counts)
