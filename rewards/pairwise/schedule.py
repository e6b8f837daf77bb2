"""Who meets whom inside a group: everybody everybody else, or neighbours in the standings, round by round.

    swiss_round([0, 1, 2, 3], {0: 0.7, 2: 0.7}, met={frozenset((0, 1)), frozenset((2, 3))})        # [(0, 2), (1, 3)]

A group of 8 has 28 pairs; three Swiss rounds are 12 of them, those that say the most about who is next to whom.
"""

from collections.abc import Collection, Mapping, Sequence
from math import ceil, log2


def swiss_rounds(players: int) -> int:
    """How many rounds single out a winner where the better one always wins."""
    return ceil(log2(players)) if players > 1 else 0


def swiss_round(
    players: Sequence[int], chances: Mapping[int, float], met: Collection[frozenset[int]]
) -> list[tuple[int, int]]:
    """Pairs for the next round: from the top each with the next one it has not met; who finds nobody sits out.

    chances: the standings so far, one half for a player without any; of equals the first in `players` stands higher.
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
