"""Strengths of players (models) from the outcomes of pairs, by Bradley and Terry's model.

    pairs = [Pair("dapo", "sft", 1), Pair("sft", "base", 0)]
    bradley_terry(pairs)
    # {"dapo": .66, "sft": .42, "base": .46}: the chance to beat an average player

If a player wins all its pairs, the most likely strength of the player is infinite. So each player
also has half a draw with an imaginary average player. This half draw keeps strengths finite, and
makes players comparable that never met in a pair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from spanreward.rewards.comparison.resampling import Array

MAX_STRENGTH_STEPS = 1000
LONGEST_STRENGTH_STEP = 2.0  # longest step of the search, in log odds
SMALLEST_STRENGTH_STEP = 1e-9  # a smaller step, in log odds, ends the search
# The weight of the draw with the average player. The draw pulls players of few pairs towards 0.5,
# and hardly moves players of many pairs.
PRIOR_GAMES = 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    """The outcome of a comparison of two players.

    Args:
        one: the name of the first player.
        other: the name of the second player.
        outcome: 1 if `one` won, -1 if `other` won, 0 for a draw.

    Raises:
        ValueError: an outcome outside -1, 0 and 1, or twice the same player.
    """

    one: str
    other: str
    outcome: int

    def __post_init__(self) -> None:
        if self.outcome not in (-1, 0, 1) or self.one == self.other:
            raise ValueError(f"a pair is of two players, with an outcome of 1, 0 or -1, got {self}")


def bradley_terry(pairs: Sequence[Pair]) -> dict[str, float]:
    """Returns each player's chance, in (0, 1), to beat an average player.

    The model is Bradley and Terry's (1952). A player with the chance c has the strength
    s = c / (1 - c). A player of strength s beats a player of strength t with the chance
    s / (s + t). A draw counts as half a win for each player. Raises RuntimeError if the search
    finds no solution.
    """
    players: dict[str, int] = {}  # each player's index in the arrays
    for pair in pairs:
        for name in (pair.one, pair.other):
            players.setdefault(name, len(players))
    won = _win_counts(pairs, players)
    met = won + won.T
    strengths = np.zeros(len(won))  # logarithms of strengths; the average player, the last, has 0
    for _ in range(MAX_STRENGTH_STEPS):  # Newton's method: the likelihood has a single maximum
        chances = expit(strengths[:, None] - strengths)
        curvature = met * chances * (1 - chances)
        hessian = np.diag(curvature.sum(axis=1)) - curvature
        gradient = (won - met * chances).sum(axis=1)
        # only differences of strengths matter, so the average player's strength stays 0
        step = np.linalg.solve(hessian[:-1, :-1], gradient[:-1])
        size = np.abs(step).max(initial=0.0)
        # shorten a step that is too long, because far from the maximum it may lead away from it
        factor = 1.0
        if size > LONGEST_STRENGTH_STEP:
            factor = LONGEST_STRENGTH_STEP / size
        strengths[:-1] += step * factor
        if size < SMALLEST_STRENGTH_STEP:  # the search has converged
            return {name: float(expit(strengths[place])) for name, place in players.items()}
    raise RuntimeError(
        f"Bradley-Terry found no strengths for {len(players)} players in {MAX_STRENGTH_STEPS} steps"
    )


def _win_counts(pairs: Sequence[Pair], players: Mapping[str, int]) -> Array:
    """Returns how often player i won against player j, as won[i, j]. A draw counts as half a win of
    each player.

    The last player is the imaginary average player. Each other player has half a draw with it
    (PRIOR_GAMES), which is a quarter of a win of each. players: each player's index.
    """
    average = len(players)
    won = np.zeros((average + 1, average + 1))
    wins_by_prior_draw = PRIOR_GAMES / 2
    won[average, :average] = wins_by_prior_draw
    won[:average, average] = wins_by_prior_draw
    # an outcome of 1 is a win of `one`, -1 a win of `other`, 0 half a win of each
    for pair in pairs:
        first = players[pair.one]
        second = players[pair.other]
        won[first, second] += (1 + pair.outcome) / 2
        won[second, first] += (1 - pair.outcome) / 2
    return won
