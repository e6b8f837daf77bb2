"""Who wins how often, and whether by writing more: each answer against the other model's to the same prompt.

win_rate(later, earlier, words_later, words_earlier)    # of (seeds, prompts): {"raw": .62, "controlled": .51, ...}
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from rewards.comparison.length import control_length
from rewards.comparison.resampling import DRAWS
from training.evaluation.statistics import Array, differences

MARGIN = 1e-9  # absorbs rounding: nearer scores are a tie


def win_rate(
    later: Array, earlier: Array, words_later: Array, words_earlier: Array, draws: int = DRAWS
) -> dict[str, Any] | None:
    """The fields of `rewards.comparison.length.LengthControl`, the seeds of a prompt drawn together; None where no
    answer has a partner. A score that is not there is left out: no win, no loss and no tie.
    """
    difference = differences(later, earlier)
    known = ~np.isnan(difference)
    if not known.any():
        return None
    outcomes = 0.5 * (1 + np.sign(np.where(np.abs(difference) > MARGIN, difference, 0.0)))
    prompts = np.broadcast_to(np.arange(known.shape[1]), known.shape)
    lengths = np.stack([words_later[known], words_earlier[known]], axis=1)
    return asdict(
        control_length(outcomes[known].tolist(), [(a, b) for a, b in lengths], prompts[known].tolist(), draws)
    )
