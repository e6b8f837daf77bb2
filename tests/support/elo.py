"""Elo ratings of CapArena, written from the protocol of PoSh's evaluation."""

import numpy as np
import pandas


def elo_by_the_formula(pairs: list[tuple[str, str, int]]) -> dict[str, float]:
    """Pair by pair: K 4, scale 400, base 10, start 1000, the median over 1,000 samples."""
    frame = pandas.DataFrame(pairs, columns=["one", "other", "outcome"])
    generator = np.random.RandomState(42)
    runs = []
    for _ in range(1000):
        rating: dict[str, float] = {}
        for one, other, outcome in frame.sample(
            n=len(frame), replace=True, random_state=generator
        ).itertuples(index=False):
            a, b = rating.get(one, 1000.0), rating.get(other, 1000.0)
            score = {1: 1.0, 0: 0.5, -1: 0.0}[outcome]
            rating[one] = a + 4 * (score - 1 / (1 + 10 ** ((b - a) / 400)))
            rating[other] = b + 4 * ((1 - score) - 1 / (1 + 10 ** ((a - b) / 400)))
        runs.append(rating)
    medians = pandas.DataFrame(runs).median()
    return {name: int(median + 0.5) for name, median in medians.items()}
