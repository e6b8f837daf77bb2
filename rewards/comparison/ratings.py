"""Players' strengths from pairs, by Bradley and Terry's model.

    pairs = [Pair("dapo", "sft", 1), Pair("sft", "base", 0)]
    bradley_terry(pairs)              # {"dapo": .66, "sft": .42, "base": .46}: the chance to beat an average player

Bradley-Terry comes from evalica, which gives all players the same strength, without a warning, where one of them
always wins. So each player here also has half a draw with an imaginary average player. It keeps strengths finite and
connects players that never met.
"""

from collections.abc import Sequence
from dataclasses import dataclass

LIMIT = 10_000  # iterations
TOLERANCE = 1e-9
PRIOR = 0.5  # weight of that draw: it pulls a player of few pairs to one half and hardly moves one of many


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
    """Returns each player's chance, in (0, 1), to beat an average one (Bradley and Terry, 1952). A draw is half a win.

    Strength is s = chance / (1 - chance): one player beats another with s / (s + t). Raises RuntimeError where no
    solution was found.
    """
    from evalica import Winner, bradley_terry  # pandas comes with it, which takes a second

    players = players_of(pairs)
    if not players:
        return {}
    average = len(players)
    winners = {1: Winner.X, 0: Winner.Draw, -1: Winner.Y}
    result = bradley_terry(
        [players[pair.one] for pair in pairs] + list(players.values()),
        [players[pair.other] for pair in pairs] + [average] * len(players),
        [winners[pair.outcome] for pair in pairs] + [Winner.Draw] * len(players),
        weights=[1.0] * len(pairs) + [PRIOR] * len(players),
        tolerance=TOLERANCE,
        limit=LIMIT,
    )
    if result.iterations >= LIMIT:
        raise RuntimeError(f"Bradley-Terry found no strengths for {len(players)} players in {LIMIT} iterations")
    strengths = result.scores.to_dict()
    return {name: strengths[place] / (strengths[place] + strengths[average]) for name, place in players.items()}


def players_of(pairs: Sequence[Pair]) -> dict[str, int]:
    """Numbers in order of appearance."""
    names = dict.fromkeys(name for pair in pairs for name in (pair.one, pair.other))
    return {name: number for number, name in enumerate(names)}
