"""How often the later model's answer wins, as it is and at equal length.

win_rate(dapo, sft, words_of_dapo, words_of_sft)        # LengthControl(raw=0.61, controlled=0.54, ...)
"""

from collections.abc import Sequence

import numpy as np

from spanreward.rewards.comparison.length import LengthControl, control_length
from spanreward.training.evaluation.statistics.estimates import MARGIN, Array, differences


def win_rate(
    later: Array,
    earlier: Array,
    words_later: Array,
    words_earlier: Array,
    clusters: Sequence[int] | None = None,
    style: tuple[Array, Array] | None = None,
) -> LengthControl | None:
    """Returns how often the later model wins, as it is and at equal length (comparison/length.py); None where no answer
    has a partner. The seeds of a prompt are drawn together, and the prompts of a cluster. Pairs without both scores are
    left out. style: `style_counts` of both sides, each of shape (seeds, prompts, elements), or empty.
    """
    difference = differences(later, earlier)
    known = ~np.isnan(difference)
    if not known.any():
        return None
    outcomes = 0.5 * (1 + np.sign(np.where(np.abs(difference) > MARGIN, difference, 0.0)))
    prompts = np.broadcast_to(np.arange(known.shape[1]) if clusters is None else clusters, known.shape)
    lengths = list(zip(words_later[known], words_earlier[known], strict=True))
    told = None if style is None or not style[0].size else (style[0][known], style[1][known])
    return control_length(outcomes[known].tolist(), lengths, prompts[known].tolist(), told)
