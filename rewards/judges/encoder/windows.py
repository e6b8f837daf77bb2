"""Cuts a pair of texts into windows that an encoder can read, and joins what it says of them.

A target that is longer than half of the encoder's length is cut into pieces. The text is cut where it does not fit
beside a piece. Neighbours overlap by a quarter. A token's probability is its mean over the windows of one piece, and
the highest over the pieces, because one piece is enough to support it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Window:
    """One input of the encoder. places: each token's characters in the text, or None. right: the answer."""

    piece: int
    inputs: dict[str, list[int]]
    places: list[tuple[int, int] | None]
    right: list[float] = field(default_factory=list)

    @property
    def ids(self) -> list[int]:
        return self.inputs["input_ids"]


def windows(tokenizer: Any, text: str, target: str, longest: int) -> list[Window]:
    """Returns the windows of a pair, of at most `longest` tokens. Special tokens in the texts are read as words."""
    whole = tokenizer(target, add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True)
    size, offsets = longest // 2 - 8, whole["offset_mapping"]
    starts = range(0, max(len(offsets) - size // 4, 1), size - size // 4)
    pieces = [target] if len(offsets) <= size else [target[slice(*_reach(offsets[s : s + size]))] for s in starts]
    found = []
    for number, piece in enumerate(pieces):
        read = tokenizer(
            *(piece, text),
            truncation="only_second",
            max_length=longest,
            stride=longest // 8,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            split_special_tokens=True,
        )
        for row in range(len(read["input_ids"])):
            inputs = {key: read[key][row] for key in tokenizer.model_input_names if key in read}
            sides = read.sequence_ids(row)
            places = [tuple(o) if s == 1 else None for o, s in zip(read["offset_mapping"][row], sides, strict=True)]
            found.append(Window(number, inputs, places))
    return found


def supports(read: Sequence[Window]) -> dict[tuple[int, int], float]:
    """Returns the probability of each token of the text, by its characters, from the windows' answers."""
    said: dict[tuple[int, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for window in read:
        for place, right in zip(window.places, window.right, strict=True):
            if place is not None and place[0] < place[1]:
                said[place][window.piece].append(right)
    return {place: max(sum(p) / len(p) for p in pieces.values()) for place, pieces in said.items()}


def _reach(offsets: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return offsets[0][0], offsets[-1][1]
