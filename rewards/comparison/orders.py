"""A pair judged in both orders. Votes are seen from one answer: 1 wins, -1 loses, 0 a tie, None could not be read.

settle(1, 1)                      # 1: the first answer wins in either place
settle(1, -1)                     # 0: the judge chose a place
"""

from collections.abc import Sequence


def settle(one: int | None, other: int | None) -> int | None:
    """Returns 1, 0 or -1 where both orders say so, 0 where they differ, and None where one of them failed."""
    if one is None or other is None:
        return None
    return one if one == other else 0


def first_slot_share(chose_first: Sequence[bool | None]) -> float | None:
    """Returns the share, in [0, 1], of decided votes for the answer shown first, without ties (None); None for no vote.
    With every pair in both orders, a judge without position bias has .5. In one order it depends on the answers too.
    """
    decided = [first for first in chose_first if first is not None]
    return sum(decided) / len(decided) if decided else None
