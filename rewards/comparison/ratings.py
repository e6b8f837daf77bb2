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

MAX_STRENGTH_STEPS = 1000
LONGEST_STRENGTH_STEP = 2.0  # in log odds
SMALLEST_STRENGTH_STEP = 1e-9  # in log odds; a smaller one ends the search
# weight of that draw: it pulls a player of few pairs to one half and hardly moves one of many
PRIOR = 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    """Two players that met.

    Args:
        one: the name of a player.
        other: the name of another player.
        outcome: 1 where `one` won, -1 where `other` did, 0 for a draw.

    Raises:
        ValueError: another outcome, or a player that met itself.
    """

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
    players: dict[str, int] = {}  # each player's place in the arrays
    for pair in pairs:
        for name in (pair.one, pair.other):
            players.setdefault(name, len(players))
    average = len(players)  # the place of the imaginary player, behind all others
    # won[i, j]: how often player i won against j
    won = np.zeros((average + 1, average + 1))
    won[average, :average] = PRIOR / 2
    won[:average, average] = PRIOR / 2
    for pair in pairs:
        first = players[pair.one]
        second = players[pair.other]
        won[first, second] += (1 + pair.outcome) / 2
        won[second, first] += (1 - pair.outcome) / 2
    met = won + won.T
    strengths = np.zeros(average + 1)  # as logarithms, the average player's is 0
    for _ in range(MAX_STRENGTH_STEPS):  # Newton's method: the likelihood has one maximum
        chances = expit(strengths[:, None] - strengths)
        curvature = met * chances * (1 - chances)
        hessian = np.diag(curvature.sum(axis=1)) - curvature
        gradient = (won - met * chances).sum(axis=1)
        # without the average player: only differences matter, and its strength stays 0
        step = np.linalg.solve(hessian[:-1, :-1], gradient[:-1])
        size = np.abs(step).max(initial=0.0)
        shortened = LONGEST_STRENGTH_STEP / max(size, LONGEST_STRENGTH_STEP)
        strengths[:-1] += step * min(1.0, shortened)
        if size < SMALLEST_STRENGTH_STEP:
            chances_by_name = {}
            for name, place in players.items():
                chances_by_name[name] = float(expit(strengths[place]))
            return chances_by_name
    raise RuntimeError(
        f"Bradley-Terry found no strengths for {len(players)} players in {MAX_STRENGTH_STEPS} steps"
    )
