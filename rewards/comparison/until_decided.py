"""Ask prompt after prompt, and stop as soon as it is known which side is better: looking at every step costs nothing.

    decide([0.2, -0.1, None, 0.4, ...])          # ours less theirs, prompt by prompt; None where a judge failed
    Decision(side=1, prompts=31)                 # ours is better, known after 31 differences

An interval that is looked at after every prompt excludes 0 sooner or later whatever is true. This test bets against "no
difference" at every prompt, and a bettor who cannot win on average seldom multiplies the stake: the chance that it ever
calls a side better that is not is below 1 - level, whenever one stops (Waudby-Smith and Ramdas, 2024, "Estimating means
of bounded random variables by betting", section 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

STAKES = np.linspace(0.02, 0.98, 25)  # shares of the capital, all bet side by side: small ones find small differences


@dataclass(frozen=True, slots=True)
class Decision:
    """side: 1 ours is better, -1 theirs, None undecided. prompts: after how many differences; all of them for None."""

    side: int | None
    prompts: int


def decide(differences: Sequence[float | None], level: float = 0.95) -> Decision:
    """The first side for which the bets say so.

    differences: of scores in [0, 1], in an order that does not depend on the answers. level: 1 less the chance to call
    a side better that is not, half of it for either side. Raises ValueError for a difference outside [-1, 1].
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
