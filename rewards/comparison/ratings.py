"""Players' strengths from pairs, by Bradley and Terry's model.

    pairs = [Pair("dapo", "sft", 1), Pair("sft", "base", 0)]
    bradley_terry(pairs)
    # {"dapo": .66, "sft": .42, "base": .46}: the chance to beat an average player

Where a player always wins, the most likely strengths are infinite. So each player also has half a
draw with an imaginary average player. It keeps strengths finite and connects players that never
met.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

LIMIT, LONGEST = 1000, 2.0  # steps, and the longest one in log odds
TOLERANCE = 1e-9
# weight of that draw: it pulls a player of few pairs to one half and hardly moves one of many
PRIOR = 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    """Two players that met. outcome: 1 where `one` won, -1 where `other` did, 0 for a draw."""

    one: str
    other: str
    outcome: int

    def __post_init__(self) -> None:
        if self.outcome not in (-1, 0, 1) or self.one == self.other:
            raise ValueError(f"a pair is of two players, with an outcome of 1, 0 or -1, got {self}")


def bradley_terry(pairs: Sequence[Pair]) -> dict[str, float]:
    """Returns each player's chance, in (0, 1), to beat an average one (Bradley and Terry, 1952). A
    draw is half a win.

    Strength is s = chance / (1 - chance): one player beats another with s / (s + t). Raises
    RuntimeError where no solution was found.
    """
    names = dict.fromkeys(name for pair in pairs for name in (pair.one, pair.other))
    players = {name: number for number, name in enumerate(names)}
    average = len(players)
    won = np.zeros((average + 1, average + 1))
    won[average, :average] = won[:average, average] = PRIOR / 2
    for pair in pairs:
        one, other = players[pair.one], players[pair.other]
        won[one, other] += (1 + pair.outcome) / 2
        won[other, one] += (1 - pair.outcome) / 2
    # strengths as logarithms, the average player's is 0
    met, strengths = won + won.T, np.zeros(average + 1)
    for _ in range(LIMIT):  # Newton's method: the likelihood has one maximum
        chances = expit(strengths[:, None] - strengths)
        curvature = met * chances * (1 - chances)
        hessian, gradient = (
            np.diag(curvature.sum(axis=1)) - curvature,
            (won - met * chances).sum(axis=1),
        )
        step = np.linalg.solve(hessian[:-1, :-1], gradient[:-1])
        size = np.abs(step).max(initial=0.0)
        strengths[:-1] += step * min(1.0, LONGEST / max(size, LONGEST))
        if size < TOLERANCE:
            return {name: float(expit(strengths[place])) for name, place in players.items()}
    raise RuntimeError(
        f"Bradley-Terry found no strengths for {len(players)} players in {LIMIT} steps"
    )
