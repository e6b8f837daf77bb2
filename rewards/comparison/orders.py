"""Both orders of a pair: what they decide together, and what they say about the judge.

    settle(1, 1)                      # 1: the first answer wins whichever slot it stands in
    settle(1, -1)                     # 0: the judge chose a slot
    settle(1, None)                   # None: a failed vote is no tie

A vote is seen from one of the two answers: 1 it wins, -1 it loses, 0 a tie, None no vote that could be read.
"""

from collections.abc import Hashable, Sequence


def settle(one: int | None, other: int | None) -> int | None:
    """The outcome of a pair that was shown in both orders: 1, 0 or -1 where both orders say so, 0 where they differ."""
    if one is None or other is None:
        return None
    return one if one == other else 0


def swap_consistency(choices: Sequence[tuple[Hashable | None, Hashable | None]]) -> float | None:
    """The share, in [0, 1], of the pairs whose two orders chose the same (MLLM-Bench, section 6.4).

    choices: what each order chose, by the answers' names and not their slots. A pair with a None, a failed vote, is
    left out; None where all are.
    """
    read = [one == other for one, other in choices if one is not None and other is not None]
    return sum(read) / len(read) if read else None


def first_slot_share(chose_first: Sequence[bool | None]) -> float | None:
    """The share, in [0, 1], of the decided votes that went to the answer shown first; ties (None) are left out.

    With every pair in both orders a judge that looks at the answers alone has .5, whatever the answers are. In one
    order alone it says as much about the answers as about the judge. None where nothing was decided.
    """
    decided = [first for first in chose_first if first is not None]
    return sum(decided) / len(decided) if decided else None
