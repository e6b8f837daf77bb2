"""Several tests at once: the more slices are compared, the more often one of them has a small p-value by chance.

holm([0.01, 0.04, 0.03])      # [0.03, 0.06, 0.06]
"""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns the p-values, in order, adjusted so that comparing them with a level keeps the chance of any false
    finding below that level (Holm, 1979). Raises ValueError for a value outside [0, 1].
    """
    for value in p_values:
        if not 0 <= value <= 1:
            raise ValueError(f"a p-value lies in [0, 1], got {value}")
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted
