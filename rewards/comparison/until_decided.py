"""A test that may stop after any prompt: it ends as soon as one side is known to be better.

    decide([0.2, -0.1, None, 0.4, ...])          # ours less theirs per prompt; None where a judge failed
    Decision(side=1, prompts=31)                 # ours is better, known after 31 differences

An ordinary interval that is checked after every prompt excludes 0 sooner or later, whatever is true. This test bets
against "no difference" on every prompt. Without a difference bets seldom multiply the stake, so the chance of ever
naming a side that is not better is below 1 - level (Waudby-Smith and Ramdas, 2024, "Estimating means of bounded random
variables by betting", section 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

STAKES = np.linspace(0.02, 0.98, 25)  # shares of the capital, bet in parallel; small ones find small differences


@dataclass(frozen=True, slots=True)
class Decision:
    """side: 1 ours is better, -1 theirs, None undecided. prompts: the differences it took; all of them for None."""

    side: int | None
    prompts: int


def decide(differences: Sequence[float | None], level: float = 0.95) -> Decision:
    """Returns the first side for which the bets reach the level. differences: of scores in [0, 1], in an order that
    does not depend on the answers. level: 1 less the chance to name a side that is not better, half of it for each
    side. Raises ValueError for a difference outside [-1, 1].
    """
    seen = np.array([value for value in differences if value is not None], dtype=np.float64)
    if len(seen) and not np.abs(seen).max() <= 1:
        raise ValueError(f"a difference of scores in [0, 1] lies in [-1, 1], got {seen[np.abs(seen).argmax()]:g}")
    capital = {
        side: logsumexp(np.log1p(np.outer(side * seen, STAKES)).cumsum(axis=0), axis=1) - np.log(len(STAKES))
        for side in (1, -1)
    }
    wanted = np.log(2 / (1 - level))
    reached = {side: int(np.argmax(logs >= wanted)) for side, logs in capital.items() if (logs >= wanted).any()}
    if not reached:
        return Decision(None, len(seen))
    side = min(reached, key=lambda side: reached[side])
    return Decision(side, reached[side] + 1)
