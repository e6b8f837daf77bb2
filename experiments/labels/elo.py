"""Players' Elo ratings from pairs, over resampled orders of them, as PoSh's code has it for
CapArena.

median_elo([Pair("molmo", "llava", 1), Pair("llava", "qwen", 0)])
"""

from collections.abc import Sequence

import numpy as np

from spanreward.rewards.comparison.ratings import Pair


def median_elo(
    pairs: Sequence[Pair],
    k: float = 4.0,
    initial: float = 1000.0,
    resamples: int = 1000,
    seed: int = 42,
) -> dict[str, float]:
    """Returns each player's median Elo rating (base 10, scale 400) over resamples of the pairs.

    A resample has as many pairs, drawn with replacement. A rating depends on their order, the
    median hardly. k: the most points that one pair can move. Weights are ignored. The median is
    rounded to a whole number, and a resample without a player is left out of that player's median.
    The defaults are those of PoSh's published code for CapArena, and so are the drawn pairs
    (numpy's older generator).
    """
    names = dict.fromkeys(name for pair in pairs for name in (pair.one, pair.other))
    players = {name: number for number, name in enumerate(names)}
    if not players:
        return {}
    one, other = np.array([(players[pair.one], players[pair.other]) for pair in pairs]).T
    won = np.array([(1 + pair.outcome) / 2 for pair in pairs])
    drawn = np.random.RandomState(seed).choice(len(pairs), size=(resamples, len(pairs)))
    ratings = np.full((resamples, len(players)), initial)
    met = np.zeros(ratings.shape, dtype=bool)
    rows = np.arange(resamples)
    for places in drawn.T:  # the next pair of every resample
        first, second = one[places], other[places]
        ahead = ratings[rows, second] - ratings[rows, first]
        change = k * (won[places] - 1 / (1 + 10 ** (ahead / 400)))
        ratings[rows, first] += change
        ratings[rows, second] -= change
        met[rows, first] = met[rows, second] = True
    medians = np.nanmedian(np.where(met, ratings, np.nan), axis=0)
    return {name: float(np.floor(medians[place] + 0.5)) for name, place in players.items()}
