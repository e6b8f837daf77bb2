"""Swiss rounds: which completions of a group meet in each round.

    swiss_round([0, 1, 2, 3], {0: 0.7, 2: 0.7}, met={frozenset((0, 1)), frozenset((2, 3))})        # [(0, 2), (1, 3)]

A group of 8 has 28 pairs. Three Swiss rounds ask about 12 of them, between neighbours in the standings.
"""

from collections.abc import Collection, Mapping, Sequence
from math import ceil, log2


def swiss_rounds(players: int) -> int:
    """Returns how many rounds leave one winner if the better one always wins."""
    return ceil(log2(players)) if players > 1 else 0


def swiss_round(
    players: Sequence[int], chances: Mapping[int, float], met: Collection[frozenset[int]]
) -> list[tuple[int, int]]:
    """Returns the pairs of the next round: from the top, each player and the next one that it has not met.

    A player without such an opponent sits out. chances: each player's Bradley-Terry chance so far, which orders them;
    0.5 for a player that has none. Of equals, the first in `players` is higher.
    """
    left = sorted(players, key=lambda player: -chances.get(player, 0.5))
    pairs = []
    while left:
        one = left.pop(0)
        other = next((player for player in left if frozenset((one, player)) not in met), None)
        if other is not None:
            left.remove(other)
            pairs.append((one, other))
    return pairs
