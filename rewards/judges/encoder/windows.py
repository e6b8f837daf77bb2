"""Cuts a pair of texts into windows that an encoder can read, and joins what it says of them.

A pair that fits is one window. Else the text, the target or both are cut into parts of one length, such that the
encoder reads the fewest tokens. Neighbours overlap by about a sentence. A token's probability is its mean over the
windows of one piece of the target, and the highest over the pieces, because one piece is enough to support it.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

OVERLAP = 32  # tokens, about one and a half sentences
SLACK = 4  # tokens that a cut inside a word can add


@dataclass(slots=True)
class Window:
    """One input of the encoder. places: each token's characters in the text, or None. right: the answer."""

    piece: int
    inputs: dict[str, list[int]]
    places: list[tuple[int, int] | None]
    right: list[float] = field(default_factory=list)


def windows(tokenizer: Any, text: str, target: str, longest: int) -> list[Window]:
    """Returns the windows of a pair, of at most `longest` tokens. Special tokens in the texts are read as words."""
    both = tokenizer(target, text, return_offsets_mapping=True, split_special_tokens=True)
    sides = both.sequence_ids()
    whole = [place for place, side in zip(both["offset_mapping"], sides, strict=True) if side == 0]
    beside = sides.count(None) + SLACK
    overlap = min(OVERLAP, longest // 8)
    text_length, target_length = fewest_tokens(sides.count(1), len(whole), longest - beside, overlap)
    found = []
    for number, piece in enumerate(_pieces(target, whole, target_length, overlap)):
        read = tokenizer(
            *(piece, text),
            truncation="only_second",
            # a short pair fits, and needs more than its overlap
            max_length=max(text_length + target_length, 2 * overlap) + beside,
            stride=overlap,
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


def _pieces(target: str, tokens: Sequence[tuple[int, int]], length: int, overlap: int) -> list[str]:
    """Returns the target in pieces of `length` tokens that overlap. tokens: the characters of each."""
    if len(tokens) <= length:
        return [target]
    starts = range(0, max(len(tokens) - overlap, 1), max(length - overlap, 1))
    cuts = [tokens[start : start + length] for start in starts]
    return [target[cut[0][0] : cut[-1][1]] for cut in cuts]


def fewest_tokens(text: int, target: int, token_budget: int, overlap: int) -> tuple[int, int]:
    """Returns the lengths of the parts of a text and of a target whose windows have the fewest tokens in all.

    All are numbers of tokens. A window holds one part of each, at most `token_budget` together. Neighbouring parts
    share `overlap` tokens. Of equals the one with the longest part of the target is taken.
    """
    fewest, best = math.inf, (0, 0)
    for target_parts in range(1, math.ceil(target / overlap) + 2):
        target_length = _part_length(target, target_parts, overlap)
        left = token_budget - target_length
        if left < min(text, 2 * overlap):
            continue
        text_parts = 1 if text <= left else math.ceil((text - overlap) / (left - overlap))
        text_length = _part_length(text, text_parts, overlap)
        tokens = target_parts * text_parts * (text_length + target_length)
        if tokens < fewest:
            fewest, best = tokens, (text_length, target_length)
    return best


def _part_length(tokens: int, parts: int, overlap: int) -> int:
    """Returns how long each of so many overlapping parts is."""
    return math.ceil((tokens + (parts - 1) * overlap) / parts)


def supports(read: Sequence[Window]) -> dict[tuple[int, int], float]:
    """Returns the probability of each token of the text, by its characters, from the windows' answers."""
    said: dict[tuple[int, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for window in read:
        for place, right in zip(window.places, window.right, strict=True):
            if place is not None and place[0] < place[1]:
                said[place][window.piece].append(right)
    return {place: max(sum(p) / len(p) for p in pieces.values()) for place, pieces in said.items()}
